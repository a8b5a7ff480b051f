// round trip: types: bounds below the first axis
// feed x FLOAT 2x3 0.1257302165031433 -0.13210485875606537 0.6404226422309875 0.10490011423826218 -0.5356693863868713 0.3615950644016266
builtin.module attributes {onnx.ir_version = 10 : si64, onnx.opset_imports = [":24"], onnx.graph_name = "g"} {
  func.func @main_graph(%0: tensor<2x3xf32> {onnx.name = "x"}) -> (tensor<0xi64> {onnx.name = "y", onnx.dim_params = "0:N", onnx.declared_type = tensor<?xi64>}, tensor<2xi64> {onnx.name = "z", onnx.dim_params = "0:M", onnx.declared_type = tensor<?xi64>}) {
    %1 = "onnx.Shape"(%0) <{end = -5 : si64}> : (tensor<2x3xf32>) -> tensor<0xi64>
    %2 = "onnx.Shape"(%0) <{start = -5 : si64}> : (tensor<2x3xf32>) -> tensor<2xi64>
    onnx.Return %1, %2 : tensor<0xi64>, tensor<2xi64>
  }
  "onnx.EntryPoint"() <{func = @main_graph}> : () -> ()
}
