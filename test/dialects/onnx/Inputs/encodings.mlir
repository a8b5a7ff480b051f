#layout = #onnx.layout<{dataLayout = "NCHW4C"}>
module attributes {some.version = #other.version<1, [2, <3>]>} {
  func.func @encodings(%x: tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>, %w: tensor<8x8x1x1xf32, #layout>, %u: tensor<*xf32, #onnx.layout<{dataLayout = "NHWC"}>>) -> tensor<1x8x4x4xf32> {
    %none = "onnx.NoValue"() {value} : () -> none
    %0 = "onnx.Conv"(%x, %w, %none) {kernel_shape = [1, 1], other.hint = #other.hint<fast>} : (tensor<1x8x4x4xf32, #layout>, tensor<8x8x1x1xf32, #layout>, none) -> tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>
    %1 = "onnx.Identity"(%u) : (tensor<*xf32>) -> tensor<?x?xf32, #sparse.encoding<"csr">>
    %2 = "onnx.Custom"(%0, %none) {domain_name = "com.microsoft", function_name = "FusedGelu", alpha = 1.250000e-01 : f32, ids = [1, 2], names = ["a", "b"], mode = "fast", table = dense<[1.0, 2.0]> : tensor<2xf32>, output_element_type = f32} : (tensor<1x8x4x4xf32, #layout>, none) -> tensor<1x8x4x4xf32>
    %3:2 = "onnx.Custom"(%2) <{function_name = "Split"}> {num = 2 : si64} : (tensor<1x8x4x4xf32>) -> (tensor<*xf32>, tensor<*xf32>)
    onnx.Return %2 : tensor<1x8x4x4xf32>
  }
}
