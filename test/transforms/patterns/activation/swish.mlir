// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="Swish"}' | filecheck %s

// Positive.
// CHECK-LABEL: @plain
// CHECK-NEXT:  %[[Y:.*]] = "onnx.Swish"(%x) <{alpha = 1.000000e+00 : f32}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @plain(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %s = "onnx.Sigmoid"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = "onnx.Mul"(%x, %s) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Positive: the gate has a factor.
// CHECK-LABEL: @scaled
// CHECK-NEXT:  %[[Y:.*]] = "onnx.Swish"(%x) <{alpha = 1.500000e+00 : f32}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @scaled(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %ka = onnx.Constant dense<1.5> : tensor<f32>
  %a = "onnx.Mul"(%ka, %x) : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %s = "onnx.Sigmoid"(%a) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = "onnx.Mul"(%s, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Negative: the gate is of another value.
// CHECK-LABEL: @other_input
// CHECK:       onnx.Sigmoid
func.func @other_input(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %n = "onnx.Neg"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %s = "onnx.Sigmoid"(%n) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = "onnx.Mul"(%x, %s) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}
