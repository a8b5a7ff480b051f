// RUN: onnxloom-opt %s --load-plugin %S/../../../docs/examples/mean_square.py -p fuse-ops --split-input-file | filecheck %s

// Positive: the square is read by the mean alone.
func.func @mean_square(%x: tensor<?x8xf32>) -> tensor<?x1xf32> {
  %axes = onnx.Constant dense<-1> : tensor<1xi64>
  %0 = "onnx.Mul"(%x, %x) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = "onnx.ReduceMean"(%0, %axes) : (tensor<?x8xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  onnx.Return %1 : tensor<?x1xf32>
}
// CHECK-LABEL: @mean_square
// CHECK: "onnx.FusedOp"(%x) <{kind = "example.mean_square"}>
// CHECK: {keepdims = true} : (tensor<?x8xf32>) -> tensor<?x1xf32>

// -----

// Negative: a product of two values.
func.func @two_values(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x1xf32> {
  %axes = onnx.Constant dense<-1> : tensor<1xi64>
  %0 = "onnx.Mul"(%x, %y) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = "onnx.ReduceMean"(%0, %axes) : (tensor<?x8xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  onnx.Return %1 : tensor<?x1xf32>
}
// CHECK-LABEL: @two_values
// CHECK-NOT: example.mean_square

// -----

// Negative: the squares themselves are a result, so they must be stored anyway.
func.func @read_twice(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x1xf32>) {
  %axes = onnx.Constant dense<-1> : tensor<1xi64>
  %0 = "onnx.Mul"(%x, %x) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = "onnx.ReduceMean"(%0, %axes) : (tensor<?x8xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  onnx.Return %0, %1 : tensor<?x8xf32>, tensor<?x1xf32>
}
// CHECK-LABEL: @read_twice
// CHECK-NOT: example.mean_square

// -----

// Negative: another axis.
func.func @first_axis(%x: tensor<?x8xf32>) -> tensor<1x8xf32> {
  %axes = onnx.Constant dense<0> : tensor<1xi64>
  %0 = "onnx.Mul"(%x, %x) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = "onnx.ReduceMean"(%0, %axes) : (tensor<?x8xf32>, tensor<1xi64>) -> tensor<1x8xf32>
  onnx.Return %1 : tensor<1x8xf32>
}
// CHECK-LABEL: @first_axis
// CHECK-NOT: example.mean_square
