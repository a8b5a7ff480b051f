// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="GeluTanh"}' | filecheck %s

// Positive.
// CHECK-LABEL: @positive
// CHECK-NEXT:  %[[Y:.*]] = "onnx.Gelu"(%x) <{approximate = "tanh"}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kt = onnx.Constant dense<3.0> : tensor<f32>
  %kc = onnx.Constant dense<0.044715> : tensor<f32>
  %kw = onnx.Constant dense<0.7978846> : tensor<f32>
  %ko = onnx.Constant dense<1.0> : tensor<f32>
  %kh = onnx.Constant dense<0.5> : tensor<f32>
  %q = "onnx.Pow"(%x, %kt) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %c = "onnx.Mul"(%q, %kc) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %a = "onnx.Add"(%x, %c) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %s = "onnx.Mul"(%a, %kw) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %e = "onnx.Tanh"(%s) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %p = "onnx.Add"(%e, %ko) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %b = "onnx.Mul"(%x, %kh) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %y = "onnx.Mul"(%b, %p) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Positive: f32 with constants that were rounded to f16.
// CHECK-LABEL: @rounded
// CHECK-NEXT:  %[[Y:.*]] = "onnx.Gelu"(%x) <{approximate = "tanh"}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @rounded(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kt = onnx.Constant dense<3.0> : tensor<f32>
  %kc = onnx.Constant dense<0.044708251953125> : tensor<f32>
  %kw = onnx.Constant dense<0.7978515625> : tensor<f32>
  %ko = onnx.Constant dense<1.0> : tensor<f32>
  %kh = onnx.Constant dense<0.5> : tensor<f32>
  %q = "onnx.Pow"(%x, %kt) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %c = "onnx.Mul"(%q, %kc) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %a = "onnx.Add"(%x, %c) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %s = "onnx.Mul"(%a, %kw) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %e = "onnx.Tanh"(%s) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %p = "onnx.Add"(%e, %ko) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %b = "onnx.Mul"(%x, %kh) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %y = "onnx.Mul"(%b, %p) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Negative: a square instead of the cube.
// CHECK-LABEL: @square
// CHECK:       onnx.Tanh
func.func @square(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kt = onnx.Constant dense<2.0> : tensor<f32>
  %kc = onnx.Constant dense<0.044715> : tensor<f32>
  %kw = onnx.Constant dense<0.7978846> : tensor<f32>
  %ko = onnx.Constant dense<1.0> : tensor<f32>
  %kh = onnx.Constant dense<0.5> : tensor<f32>
  %q = "onnx.Pow"(%x, %kt) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %c = "onnx.Mul"(%q, %kc) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %a = "onnx.Add"(%x, %c) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %s = "onnx.Mul"(%a, %kw) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %e = "onnx.Tanh"(%s) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %p = "onnx.Add"(%e, %ko) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %b = "onnx.Mul"(%x, %kh) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %y = "onnx.Mul"(%b, %p) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}
