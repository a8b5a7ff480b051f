// RUN: onnxloom-opt %s -p private-dequantize --split-input-file | filecheck %s

// Positive: each reader has its own, right in front of it; one op that reads it twice reads one.
func.func @two(%x: tensor<4xui8>, %s: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.DequantizeLinear"(%x, %s, %none) : (tensor<4xui8>, tensor<f32>, none) -> tensor<4xf32>
  %1 = "onnx.Relu"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "onnx.Mul"(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: @two
// CHECK: "onnx.DequantizeLinear"(%x
// CHECK: "onnx.DequantizeLinear"(%x
// CHECK: "onnx.Mul"(%[[a:.*]], %[[a]])
// CHECK-NOT: "onnx.DequantizeLinear"

// -----

// Negative: one op reads it; the function returns it besides, and so it has to be there anyway.
func.func @returned(%x: tensor<4xui8>, %s: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.DequantizeLinear"(%x, %s, %none) : (tensor<4xui8>, tensor<f32>, none) -> tensor<4xf32>
  %1 = "onnx.Relu"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %1, %0 : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: @returned
// CHECK: "onnx.DequantizeLinear"
// CHECK-NOT: "onnx.DequantizeLinear"
