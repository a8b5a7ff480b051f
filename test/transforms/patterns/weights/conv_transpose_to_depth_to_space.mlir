// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns=ConvTransposeToDepthToSpace numerics=tolerance}' | filecheck %s
// RUN: onnxloom-opt %s -p 'rewrite-patterns{numerics=tolerance}' | filecheck %s --check-prefix=DEFAULT

// Positive: a product per element, and its blocks put in their places; only when asked for.
// CHECK-LABEL: @upsampled
// CHECK:         %[[C:.*]] = "onnx.Conv"(%x, {{.*}}) : (tensor<1x3x4x4xf32>, tensor<8x3x1x1xf32>, none) -> tensor<1x8x4x4xf32>
// CHECK-NEXT:    "onnx.DepthToSpace"(%[[C]]) <{blocksize = 2 : si64, mode = "CRD"}> {{.*}} -> tensor<1x2x8x8xf32>
// DEFAULT-LABEL: @upsampled
// DEFAULT:       onnx.ConvTranspose
func.func @upsampled(%x: tensor<1x3x4x4xf32>) -> tensor<1x2x8x8xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<3x2x2x2xf32>
  %y = "onnx.ConvTranspose"(%x, %w, %none) <{strides = [2, 2]}> : (tensor<1x3x4x4xf32>, tensor<3x2x2x2xf32>, none) -> tensor<1x2x8x8xf32>
  onnx.Return %y : tensor<1x2x8x8xf32>
}

// Negative: windows that overlap.
// CHECK-LABEL: @overlapping
// CHECK:         onnx.ConvTranspose
func.func @overlapping(%x: tensor<1x3x4x4xf32>) -> tensor<1x2x9x9xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<3x2x3x3xf32>
  %y = "onnx.ConvTranspose"(%x, %w, %none) <{strides = [2, 2]}> : (tensor<1x3x4x4xf32>, tensor<3x2x3x3xf32>, none) -> tensor<1x2x9x9xf32>
  onnx.Return %y : tensor<1x2x9x9xf32>
}
