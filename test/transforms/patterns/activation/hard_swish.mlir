// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="HardSwish"}' | filecheck %s

// Positive.
// CHECK-LABEL: @positive
// CHECK-NEXT:  %[[Y:.*]] = "onnx.HardSwish"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kt = onnx.Constant dense<3.0> : tensor<f32>
  %kz = onnx.Constant dense<0.0> : tensor<f32>
  %ks = onnx.Constant dense<6.0> : tensor<f32>
  %a = "onnx.Add"(%x, %kt) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %c = "onnx.Clip"(%a, %kz, %ks) : (tensor<2x4xf32>, tensor<f32>, tensor<f32>) -> tensor<2x4xf32>
  %m = "onnx.Mul"(%x, %c) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = "onnx.Div"(%m, %ks) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Positive: the gate is HardSigmoid.
// CHECK-LABEL: @gated
// CHECK-NEXT:  %[[Y:.*]] = "onnx.HardSwish"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @gated(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %g = "onnx.HardSigmoid"(%x) <{alpha = 0.16666667 : f32}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = "onnx.Mul"(%g, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Negative: HardSigmoid has a slope of 0.2 when none is given.
// CHECK-LABEL: @default_slope
// CHECK:       onnx.HardSigmoid
func.func @default_slope(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %g = "onnx.HardSigmoid"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = "onnx.Mul"(%g, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}
