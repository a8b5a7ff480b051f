// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="Dequantize*,QLinear*" numerics=tolerance fold-added=false}' --split-input-file | filecheck %s

// Positive: bytes are transposed.
// CHECK-LABEL: @transpose
// CHECK:         %[[t:.*]] = "onnx.Transpose"(%x) {{.*}} -> tensor<3x2xui8>
// CHECK-NEXT:    "onnx.DequantizeLinear"(%[[t]], %s, %z) : (tensor<3x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<3x2xf32>
func.func @transpose(%x: tensor<2x3xui8>) -> tensor<3x2xf32> {
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %z = onnx.Constant dense<3> : tensor<ui8>
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<2x3xui8>, tensor<f32>, tensor<ui8>) -> tensor<2x3xf32>
  %1 = "onnx.Transpose"(%0) <{perm = [1, 0]}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  onnx.Return %1 : tensor<3x2xf32>
}

// -----

// Positive: what the integers are made to is what they are.
// CHECK-LABEL: @pool
// CHECK:         %[[p:.*]], %{{.*}} = "onnx.MaxPool"(%x) {{.*}} (tensor<1x2x4x4xui8>)
// CHECK-NOT:     QuantizeLinear
// CHECK:         onnx.Return %[[p]]
func.func @pool(%x: tensor<1x2x4x4xui8>) -> tensor<1x2x2x2xui8> {
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %z = onnx.Constant dense<3> : tensor<ui8>
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<1x2x4x4xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x2x4x4xf32>
  %1, %2 = "onnx.MaxPool"(%0) <{kernel_shape = [2, 2], strides = [2, 2]}> : (tensor<1x2x4x4xf32>) -> (tensor<1x2x2x2xf32>, none)
  %3 = "onnx.QuantizeLinear"(%1, %s, %z) : (tensor<1x2x2x2xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x2x2x2xui8>
  onnx.Return %3 : tensor<1x2x2x2xui8>
}

// -----

// Positive: a quantized product, with a scale per column.
// CHECK-LABEL: @matmul
// CHECK:         %[[a:.*]] = "onnx.DequantizeLinear"(%x, %s, %z)
// CHECK-NEXT:    %[[b:.*]] = "onnx.DequantizeLinear"(%w, %v, %y) <{axis = 1 : si64}>
// CHECK-NEXT:    %[[m:.*]] = "onnx.MatMul"(%[[a]], %[[b]])
// CHECK-NEXT:    "onnx.QuantizeLinear"(%[[m]], %s, %z)
func.func @matmul(%x: tensor<2x3xui8>, %w: tensor<3x2xi8>, %y: tensor<2xi8>) -> tensor<2x2xui8> {
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %v = onnx.Constant dense<[0.5, 0.25]> : tensor<2xf32>
  %z = onnx.Constant dense<3> : tensor<ui8>
  %0 = "onnx.QLinearMatMul"(%x, %s, %z, %w, %v, %y, %s, %z) : (tensor<2x3xui8>, tensor<f32>, tensor<ui8>, tensor<3x2xi8>, tensor<2xf32>, tensor<2xi8>, tensor<f32>, tensor<ui8>) -> tensor<2x2xui8>
  onnx.Return %0 : tensor<2x2xui8>
}

// -----

// Positive: a quantized convolution; the scale of its bias is a product.
// CHECK-LABEL: @conv
// CHECK:         "onnx.DequantizeLinear"(%x, %s, %z)
// CHECK:         "onnx.DequantizeLinear"(%w, %v, %y) <{axis = 0 : si64}>
// CHECK:         %[[c:.*]] = onnx.Constant dense<[2.500000e-01, 1.250000e-01]>
// CHECK:         "onnx.DequantizeLinear"(%b, %[[c]], %{{.*}}) <{axis = 0 : si64}>
// CHECK:         "onnx.Conv"{{.*}}strides = [2 : i64, 2 : i64]
// CHECK:         "onnx.QuantizeLinear"
func.func @conv(%x: tensor<1x3x5x5xui8>, %w: tensor<2x3x3x3xi8>, %y: tensor<2xi8>, %b: tensor<2xi32>) -> tensor<1x2x2x2xui8> {
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %v = onnx.Constant dense<[0.5, 0.25]> : tensor<2xf32>
  %z = onnx.Constant dense<3> : tensor<ui8>
  %0 = "onnx.QLinearConv"(%x, %s, %z, %w, %v, %y, %s, %z, %b) <{strides = [2, 2]}> : (tensor<1x3x5x5xui8>, tensor<f32>, tensor<ui8>, tensor<2x3x3x3xi8>, tensor<2xf32>, tensor<2xi8>, tensor<f32>, tensor<ui8>, tensor<2xi32>) -> tensor<1x2x2x2xui8>
  onnx.Return %0 : tensor<1x2x2x2xui8>
}
