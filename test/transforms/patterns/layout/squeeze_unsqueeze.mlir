// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns=SqueezeUnsqueeze}' | filecheck %s

// Positive: what is inserted is removed again, with an op between in the text.
// CHECK-LABEL: @cancelled
// CHECK-NOT:     queeze
// CHECK:         onnx.Return %x
func.func @cancelled(%x: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<?x3xf32>) {
  %a = onnx.Constant dense<[1]> : tensor<1xi64>
  %b = onnx.Constant dense<[-2]> : tensor<1xi64>
  %0 = "onnx.Unsqueeze"(%x, %a) : (tensor<?x3xf32>, tensor<1xi64>) -> tensor<?x1x3xf32>
  %n = "onnx.Neg"(%x) : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %1 = "onnx.Squeeze"(%0, %b) : (tensor<?x1x3xf32>, tensor<1xi64>) -> tensor<?x3xf32>
  onnx.Return %1, %n : tensor<?x3xf32>, tensor<?x3xf32>
}

// Positive: an axis less to remove.
// CHECK-LABEL: @one_op
// CHECK:         %[[AXES:.*]] = onnx.Constant {{.*}}dense<2>
// CHECK-NEXT:    "onnx.Squeeze"(%x, %[[AXES]]) : (tensor<1x3x1xf32>, tensor<1xi64>) -> tensor<1x3xf32>
func.func @one_op(%x: tensor<1x3x1xf32>) -> tensor<1x3xf32> {
  %a = onnx.Constant dense<[0, 2]> : tensor<2xi64>
  %b = onnx.Constant dense<[0]> : tensor<1xi64>
  %0 = "onnx.Squeeze"(%x, %a) : (tensor<1x3x1xf32>, tensor<2xi64>) -> tensor<3xf32>
  %1 = "onnx.Unsqueeze"(%0, %b) : (tensor<3xf32>, tensor<1xi64>) -> tensor<1x3xf32>
  onnx.Return %1 : tensor<1x3xf32>
}

// Negative: the one moves behind the three, which neither op does alone.
// CHECK-LABEL: @moved
// CHECK:         onnx.Squeeze
// CHECK-NEXT:    onnx.Unsqueeze
func.func @moved(%x: tensor<1x3xf32>) -> tensor<3x1xf32> {
  %a = onnx.Constant dense<[0]> : tensor<1xi64>
  %b = onnx.Constant dense<[1]> : tensor<1xi64>
  %0 = "onnx.Squeeze"(%x, %a) : (tensor<1x3xf32>, tensor<1xi64>) -> tensor<3xf32>
  %1 = "onnx.Unsqueeze"(%0, %b) : (tensor<3xf32>, tensor<1xi64>) -> tensor<3x1xf32>
  onnx.Return %1 : tensor<3x1xf32>
}
