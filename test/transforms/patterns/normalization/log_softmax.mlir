// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="LogSoftmax"}' | filecheck %s

// Positive.
// CHECK-LABEL: @positive
// CHECK-NEXT:  %[[Y:.*]] = "onnx.LogSoftmax"(%x) <{axis = 1 : si64}>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %s = "onnx.Softmax"(%x) <{axis = 1 : si64}> : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %y = "onnx.Log"(%s) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y : tensor<2x3x4xf32>
}

// Negative: the Softmax is a result of its own.
// CHECK-LABEL: @shared
// CHECK:       onnx.Log"
func.func @shared(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %s = "onnx.Softmax"(%x) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %y = "onnx.Log"(%s) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y, %s : tensor<2x3x4xf32>, tensor<2x3x4xf32>
}
