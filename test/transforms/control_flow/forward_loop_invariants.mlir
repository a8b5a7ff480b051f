// RUN: onnxloom-opt %s -p forward-loop-invariants --split-input-file | filecheck %s

// Positive: the weight is read from outside, and the loop carries one value less.
// CHECK-LABEL: @weight
// CHECK:         %y, %z = "onnx.Loop"(%n, %none, %x) ({
// CHECK-NEXT:    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
// CHECK-NEXT:      %[[A:.*]] = "onnx.Mul"(%v, %w)
// CHECK-NEXT:      "onnx.Yield"(%go, %[[A]], %w)
// CHECK-NEXT:    }) {onnx_node_name = "loop"} : (tensor<i64>, none, tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>)
// CHECK-NEXT:    onnx.Return %w, %y, %z
func.func @weight(%x: tensor<4xf32>, %w: tensor<4xf32>, %n: tensor<i64>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<?x4xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %k, %y, %z = "onnx.Loop"(%n, %none, %w, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %u: tensor<4xf32>, %v: tensor<4xf32>):
    %0 = "onnx.Mul"(%v, %u) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %go, %u, %0, %u : tensor<i1>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }) {onnx_node_name = "loop"} : (tensor<i64>, none, tensor<4xf32>, tensor<4xf32>)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<?x4xf32>)
  onnx.Return %k, %y, %z : tensor<4xf32>, tensor<4xf32>, tensor<?x4xf32>
}

// -----

// Positive: a loop that changes nothing is gone.
// CHECK-LABEL: @nothing
// CHECK-NOT:     onnx.Loop
// CHECK:         onnx.Return %x
func.func @nothing(%x: tensor<4xf32>, %n: tensor<i64>) -> tensor<4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.Loop"(%n, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    onnx.Yield %go, %v : tensor<i1>, tensor<4xf32>
  }) : (tensor<i64>, none, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %y : tensor<4xf32>
}

// -----

// Positive: a copy is unchanged too.
// CHECK-LABEL: @copy
// CHECK-NOT:     onnx.Loop
// CHECK:         onnx.Return %x
func.func @copy(%x: tensor<4xf32>, %n: tensor<i64>) -> tensor<4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.Loop"(%n, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    %0 = "onnx.Identity"(%v) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %go, %0 : tensor<i1>, tensor<4xf32>
  }) : (tensor<i64>, none, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %y : tensor<4xf32>
}

// -----

// Negative: two values that change places, and a loop that is to be kept.
// CHECK-LABEL: @swap
// CHECK:         "onnx.Loop"(%n, %none, %x, %w)
// CHECK:         "onnx.Loop"(%n, %none, %x)
func.func @swap(%x: tensor<4xf32>, %w: tensor<4xf32>, %n: tensor<i64>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %a, %b = "onnx.Loop"(%n, %none, %x, %w) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %u: tensor<4xf32>, %v: tensor<4xf32>):
    onnx.Yield %go, %v, %u : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }) : (tensor<i64>, none, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %c = "onnx.Loop"(%n, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    onnx.Yield %go, %v : tensor<i1>, tensor<4xf32>
  }) {onnxloom.keep} : (tensor<i64>, none, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
