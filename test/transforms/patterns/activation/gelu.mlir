// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="Gelu"}' | filecheck %s

// Positive: the half comes last.
// CHECK-LABEL: @halved_last
// CHECK-NEXT:  %[[Y:.*]] = "onnx.Gelu"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @halved_last(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kr = onnx.Constant dense<1.4142135> : tensor<f32>
  %ko = onnx.Constant dense<1.0> : tensor<f32>
  %kh = onnx.Constant dense<0.5> : tensor<f32>
  %s = "onnx.Div"(%x, %kr) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %e = "onnx.Erf"(%s) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %p = "onnx.Add"(%e, %ko) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %g = "onnx.Mul"(%x, %p) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = "onnx.Mul"(%g, %kh) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Positive: the half comes first, the operands of the last product the other way round.
// CHECK-LABEL: @halved_first
// CHECK-NEXT:  %[[Y:.*]] = "onnx.Gelu"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @halved_first(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kr = onnx.Constant dense<1.4142135> : tensor<f32>
  %ko = onnx.Constant dense<1.0> : tensor<f32>
  %kh = onnx.Constant dense<0.5> : tensor<f32>
  %s = "onnx.Div"(%x, %kr) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %e = "onnx.Erf"(%s) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %p = "onnx.Add"(%e, %ko) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %g = "onnx.Mul"(%x, %kh) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %y = "onnx.Mul"(%p, %g) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Negative: the sum is read by another op too.
// CHECK-LABEL: @read_twice
// CHECK:       onnx.Erf
func.func @read_twice(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kr = onnx.Constant dense<1.4142135> : tensor<f32>
  %ko = onnx.Constant dense<1.0> : tensor<f32>
  %kh = onnx.Constant dense<0.5> : tensor<f32>
  %s = "onnx.Div"(%x, %kr) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %e = "onnx.Erf"(%s) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %p = "onnx.Add"(%e, %ko) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %g = "onnx.Mul"(%x, %p) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %v = "onnx.Mul"(%g, %kh) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %w = "onnx.Neg"(%p) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = "onnx.Sub"(%v, %w) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Negative: the scale is not the root of two.
// CHECK-LABEL: @other_scale
// CHECK:       onnx.Erf
func.func @other_scale(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kr = onnx.Constant dense<1.5> : tensor<f32>
  %ko = onnx.Constant dense<1.0> : tensor<f32>
  %kh = onnx.Constant dense<0.5> : tensor<f32>
  %s = "onnx.Div"(%x, %kr) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %e = "onnx.Erf"(%s) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %p = "onnx.Add"(%e, %ko) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %g = "onnx.Mul"(%x, %p) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = "onnx.Mul"(%g, %kh) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}
