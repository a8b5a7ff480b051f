func.func @fused(%x: tensor<?x768xf32>, %bias: tensor<768xf32>) -> tensor<?x768xf32> {
  %r:2 = "onnx.FusedOp"(%x, %bias) <{kind = "onnx.elementwise", loop_rank = 2 : si64}> ({
  ^bb0(%a: tensor<?x768xf32>, %b: tensor<768xf32>):
    %c = onnx.Constant dense<5.000000e-01> : tensor<f32>
    %0 = "onnx.Add"(%a, %b) : (tensor<?x768xf32>, tensor<768xf32>) -> tensor<?x768xf32>
    %1 = "onnx.Mul"(%0, %c) : (tensor<?x768xf32>, tensor<f32>) -> tensor<?x768xf32>
    onnx.Yield %0, %1 : tensor<?x768xf32>, tensor<?x768xf32>
  }) {onnx_node_name = "onnx.Add-onnx.Mul"} : (tensor<?x768xf32>, tensor<768xf32>) -> (tensor<?x768xf32>, tensor<?x768xf32>)
  func.return %r#1 : tensor<?x768xf32>
}
