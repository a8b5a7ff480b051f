// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="MaxRelu"}' | filecheck %s

// Positive: the zero may come first.
// CHECK-LABEL: @positive
// CHECK-NEXT:  %[[Y:.*]] = "onnx.Relu"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kz = onnx.Constant dense<0.0> : tensor<f32>
  %y = "onnx.Max"(%kz, %x) : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Negative: the zero has a sign.
// CHECK-LABEL: @negative_zero
// CHECK:       onnx.Max
func.func @negative_zero(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kz = onnx.Constant dense<-0.0> : tensor<f32>
  %y = "onnx.Max"(%x, %kz) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Negative: a third operand.
// CHECK-LABEL: @three
// CHECK:       onnx.Max
func.func @three(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kz = onnx.Constant dense<0.0> : tensor<f32>
  %y = "onnx.Max"(%x, %kz, %x) : (tensor<2x4xf32>, tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}
