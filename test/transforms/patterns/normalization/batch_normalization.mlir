// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="BatchNormalization"}' | filecheck %s

// Positive.
// CHECK-LABEL: @positive
// CHECK-NOT:   onnx.BatchNormalization
// CHECK:       "onnx.Exp"(%x)
func.func @positive(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %one = onnx.Constant dense<1.0> : tensor<3xf32>
  %zero = onnx.Constant dense<0.0> : tensor<3xf32>
  %n, %rm, %rv = "onnx.BatchNormalization"(%x, %one, %zero, %zero, %one) <{epsilon = 0.0 : f32}> : (tensor<?x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<?x3xf32>, none, none)
  %y = "onnx.Exp"(%n) : (tensor<?x3xf32>) -> tensor<?x3xf32>
  onnx.Return %y : tensor<?x3xf32>
}

// Negative: epsilon makes the values smaller.
// CHECK-LABEL: @epsilon
// CHECK:       onnx.BatchNormalization
func.func @epsilon(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %one = onnx.Constant dense<1.0> : tensor<3xf32>
  %zero = onnx.Constant dense<0.0> : tensor<3xf32>
  %n, %rm, %rv = "onnx.BatchNormalization"(%x, %one, %zero, %zero, %one) : (tensor<?x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<?x3xf32>, none, none)
  onnx.Return %n : tensor<?x3xf32>
}
