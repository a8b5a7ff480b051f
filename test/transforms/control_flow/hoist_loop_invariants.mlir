// RUN: onnxloom-opt %s -p hoist-loop-invariants --split-input-file | filecheck %s

// Positive: a chain that reads nothing of the loop, with the constant it reads; what cannot fail may run
// although the loop may not.
// CHECK-LABEL: @chain
// CHECK:         %[[K:.*]] = onnx.Constant dense<2.000000e+00>
// CHECK-NEXT:    %[[A:.*]] = "onnx.Mul"(%x, %[[K]])
// CHECK-NEXT:    %[[B:.*]] = "onnx.Exp"(%[[A]])
// CHECK-NEXT:    "onnx.Loop"
// CHECK:           "onnx.Add"(%v, %[[B]])
func.func @chain(%x: tensor<4xf32>, %n: tensor<i64>) -> tensor<4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.Loop"(%n, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    %k = onnx.Constant dense<2.0> : tensor<f32>
    %0 = "onnx.Mul"(%x, %k) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = "onnx.Exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "onnx.Add"(%v, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %go, %2 : tensor<i1>, tensor<4xf32>
  }) : (tensor<i64>, none, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %y : tensor<4xf32>
}

// -----

// Positive: out of two loops, and out of the body of a Scan.
// CHECK-LABEL: @nested
// CHECK:         %[[A:.*]] = "onnx.Exp"(%x)
// CHECK-NEXT:    "onnx.Scan"
// CHECK:           "onnx.Loop"
// CHECK:             "onnx.Add"({{.*}}, %[[A]])
func.func @nested(%x: tensor<4xf32>, %s: tensor<?x4xf32>, %n: tensor<i64>) -> tensor<4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.Scan"(%x, %s) <{num_scan_inputs = 1 : si64}> ({
  ^bb0(%u: tensor<4xf32>, %row: tensor<4xf32>):
    %0 = "onnx.Loop"(%n, %none, %u) ({
    ^bb1(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
      %1 = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %2 = "onnx.Add"(%v, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      onnx.Yield %go, %2 : tensor<i1>, tensor<4xf32>
    }) : (tensor<i64>, none, tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %0 : tensor<4xf32>
  }) : (tensor<4xf32>, tensor<?x4xf32>) -> tensor<4xf32>
  onnx.Return %y : tensor<4xf32>
}

// -----

// Positive: an op that may fail, out of a loop that certainly runs; an If whose branches read outer values.
// CHECK-LABEL: @certainly
// CHECK:         %[[G:.*]] = "onnx.Gather"(%x, %j)
// CHECK-NEXT:    %[[I:.*]] = "onnx.If"(%c)
// CHECK:         "onnx.Loop"
// CHECK:           "onnx.Add"(%v, %[[G]])
// CHECK-NEXT:      "onnx.Add"({{.*}}, %[[I]])
// CHECK:         "onnx.Gather"(%x, %j)
// CHECK-NEXT:    "onnx.Scan"
func.func @certainly(%x: tensor<4xf32>, %j: tensor<i64>, %c: tensor<i1>, %n: tensor<i64>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %three = onnx.Constant dense<3> : tensor<i64>
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.Loop"(%three, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    %0 = "onnx.Gather"(%x, %j) : (tensor<4xf32>, tensor<i64>) -> tensor<f32>
    %1 = "onnx.If"(%c) ({
      %t = "onnx.Gather"(%x, %j) : (tensor<4xf32>, tensor<i64>) -> tensor<f32>
      onnx.Yield %t : tensor<f32>
    }, {
      onnx.Yield %0 : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    %2 = "onnx.Add"(%v, %0) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %3 = "onnx.Add"(%2, %1) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    onnx.Yield %go, %3 : tensor<i1>, tensor<4xf32>
  }) : (tensor<i64>, none, tensor<4xf32>) -> tensor<4xf32>
  %s = "onnx.Identity"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = "onnx.Scan"(%x, %s) <{num_scan_inputs = 1 : si64}> ({
  ^bb0(%u: tensor<4xf32>, %e: tensor<f32>):
    %0 = "onnx.Gather"(%x, %j) : (tensor<4xf32>, tensor<i64>) -> tensor<f32>
    %1 = "onnx.Add"(%u, %0) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    onnx.Yield %1 : tensor<4xf32>
  }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// -----

// Negative: it may fail and the loop may not run; it is random; it reads the loop, in a branch too; it is to
// be kept; it stands in a branch.
// CHECK-LABEL: @stays
// CHECK:         "onnx.Loop"
// CHECK:           "onnx.Gather"(%x, %j)
// CHECK-NEXT:      "onnx.RandomNormal"
// CHECK-NEXT:      "onnx.Exp"(%v)
// CHECK-NEXT:      "onnx.Neg"(%x) {onnxloom.keep}
// CHECK-NEXT:      "onnx.If"
// CHECK-NEXT:        "onnx.Abs"(%x)
func.func @stays(%x: tensor<4xf32>, %j: tensor<i64>, %c: tensor<i1>, %n: tensor<i64>) -> tensor<4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.Loop"(%n, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    %0 = "onnx.Gather"(%x, %j) : (tensor<4xf32>, tensor<i64>) -> tensor<f32>
    %1 = "onnx.RandomNormal"() <{shape = [4]}> : () -> tensor<4xf32>
    %2 = "onnx.Exp"(%v) : (tensor<4xf32>) -> tensor<4xf32>
    %3 = "onnx.Neg"(%x) {onnxloom.keep} : (tensor<4xf32>) -> tensor<4xf32>
    %4 = "onnx.If"(%c) ({
      %t = "onnx.Abs"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      onnx.Yield %t : tensor<4xf32>
    }, {
      onnx.Yield %v : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    %5 = "onnx.Sum"(%1, %2, %3, %4, %0) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    onnx.Yield %go, %5 : tensor<i1>, tensor<4xf32>
  }) : (tensor<i64>, none, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %y : tensor<4xf32>
}
