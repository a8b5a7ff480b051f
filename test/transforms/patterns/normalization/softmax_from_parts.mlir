// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="SoftmaxFromParts"}' | filecheck %s

// Positive.
// CHECK-LABEL: @positive
// CHECK-NEXT:  %[[Y:.*]] = "onnx.Softmax"(%x) <{axis = 2 : si64}>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %ax = onnx.Constant dense<-1> : tensor<1xi64>
  %m = "onnx.ReduceMax"(%x, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %d = "onnx.Sub"(%x, %m) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %e = "onnx.Exp"(%d) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %s = "onnx.ReduceSum"(%e, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %y = "onnx.Div"(%e, %s) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y : tensor<2x3x4xf32>
}

// Positive: what is shifted is a result of its own.
// CHECK-LABEL: @shifted
// CHECK:       %[[D:.*]] = "onnx.Sub"
// CHECK-NEXT:  %{{.*}} = "onnx.Softmax"(%[[D]])
func.func @shifted(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %ax = onnx.Constant dense<-1> : tensor<1xi64>
  %m = "onnx.ReduceMax"(%x, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %d = "onnx.Sub"(%x, %m) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %e = "onnx.Exp"(%d) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %s = "onnx.ReduceSum"(%e, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %y = "onnx.Div"(%e, %s) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y, %d : tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// Negative: the exponentials are a result of their own.
// CHECK-LABEL: @shared
// CHECK-NOT:   onnx.Softmax
// CHECK:       onnx.Div
func.func @shared(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %ax = onnx.Constant dense<-1> : tensor<1xi64>
  %m = "onnx.ReduceMax"(%x, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %d = "onnx.Sub"(%x, %m) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %e = "onnx.Exp"(%d) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %s = "onnx.ReduceSum"(%e, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %y = "onnx.Div"(%e, %s) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y, %e : tensor<2x3x4xf32>, tensor<2x3x4xf32>
}
