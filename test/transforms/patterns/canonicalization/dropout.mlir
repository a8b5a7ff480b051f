// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="Dropout"}' | filecheck %s

// Positive: inference, the usual form. The input is an argument: the function gives it back.
// CHECK-LABEL: @inference
// CHECK-NOT:   onnx.Dropout
// CHECK:       %[[A:.*]] = "onnx.Abs"(%x)
// CHECK-NEXT:  onnx.Return %[[A]]
func.func @inference(%x: tensor<?xf32>, %ratio: tensor<f32>) -> tensor<?xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0, %1 = "onnx.Dropout"(%x, %ratio, %none) : (tensor<?xf32>, tensor<f32>, none) -> (tensor<?xf32>, none)
  %2 = "onnx.Abs"(%0) : (tensor<?xf32>) -> tensor<?xf32>
  onnx.Return %2 : tensor<?xf32>
}

// Negative: the mask is a result of the function.
// CHECK-LABEL: @mask
// CHECK:       onnx.Dropout
func.func @mask(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0, %1 = "onnx.Dropout"(%x, %none, %none) : (tensor<4xf32>, none, none) -> (tensor<4xf32>, tensor<4xi1>)
  onnx.Return %0, %1 : tensor<4xf32>, tensor<4xi1>
}

// Negative: training.
// CHECK-LABEL: @training
// CHECK:       onnx.Dropout
func.func @training(%x: tensor<4xf32>) -> tensor<4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %t = onnx.Constant dense<true> : tensor<i1>
  %0, %1 = "onnx.Dropout"(%x, %none, %t) : (tensor<4xf32>, none, tensor<i1>) -> (tensor<4xf32>, none)
  onnx.Return %0 : tensor<4xf32>
}
