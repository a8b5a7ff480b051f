module {
  func.func @main_graph(%arg0: tensor<?x?xi64> {onnx.dim_params = "0:batch,1:sequence", onnx.name = "input_ids"}, %arg1: tensor<?x?xi64> {onnx.dim_params = "0:batch,1:sequence", onnx.name = "attention_mask"}) -> (tensor<?x?x64xf32> {onnx.name = "hidden"}) {
    %0 = onnx.Constant dense_resource<__elided__> : tensor<1000x64xf32>
    %1 = onnx.Constant dense<1> : tensor<1xi64>
    %2 = onnx.Constant dense<[0, 0, 4, 16]> : tensor<4xi64>
    %3 = onnx.Constant dense<1.000000e+00> : tensor<f32>
    %4 = onnx.Constant dense<-3.40282347E+38> : tensor<f32>
    %5 = "onnx.Gather"(%0, %arg0) {axis = 0 : si64, onnx_node_name = "/embeddings/Gather"} : (tensor<1000x64xf32>, tensor<?x?xi64>) -> tensor<?x?x64xf32>
    %6 = "onnx.Unsqueeze"(%arg1, %1) {onnx_node_name = "/Unsqueeze"} : (tensor<?x?xi64>, tensor<1xi64>) -> tensor<?x1x?xi64>
    %7 = "onnx.Cast"(%6) {saturate = 1 : si64, to = f32} : (tensor<?x1x?xi64>) -> tensor<?x1x?xf32>
    %8 = "onnx.Sub"(%3, %7) : (tensor<f32>, tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
    %9 = "onnx.Mul"(%8, %4) : (tensor<?x1x?xf32>, tensor<f32>) -> tensor<?x1x?xf32>
    %10 = "onnx.Reshape"(%5, %2) {allowzero = 0 : si64} : (tensor<?x?x64xf32>, tensor<4xi64>) -> tensor<?x?x4x16xf32>
    %11 = "onnx.Transpose"(%10) {perm = [0, 2, 1, 3]} : (tensor<?x?x4x16xf32>) -> tensor<?x4x?x16xf32>
    %12 = "onnx.Transpose"(%10) {perm = [0, 2, 3, 1]} : (tensor<?x?x4x16xf32>) -> tensor<?x4x16x?xf32>
    %13 = "onnx.MatMul"(%11, %12) : (tensor<?x4x?x16xf32>, tensor<?x4x16x?xf32>) -> tensor<?x4x?x?xf32>
    %14 = "onnx.Add"(%13, %9) : (tensor<?x4x?x?xf32>, tensor<?x1x?xf32>) -> tensor<?x4x?x?xf32>
    %15 = "onnx.Softmax"(%14) {axis = -1 : si64} : (tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
    %16 = onnx.Constant dense<1.0> : tensor<64xf32>
    %17 = "onnx.NoValue"() {value} : () -> none
    %Y, %Mean, %InvStdDev = "onnx.LayerNormalization"(%5, %16, %17) {axis = -1 : si64, epsilon = 9.99999974E-6 : f32, stash_type = 1 : si64} : (tensor<?x?x64xf32>, tensor<64xf32>, none) -> (tensor<?x?x64xf32>, none, none)
    %18 = "onnx.Dim"(%arg0) {axis = 0 : si64} : (tensor<?x?xi64>) -> tensor<1xi64>
    %19 = "onnx.Shape"(%arg0) {start = 0 : si64} : (tensor<?x?xi64>) -> tensor<2xi64>
    %20:2 = "onnx.TopK"(%Y, %1) {axis = -1 : si64, largest = 1 : si64, sorted = 1 : si64} : (tensor<?x?x64xf32>, tensor<1xi64>) -> (tensor<?x?x1xf32>, tensor<?x?x1xi64>)
    %21 = "onnx.QuantizeLinear"(%Y, %3, %17) : (tensor<?x?x64xf32>, tensor<f32>, none) -> tensor<?x?x64xui8>
    onnx.Return %Y : tensor<?x?x64xf32>
  }
  "onnx.EntryPoint"() {func = @main_graph} : () -> ()
}
