// compiled O0: run: a start below the first element, counted down from
// feed x FLOAT 4x1 0.1257302165031433 -0.13210485875606537 0.6404226422309875 0.10490011423826218
builtin.module attributes {onnx.ir_version = 10 : si64, onnx.opset_imports = [":24"], onnx.graph_name = "g"} {
  func.func @main_graph(%0: tensor<4x1xf32> {onnx.name = "x"}) -> (tensor<4x1xf32> {onnx.name = "y", onnx.dim_params = "1:N", onnx.declared_type = tensor<4x?xf32>}) {
    %1 = onnx.Constant {onnx_node_name = "s"} dense<-2> : tensor<1xi64>
    %2 = onnx.Constant {onnx_node_name = "e"} dense<-9223372036854775807> : tensor<1xi64>
    %3 = onnx.Constant {onnx_node_name = "a"} dense<-1> : tensor<1xi64>
    %4 = "onnx.Slice"(%0, %1, %2, %3, %1) : (tensor<4x1xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4x1xf32>
    onnx.Return %4 : tensor<4x1xf32>
  }
  "onnx.EntryPoint"() <{func = @main_graph}> : () -> ()
}
