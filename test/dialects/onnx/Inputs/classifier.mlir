module attributes {llvm.data_layout = "e-m:e-p270:32:32", llvm.target_triple = "x86_64-unknown-linux-gnu", "onnx-mlir.symbol-postfix" = "classifier"} {
  func.func @main_graph(%arg0: tensor<1x3x32x32xf32> {onnx.name = "image"}) -> (tensor<1x10xf32> {onnx.name = "scores"}) attributes {input_names = ["image"], output_names = ["scores"]} {
    %0 = onnx.Constant dense_resource<__elided__> : tensor<16x3x3x3xf32>
    %1 = onnx.Constant dense<[0.1, -0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6]> : tensor<16xf32>
    %2 = "onnx.Conv"(%arg0, %0, %1) {auto_pad = "NOTSET", dilations = [1, 1], group = 1 : si64, kernel_shape = [3, 3], onnx_node_name = "stem/conv", pads = [1, 1, 1, 1], strides = [2, 2]} : (tensor<1x3x32x32xf32>, tensor<16x3x3x3xf32>, tensor<16xf32>) -> tensor<1x16x16x16xf32>
    %3 = "onnx.LeakyRelu"(%2) {alpha = 0.00999999977 : f32} : (tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
    %4, %indices = "onnx.MaxPool"(%3) {kernel_shape = [2, 2]} : (tensor<1x16x16x16xf32>) -> (tensor<*xf32>, none)
    %5 = "onnx.GlobalAveragePool"(%4) : (tensor<*xf32>) -> tensor<*xf32>
    %6 = "onnx.Flatten"(%5) {axis = 1 : si64} : (tensor<*xf32>) -> tensor<1x16xf32>
    %7 = onnx.Constant dense<1.0> : tensor<16x10xf32>
    %8 = "onnx.NoValue"() {value} : () -> none
    %9 = "onnx.Gemm"(%6, %7, %8) {alpha = 1.000000e+00 : f32, beta = 1.000000e+00 : f32, transA = 0 : si64, transB = 0 : si64} : (tensor<1x16xf32>, tensor<16x10xf32>, none) -> tensor<1x10xf32>
    %10 = "onnx.Softmax"(%9) {axis = -1 : si64, onnx_node_name = "prob"} : (tensor<1x10xf32>) -> tensor<1x10xf32>
    onnx.Return %10 : tensor<1x10xf32>
  }
  "onnx.EntryPoint"() {func = @main_graph} : () -> ()
}
