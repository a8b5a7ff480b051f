// compiled O0: values: the host computed in f32
// feed x DOUBLE 4 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.10490011715303971
builtin.module attributes {onnx.ir_version = 10 : si64, onnx.opset_imports = [":24"], onnx.graph_name = "g"} {
  func.func @main_graph(%0: tensor<4xf64> {onnx.name = "x"}) -> (tensor<4xf64> {onnx.name = "y", onnx.declared_type = tensor<4xf64>}) {
    %1 = "onnx.Erf"(%0) : (tensor<4xf64>) -> tensor<4xf64>
    onnx.Return %1 : tensor<4xf64>
  }
  "onnx.EntryPoint"() <{func = @main_graph}> : () -> ()
}
