// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="SumAdd"}' | filecheck %s

// Positive: two operands, in their order.
// CHECK-LABEL: @two
// CHECK-NEXT:  %[[Y:.*]] = "onnx.Add"(%x, %z) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @two(%x: tensor<2x4xf32>, %z: tensor<4xf32>) -> tensor<2x4xf32> {
  %y = "onnx.Sum"(%x, %z) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Negative: three operands, one operand.
// CHECK-LABEL: @others
// CHECK-NEXT:  "onnx.Sum"(%x, %z, %x)
// CHECK-NEXT:  "onnx.Sum"(%{{.*}})
func.func @others(%x: tensor<2x4xf32>, %z: tensor<4xf32>) -> tensor<2x4xf32> {
  %a = "onnx.Sum"(%x, %z, %x) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = "onnx.Sum"(%a) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}
