// RUN: onnxloom-opt %s -p 'fuse-ops{kinds="onnx.quantized_chain"}' --split-input-file | filecheck %s

// Positive: dequantized factors, an activation, and a quantization.
func.func @matmul(%x: tensor<4x8xui8>, %w: tensor<8x16xi8>, %s: tensor<f32>, %z: tensor<ui8>, %v: tensor<16xf32>) -> tensor<4x16xui8> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<4x8xui8>, tensor<f32>, tensor<ui8>) -> tensor<4x8xf32>
  %1 = "onnx.DequantizeLinear"(%w, %v, %none) {axis = 1 : si64} : (tensor<8x16xi8>, tensor<16xf32>, none) -> tensor<8x16xf32>
  %2 = "onnx.MatMul"(%0, %1) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %3 = "onnx.Relu"(%2) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %4 = "onnx.QuantizeLinear"(%3, %s, %z) : (tensor<4x16xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x16xui8>
  onnx.Return %4 : tensor<4x16xui8>
}
// CHECK-LABEL: @matmul
// CHECK-NEXT: %[[r:.*]] = "onnx.FusedOp"(%x, %s, %z, %w, %v) <{kind = "onnx.quantized_chain"}>
// CHECK: "onnx.DequantizeLinear"
// CHECK-NEXT: "onnx.DequantizeLinear"
// CHECK-NEXT: "onnx.MatMul"
// CHECK-NEXT: "onnx.Relu"
// CHECK-NEXT: "onnx.QuantizeLinear"
// CHECK-NEXT: "onnx.Yield"
// CHECK-NEXT: {op_count = 5 : si64}
// CHECK-NEXT: onnx.Return %[[r]]

// -----

// Positive: the dequantization of a residual joins along with the Add that reads it; the chain does not end
// with the dequantization of its own result.
func.func @residual(%x: tensor<4x8xui8>, %y: tensor<4x8xui8>, %w: tensor<8x8xi8>, %s: tensor<f32>, %z: tensor<ui8>) -> tensor<4x8xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<4x8xui8>, tensor<f32>, tensor<ui8>) -> tensor<4x8xf32>
  %1 = "onnx.DequantizeLinear"(%w, %s, %none) : (tensor<8x8xi8>, tensor<f32>, none) -> tensor<8x8xf32>
  %2 = "onnx.MatMul"(%0, %1) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = "onnx.DequantizeLinear"(%y, %s, %z) : (tensor<4x8xui8>, tensor<f32>, tensor<ui8>) -> tensor<4x8xf32>
  %4 = "onnx.Add"(%2, %3) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = "onnx.QuantizeLinear"(%4, %s, %z) : (tensor<4x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x8xui8>
  %6 = "onnx.DequantizeLinear"(%5, %s, %z) : (tensor<4x8xui8>, tensor<f32>, tensor<ui8>) -> tensor<4x8xf32>
  %7 = "onnx.Softmax"(%6) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %7 : tensor<4x8xf32>
}
// CHECK-LABEL: @residual
// CHECK: "onnx.FusedOp"(%x, %s, %z, %w, %y)
// CHECK: "onnx.MatMul"
// CHECK-NEXT: "onnx.DequantizeLinear"
// CHECK-NEXT: "onnx.Add"
// CHECK-NEXT: "onnx.QuantizeLinear"
// CHECK-NEXT: "onnx.Yield"
// CHECK-NEXT: {op_count = 6 : si64}
// CHECK-NEXT: "onnx.DequantizeLinear"
// CHECK-NEXT: "onnx.Softmax"

// -----

// Positive: a channels-last convolution, with a bias whose scale is the product of the others: three
// dequantizations, two Transposes.
func.func @channels_last(%x: tensor<1x5x5x4xui8>, %w: tensor<6x4x3x3xi8>, %b: tensor<6xi32>) -> tensor<1x3x3x6xui8> {
  %none = "onnx.NoValue"() {value} : () -> none
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %v = onnx.Constant dense<0.25> : tensor<f32>
  %z = onnx.Constant dense<3> : tensor<ui8>
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<1x5x5x4xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x5x5x4xf32>
  %1 = "onnx.DequantizeLinear"(%w, %s, %none) : (tensor<6x4x3x3xi8>, tensor<f32>, none) -> tensor<6x4x3x3xf32>
  %2 = "onnx.DequantizeLinear"(%b, %v, %none) : (tensor<6xi32>, tensor<f32>, none) -> tensor<6xf32>
  %3 = "onnx.Transpose"(%0) <{perm = [0, 3, 1, 2]}> : (tensor<1x5x5x4xf32>) -> tensor<1x4x5x5xf32>
  %4 = "onnx.Conv"(%3, %1, %2) : (tensor<1x4x5x5xf32>, tensor<6x4x3x3xf32>, tensor<6xf32>) -> tensor<1x6x3x3xf32>
  %5 = "onnx.Transpose"(%4) <{perm = [0, 2, 3, 1]}> : (tensor<1x6x3x3xf32>) -> tensor<1x3x3x6xf32>
  %6 = "onnx.QuantizeLinear"(%5, %s, %z) : (tensor<1x3x3x6xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x3x3x6xui8>
  onnx.Return %6 : tensor<1x3x3x6xui8>
}
// CHECK-LABEL: @channels_last
// CHECK-NEXT: "onnx.FusedOp"(%x, %w, %b)
// CHECK: op_count = 7 : si64
// CHECK-NEXT: onnx.Return

// -----

// Positive: a product of integers with what makes floats of it. Alone it is none of this kind.
func.func @integers(%x: tensor<?x8xui8>, %w: tensor<8x16xi8>, %s: tensor<f32>) -> (tensor<?x16xf32>, tensor<?x16xi32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.MatMulInteger"(%x, %w, %none, %none) : (tensor<?x8xui8>, tensor<8x16xi8>, none, none) -> tensor<?x16xi32>
  %1 = "onnx.Cast"(%0) <{to = f32}> : (tensor<?x16xi32>) -> tensor<?x16xf32>
  %2 = "onnx.Mul"(%1, %s) : (tensor<?x16xf32>, tensor<f32>) -> tensor<?x16xf32>
  %3 = "onnx.MatMulInteger"(%x, %w, %none, %none) : (tensor<?x8xui8>, tensor<8x16xi8>, none, none) -> tensor<?x16xi32>
  onnx.Return %2, %3 : tensor<?x16xf32>, tensor<?x16xi32>
}
// CHECK-LABEL: @integers
// CHECK: "onnx.FusedOp"(%x, %w, %s)
// CHECK: op_count = 3 : si64
// CHECK: "onnx.MatMulInteger"
// CHECK-NOT: onnx.FusedOp

// -----

// Negative: of the dequantization of a factor something else reads the floats.
func.func @shared(%x: tensor<4x8xui8>, %w: tensor<8x16xi8>, %s: tensor<f32>) -> (tensor<4x16xf32>, tensor<4x8xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.DequantizeLinear"(%x, %s, %none) : (tensor<4x8xui8>, tensor<f32>, none) -> tensor<4x8xf32>
  %1 = "onnx.DequantizeLinear"(%w, %s, %none) : (tensor<8x16xi8>, tensor<f32>, none) -> tensor<8x16xf32>
  %2 = "onnx.MatMul"(%0, %1) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  onnx.Return %2, %0 : tensor<4x16xf32>, tensor<4x8xf32>
}
// CHECK-LABEL: @shared
// CHECK-NOT: onnx.FusedOp
