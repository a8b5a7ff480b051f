// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="HardSigmoid"}' | filecheck %s

// Positive.
// CHECK-LABEL: @positive
// CHECK-NEXT:  %[[Y:.*]] = "onnx.HardSigmoid"(%x) <{alpha = 0.166666672 : f32, beta = 5.000000e-01 : f32}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kt = onnx.Constant dense<3.0> : tensor<f32>
  %kz = onnx.Constant dense<0.0> : tensor<f32>
  %ks = onnx.Constant dense<6.0> : tensor<f32>
  %a = "onnx.Add"(%x, %kt) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %c = "onnx.Clip"(%a, %kz, %ks) : (tensor<2x4xf32>, tensor<f32>, tensor<f32>) -> tensor<2x4xf32>
  %y = "onnx.Div"(%c, %ks) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Negative: clipped at another number than it is divided by.
// CHECK-LABEL: @five
// CHECK:       onnx.Clip
func.func @five(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kf = onnx.Constant dense<5.0> : tensor<f32>
  %kt = onnx.Constant dense<3.0> : tensor<f32>
  %kz = onnx.Constant dense<0.0> : tensor<f32>
  %ks = onnx.Constant dense<6.0> : tensor<f32>
  %a = "onnx.Add"(%x, %kt) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %c = "onnx.Clip"(%a, %kz, %ks) : (tensor<2x4xf32>, tensor<f32>, tensor<f32>) -> tensor<2x4xf32>
  %y = "onnx.Div"(%c, %kf) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}
