// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="MatMulAdd"}' | filecheck %s

// Positive.
// CHECK-LABEL: @positive
// CHECK-NEXT:  %[[Y:.*]] = "onnx.Gemm"(%a, %b, %c)
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%a: tensor<?x3xf32>, %b: tensor<3x4xf32>, %c: tensor<4xf32>) -> tensor<?x4xf32> {
  %p = "onnx.MatMul"(%a, %b) : (tensor<?x3xf32>, tensor<3x4xf32>) -> tensor<?x4xf32>
  %y = "onnx.Add"(%c, %p) : (tensor<4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  onnx.Return %y : tensor<?x4xf32>
}

// Positive: attributes of a Gemm are kept, but for the factor of the C it had not.
// CHECK-LABEL: @gemm
// CHECK-NEXT:  %{{.*}} = "onnx.Gemm"(%a, %b, %c) <{alpha = 5.000000e-01 : f32, transA = 1 : si64}>
func.func @gemm(%a: tensor<3x2xf32>, %b: tensor<3x4xf32>, %c: tensor<4xf32>) -> tensor<2x4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %p = "onnx.Gemm"(%a, %b, %none) <{alpha = 0.5 : f32, beta = 0.5 : f32, transA = 1 : si64}> : (tensor<3x2xf32>, tensor<3x4xf32>, none) -> tensor<2x4xf32>
  %y = "onnx.Add"(%p, %c) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Negative: the product has batches.
// CHECK-LABEL: @batches
// CHECK:       onnx.MatMul
func.func @batches(%a: tensor<5x2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<4xf32>) -> tensor<5x2x4xf32> {
  %p = "onnx.MatMul"(%a, %b) : (tensor<5x2x3xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>
  %y = "onnx.Add"(%p, %c) : (tensor<5x2x4xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
  onnx.Return %y : tensor<5x2x4xf32>
}

// Negative: one number for all columns.
// CHECK-LABEL: @one_number
// CHECK:       onnx.MatMul
func.func @one_number(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<1xf32>) -> tensor<2x4xf32> {
  %p = "onnx.MatMul"(%a, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %y = "onnx.Add"(%p, %c) : (tensor<2x4xf32>, tensor<1xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}
