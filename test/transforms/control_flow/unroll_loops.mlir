// RUN: onnxloom-opt %s -p unroll-loops --split-input-file | filecheck %s

// Positive: three iterations with their counters, constants copied once, scan outputs put together.
// CHECK-LABEL: @three
// CHECK-NOT:     onnx.Loop
// CHECK-COUNT-1: dense<2.000000e+00>
// CHECK:         dense<0> : tensor<i64>
// CHECK:         "onnx.Mul"({{.*}}) {onnx_node_name = "mul/iteration_0"}
// CHECK:         dense<1> : tensor<i64>
// CHECK:         "onnx.Mul"({{.*}}) {onnx_node_name = "mul/iteration_1"}
// CHECK:         dense<2> : tensor<i64>
// CHECK:         %y = "onnx.Mul"({{.*}}) {onnx_node_name = "mul/iteration_2"}
// CHECK-COUNT-3: "onnx.Unsqueeze"({{.*}}) : (tensor<4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
// CHECK-NEXT:    %z = "onnx.Concat"({{.*}}) <{axis = 0 : si64}> : ({{.*}}) -> tensor<3x4xf32>
// CHECK-NEXT:    onnx.Return %y, %z
func.func @three(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>) {
  %n = onnx.Constant dense<3> : tensor<i64>
  %none = "onnx.NoValue"() {value} : () -> none
  %y, %z = "onnx.Loop"(%n, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    %k = onnx.Constant dense<2.0> : tensor<f32>
    %f = "onnx.Cast"(%i) <{to = 1 : si64}> : (tensor<i64>) -> tensor<f32>
    %0 = "onnx.Add"(%v, %f) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = "onnx.Mul"(%0, %k) {onnx_node_name = "mul"} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    onnx.Yield %go, %1, %0 : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }) : (tensor<i64>, none, tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>)
  onnx.Return %y, %z : tensor<4xf32>, tensor<?x4xf32>
}

// -----

// Positive: copies of the condition; one that goes on anyway.
// CHECK-LABEL: @copies
// CHECK-NOT:     onnx.Loop
// CHECK-COUNT-2: "onnx.Exp"
func.func @copies(%x: tensor<4xf32>) -> tensor<4xf32> {
  %n = onnx.Constant dense<2> : tensor<i64>
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.Loop"(%n, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    %0 = "onnx.Identity"(%go) : (tensor<i1>) -> tensor<i1>
    %1 = "onnx.Identity"(%0) : (tensor<i1>) -> tensor<i1>
    %2 = "onnx.Exp"(%v) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %1, %2 : tensor<i1>, tensor<4xf32>
  }) : (tensor<i64>, none, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %y : tensor<4xf32>
}

// -----

// Positive: a constant condition that ends the loop after one iteration, without a trip count; a counter of
// shape [1]; no suffix on names.
// CHECK-LABEL: @once
// CHECK-NOT:     onnx.Loop
// CHECK:         dense<0> : tensor<1xi64>
// CHECK:         "onnx.Cast"({{.*}}) {{.*}}{onnx_node_name = "cast"}
// CHECK-NOT:     iteration
// CHECK:         %z = "onnx.Unsqueeze"
func.func @once(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %y, %z = "onnx.Loop"(%none, %none, %x) ({
  ^bb0(%i: tensor<1xi64>, %go: tensor<i1>, %v: tensor<4xf32>):
    %stop = onnx.Constant dense<false> : tensor<i1>
    %f = "onnx.Cast"(%i) <{to = 1 : si64}> {onnx_node_name = "cast"} : (tensor<1xi64>) -> tensor<1xf32>
    %0 = "onnx.Add"(%v, %f) : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
    onnx.Yield %stop, %0, %0 : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }) : (none, none, tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>)
  onnx.Return %y, %z : tensor<4xf32>, tensor<?x4xf32>
}

// -----

// Positive: no iteration at all, by the first condition, by a trip count of 0 and by a negative one; a scan
// output without rows is a constant.
// CHECK-LABEL: @never
// CHECK-NOT:     onnx.Loop
// CHECK:         %[[EMPTY:.*]] = onnx.Constant {{.*}}tensor<0x4xf32>
// CHECK:         onnx.Return %x, %[[EMPTY]], %x, %x
func.func @never(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %no = onnx.Constant dense<false> : tensor<i1>
  %y, %z = "onnx.Loop"(%none, %no, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    %0 = "onnx.Exp"(%v) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %go, %0, %0 : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }) : (none, tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>)
  %zero = onnx.Constant dense<0> : tensor<i64>
  %b = "onnx.Loop"(%zero, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    %0 = "onnx.Exp"(%v) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %go, %0 : tensor<i1>, tensor<4xf32>
  }) : (tensor<i64>, none, tensor<4xf32>) -> tensor<4xf32>
  %minus = onnx.Constant dense<-3> : tensor<i64>
  %c = "onnx.Loop"(%minus, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    %stop = onnx.Constant dense<false> : tensor<i1>
    %0 = "onnx.Exp"(%v) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %stop, %0 : tensor<i1>, tensor<4xf32>
  }) : (tensor<i64>, none, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %y, %z, %b, %c : tensor<4xf32>, tensor<0x4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Positive: inner loops first; what they capture of the outer one is that of the iteration.
// CHECK-LABEL: @nested
// CHECK-NOT:     onnx.Loop
// CHECK-COUNT-4: "onnx.Add"
// CHECK-NOT:     "onnx.Add"
func.func @nested(%x: tensor<4xf32>) -> tensor<4xf32> {
  %n = onnx.Constant dense<2> : tensor<i64>
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.Loop"(%n, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    %f = "onnx.Cast"(%i) <{to = 1 : si64}> : (tensor<i64>) -> tensor<f32>
    %0 = "onnx.Loop"(%n, %none, %v) ({
    ^bb1(%j: tensor<i64>, %on: tensor<i1>, %w: tensor<4xf32>):
      %1 = "onnx.Add"(%w, %f) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      onnx.Yield %on, %1 : tensor<i1>, tensor<4xf32>
    }) : (tensor<i64>, none, tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %go, %0 : tensor<i1>, tensor<4xf32>
  }) : (tensor<i64>, none, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %y : tensor<4xf32>
}
