// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// One kernel behind the padded image. Bias and statistics are vectors along the channels: viewed as such,
// loaded before the loop over a row of points; a scalar constant is a number in the kernel.
func.func @norm(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<1x4x6x6xf32> {
  %0 = "onnx.FusedOp"(%x, %w, %b, %s) <{kind = "onnx.conv_epilogue"}> ({
  ^bb0(%x_1: tensor<1x3x8x8xf32>, %w_1: tensor<4x3x3x3xf32>, %b_1: tensor<4xf32>, %s_1: tensor<4xf32>):
    %two = onnx.Constant dense<2.5> : tensor<f32>
    %1 = "onnx.Conv"(%x_1, %w_1, %b_1) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x6x6xf32>
    %2, %3, %4 = "onnx.BatchNormalization"(%1, %s_1, %b_1, %b_1, %s_1) : (tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x6x6xf32>, none, none)
    %5 = "onnx.Mul"(%2, %two) : (tensor<1x4x6x6xf32>, tensor<f32>) -> tensor<1x4x6x6xf32>
    "onnx.Yield"(%5) : (tensor<1x4x6x6xf32>) -> ()
  }) {op_count = 3 : si64} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x6x6xf32>
  onnx.Return %0 : tensor<1x4x6x6xf32>
}
// CHECK:      sym_name = "conv_epilogue_
// CHECK:      "loom.microkernel"
// CHECK:      scf.if
// CHECK:      %[[bias:.*]] = memref.load
// CHECK-NEXT: %[[scale:.*]] = memref.load
// CHECK-NEXT: scf.for
// CHECK:      %[[sum:.*]] = memref.load
// CHECK-NOT:  memref.load
// CHECK:      %[[biased:.*]] = arith.addf %[[sum]], %[[bias]]
// CHECK:      math.sqrt
// CHECK:      arith.divf %[[scale]]
// CHECK:      arith.subf %[[biased]], %[[bias]]
// CHECK-NOT:  memref.load
// CHECK:      memref.store
// CHECK:      sym_name = "norm"
// CHECK:      "loom.view"({{.*}}) : (tensor<4xf32>{{.*}}) -> tensor<4x1x1xf32>
// CHECK:      kernel = @conv_epilogue_
// CHECK-NOT:  "loom.launch"
// CHECK:      "loom.return"

// -----

// A body that is not of the kind is inlined: the Mul reads a row of numbers.
func.func @row(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf32>, %b: tensor<4xf32>, %s: tensor<8xf32>) -> tensor<1x4x8x8xf32> {
  %0 = "onnx.FusedOp"(%x, %w, %b, %s) <{kind = "onnx.conv_epilogue"}> ({
  ^bb0(%x_1: tensor<1x3x8x8xf32>, %w_1: tensor<4x3x1x1xf32>, %b_1: tensor<4xf32>, %s_1: tensor<8xf32>):
    %1 = "onnx.Conv"(%x_1, %w_1, %b_1) : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
    %2 = "onnx.Mul"(%1, %s_1) : (tensor<1x4x8x8xf32>, tensor<8xf32>) -> tensor<1x4x8x8xf32>
    "onnx.Yield"(%2) : (tensor<1x4x8x8xf32>) -> ()
  }) {op_count = 2 : si64} : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>, tensor<4xf32>, tensor<8xf32>) -> tensor<1x4x8x8xf32>
  onnx.Return %0 : tensor<1x4x8x8xf32>
}
// CHECK:      sym_name = "row"
// CHECK:      kernel = @conv_
// CHECK:      kernel = @mul_
