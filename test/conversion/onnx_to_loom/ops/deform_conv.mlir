// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// The sampled taps, then one product per group with the bias as its epilogue.
func.func @grouped(%x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3x3xf32>, %o: tensor<1x18x6x6xf32>, %b: tensor<6xf32>) -> tensor<1x6x6x6xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.DeformConv"(%x, %w, %o, %b, %none) {group = 2 : si64} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>, tensor<1x18x6x6xf32>, tensor<6xf32>, none) -> tensor<1x6x6x6xf32>
  onnx.Return %0 : tensor<1x6x6x6xf32>
}
// CHECK-LABEL: sym_name = "grouped"
// CHECK:      kernel = @deform_columns_
// CHECK:      "loom.matmul_space"
// CHECK-SAME: tensor<2x3x18xf32>, tensor<1x2x18x36xf32>, tensor<2x3x1xf32>
// CHECK:      kernel = @deform_conv_
