// compiled O0: values: the norm is of absolute values
// feed x FLOAT 2x3x2 0.1257302165031433 -0.13210485875606537 0.6404226422309875 0.10490011423826218 -0.5356693863868713 0.3615950644016266 1.3040000200271606 0.9470809698104858 -0.7037352323532104 -1.2654215097427368 -0.6232744455337524 0.04132597893476486
builtin.module attributes {onnx.ir_version = 10 : si64, onnx.opset_imports = [":24"], onnx.graph_name = "g"} {
  func.func @main_graph(%0: tensor<2x3x2xf32> {onnx.name = "x"}) -> (tensor<2x3x2xf32> {onnx.name = "y", onnx.declared_type = tensor<2x3x2xf32>}, tensor<2x3x2xf32> {onnx.name = "z", onnx.declared_type = tensor<2x3x2xf32>}) {
    %1 = "onnx.LpNormalization"(%0) <{axis = -2 : si64, p = 1 : si64}> : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    %2 = "onnx.LpNormalization"(%0) <{axis = 0 : si64}> : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    onnx.Return %1, %2 : tensor<2x3x2xf32>, tensor<2x3x2xf32>
  }
  "onnx.EntryPoint"() <{func = @main_graph}> : () -> ()
}
