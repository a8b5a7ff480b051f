// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// Trailing axes: one kept and one reduced loop, the sum may be reordered.
func.func @rows(%a: tensor<?x3x4xf32>) -> tensor<?xf32> {
  %axes = onnx.Constant dense<[1, 2]> : tensor<2xi64>
  %0 = "onnx.ReduceSum"(%a, %axes) <{keepdims = 0 : si64}> : (tensor<?x3x4xf32>, tensor<2xi64>) -> tensor<?xf32>
  "onnx.Return"(%0) : (tensor<?xf32>) -> ()
}
// CHECK-LABEL: sym_name = "reduce_sum_
// CHECK:      scf.for
// CHECK:      scf.for {{.*}} iter_args
// CHECK:      arith.addf
// CHECK-SAME: loom.reassociate
// CHECK-NOT:  scf.for
// CHECK:      sym_name = "rows"

// -----

// Leading axes: blocks of columns accumulate in scratch memory.
func.func @columns(%a: tensor<?x4xf32>) -> tensor<4xf32> {
  %axes = onnx.Constant dense<0> : tensor<1xi64>
  %0 = "onnx.ReduceMax"(%a, %axes) <{keepdims = 0 : si64}> : (tensor<?x4xf32>, tensor<1xi64>) -> tensor<4xf32>
  "onnx.Return"(%0) : (tensor<4xf32>) -> ()
}
// CHECK-LABEL: sym_name = "reduce_max_columns_
// CHECK:      memref.alloca() : memref<256xf32>
// CHECK:      arith.maximumf

// -----

// Axes that are an operand are read when the plan is made.
func.func @planned(%a: tensor<3x4xf32>, %axes: tensor<1xi64>) -> tensor<?x?xf32> {
  %0 = "onnx.ReduceMean"(%a, %axes) : (tensor<3x4xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  "onnx.Return"(%0) : (tensor<?x?xf32>) -> ()
}
// CHECK-LABEL: sym_name = "planned"
// CHECK:      "loom.reduction_space"

// -----

// Softmax of f32 computes each exponential once, of f16 twice.
func.func @softmax(%a: tensor<2x8xf32>, %b: tensor<2x8xf16>) -> (tensor<2x8xf32>, tensor<2x8xf16>) {
  %0 = "onnx.Softmax"(%a) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = "onnx.Softmax"(%b) : (tensor<2x8xf16>) -> tensor<2x8xf16>
  "onnx.Return"(%0, %1) : (tensor<2x8xf32>, tensor<2x8xf16>) -> ()
}
// CHECK-LABEL: sym_name = "softmax_
// CHECK:      math.exp
// CHECK-NOT:  math.exp
// CHECK:      sym_name = "softmax_
// CHECK:      math.exp
// CHECK:      math.exp
// CHECK:      sym_name = "softmax"

// -----

// A scale that is not proven to have the normalized dims: the ops that define the normalization run.
func.func @norm(%a: tensor<2x?xf32>, %s: tensor<?xf32>) -> tensor<2x?xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %0:3 = "onnx.LayerNormalization"(%a, %s, %n) : (tensor<2x?xf32>, tensor<?xf32>, none) -> (tensor<2x?xf32>, none, none)
  "onnx.Return"(%0#0) : (tensor<2x?xf32>) -> ()
}
// CHECK-LABEL: sym_name = "norm"
// CHECK-NOT:  reason = "scale
// CHECK:      kernel = @reduce_mean_
// CHECK:      kernel = @sqrt_
// CHECK-NOT:  reason = "scale
// CHECK:      "loom.return"
