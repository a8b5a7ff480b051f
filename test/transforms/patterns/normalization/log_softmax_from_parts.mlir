// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="LogSoftmaxFromParts"}' | filecheck %s

// Positive.
// CHECK-LABEL: @positive
// CHECK-NEXT:  %[[Y:.*]] = "onnx.LogSoftmax"(%x) <{axis = 2 : si64}>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %ax = onnx.Constant dense<-1> : tensor<1xi64>
  %m = "onnx.ReduceMax"(%x, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %d = "onnx.Sub"(%x, %m) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %e = "onnx.Exp"(%d) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %s = "onnx.ReduceSum"(%e, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %l = "onnx.Log"(%s) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %y = "onnx.Sub"(%d, %l) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y : tensor<2x3x4xf32>
}

// Positive: the reduction that does it all.
// CHECK-LABEL: @short
// CHECK-NEXT:  %[[Y:.*]] = "onnx.LogSoftmax"(%x) <{axis = 1 : si64}>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @short(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %ax = onnx.Constant dense<1> : tensor<1xi64>
  %l = "onnx.ReduceLogSumExp"(%x, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
  %y = "onnx.Sub"(%x, %l) : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y : tensor<2x3x4xf32>
}

// Negative: the sum is a result of its own.
// CHECK-LABEL: @shared
// CHECK-NOT:   onnx.LogSoftmax
// CHECK:       onnx.Log"
func.func @shared(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x1xf32>) {
  %ax = onnx.Constant dense<-1> : tensor<1xi64>
  %m = "onnx.ReduceMax"(%x, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %d = "onnx.Sub"(%x, %m) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %e = "onnx.Exp"(%d) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %s = "onnx.ReduceSum"(%e, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %l = "onnx.Log"(%s) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %y = "onnx.Sub"(%d, %l) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y, %s : tensor<2x3x4xf32>, tensor<2x3x1xf32>
}
