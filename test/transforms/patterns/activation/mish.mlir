// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="Mish"}' | filecheck %s

// Positive.
// CHECK-LABEL: @positive
// CHECK-NEXT:  %[[Y:.*]] = "onnx.Mish"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %s = "onnx.Softplus"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %t = "onnx.Tanh"(%s) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = "onnx.Mul"(%x, %t) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Positive: Softplus as a logarithm.
// CHECK-LABEL: @logarithm
// CHECK-NEXT:  %[[Y:.*]] = "onnx.Mish"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @logarithm(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %ko = onnx.Constant dense<1.0> : tensor<f32>
  %a = "onnx.Exp"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = "onnx.Add"(%ko, %a) : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %s = "onnx.Log"(%b) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %t = "onnx.Tanh"(%s) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = "onnx.Mul"(%t, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Negative: another gate.
// CHECK-LABEL: @sigmoid
// CHECK:       onnx.Softplus
func.func @sigmoid(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %s = "onnx.Softplus"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %t = "onnx.Sigmoid"(%s) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = "onnx.Mul"(%x, %t) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}
