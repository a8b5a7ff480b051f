// RUN: onnxloom-opt %s -p reorder-for-memory --split-input-file | filecheck %s

// Positive: each large value is made when it is reduced, not before; constants come first.
// CHECK-LABEL: @late
// CHECK:         onnx.Constant
// CHECK-NEXT:    %[[A:.*]] = "onnx.Exp"(%x)
// CHECK-NEXT:    %[[B:.*]] = "onnx.ReduceSum"(%[[A]]
// CHECK-NEXT:    %[[C:.*]] = "onnx.Neg"(%x)
// CHECK-NEXT:    %[[D:.*]] = "onnx.ReduceSum"(%[[C]]
// CHECK-NEXT:    "onnx.Add"(%[[B]], %[[D]])
func.func @late(%x: tensor<1000xf32>) -> tensor<1xf32> {
  %0 = "onnx.Exp"(%x) : (tensor<1000xf32>) -> tensor<1000xf32>
  %1 = "onnx.Neg"(%x) : (tensor<1000xf32>) -> tensor<1000xf32>
  %axis = onnx.Constant dense<[0]> : tensor<1xi64>
  %2 = "onnx.ReduceSum"(%0, %axis) : (tensor<1000xf32>, tensor<1xi64>) -> tensor<1xf32>
  %3 = "onnx.ReduceSum"(%1, %axis) : (tensor<1000xf32>, tensor<1xi64>) -> tensor<1xf32>
  %4 = "onnx.Add"(%2, %3) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  onnx.Return %4 : tensor<1xf32>
}

// -----

// Positive: in the body of a loop; what a nested body captures counts as read by the op that holds it.
// CHECK-LABEL: @body
// CHECK:         onnx.Loop
// CHECK:           %[[A:.*]] = "onnx.Exp"(%v)
// CHECK-NEXT:      %[[B:.*]] = "onnx.If"(%c)
// CHECK:           "onnx.Neg"(%v)
func.func @body(%x: tensor<1000xf32>, %c: tensor<i1>, %n: tensor<i64>) -> tensor<?x1xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %axis = onnx.Constant dense<[0]> : tensor<1xi64>
  %y, %z = "onnx.Loop"(%n, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<1000xf32>):
    %0 = "onnx.Exp"(%v) : (tensor<1000xf32>) -> tensor<1000xf32>
    %1 = "onnx.Neg"(%v) : (tensor<1000xf32>) -> tensor<1000xf32>
    %2 = "onnx.If"(%c) ({
      %3 = "onnx.ReduceSum"(%0, %axis) : (tensor<1000xf32>, tensor<1xi64>) -> tensor<1xf32>
      onnx.Yield %3 : tensor<1xf32>
    }, {
      %3 = "onnx.ReduceMax"(%0, %axis) : (tensor<1000xf32>, tensor<1xi64>) -> tensor<1xf32>
      onnx.Yield %3 : tensor<1xf32>
    }) : (tensor<i1>) -> tensor<1xf32>
    %3 = "onnx.ReduceSum"(%1, %axis) : (tensor<1000xf32>, tensor<1xi64>) -> tensor<1xf32>
    %4 = "onnx.Add"(%3, %2) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    onnx.Yield %go, %v, %4 : tensor<i1>, tensor<1000xf32>, tensor<1xf32>
  }) : (tensor<i64>, none, tensor<1000xf32>) -> (tensor<1000xf32>, tensor<?x1xf32>)
  onnx.Return %z : tensor<?x1xf32>
}

// -----

// Negative: nothing to gain, so nothing moves, constants neither.
// CHECK-LABEL: @as_it_is
// CHECK:         onnx.Neg
// CHECK-NEXT:    onnx.Constant
// CHECK-NEXT:    onnx.Exp
// CHECK-NEXT:    onnx.Add
func.func @as_it_is(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = "onnx.Neg"(%x) : (tensor<1000xf32>) -> tensor<1000xf32>
  %k = onnx.Constant dense<1.0> : tensor<f32>
  %1 = "onnx.Exp"(%x) : (tensor<1000xf32>) -> tensor<1000xf32>
  %2 = "onnx.Add"(%0, %k) : (tensor<1000xf32>, tensor<f32>) -> tensor<1000xf32>
  %3 = "onnx.Add"(%1, %2) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
  onnx.Return %3 : tensor<1000xf32>
}

// -----

// Negative: a view keeps the memory it looks at alive, so the Exp may not come earlier for its sake.
// CHECK-LABEL: @view
// CHECK:         onnx.Neg
// CHECK-NEXT:    onnx.Reshape
// CHECK-NEXT:    onnx.Exp
func.func @view(%x: tensor<1000xf32>) -> (tensor<10x100xf32>, tensor<1000xf32>) {
  %s = onnx.Constant dense<[10, 100]> : tensor<2xi64>
  %0 = "onnx.Neg"(%x) : (tensor<1000xf32>) -> tensor<1000xf32>
  %1 = "onnx.Reshape"(%0, %s) : (tensor<1000xf32>, tensor<2xi64>) -> tensor<10x100xf32>
  %2 = "onnx.Exp"(%x) : (tensor<1000xf32>) -> tensor<1000xf32>
  onnx.Return %1, %2 : tensor<10x100xf32>, tensor<1000xf32>
}
