// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="Identity"}' | filecheck %s

// Positive: one of each kind in a row.
// CHECK-LABEL: @all
// CHECK-NEXT:  onnx.Return %x
func.func @all(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = onnx.Constant dense<-0.0> : tensor<f32>
  %one = onnx.Constant dense<1.0> : tensor<3xf32>
  %shape = onnx.Constant dense<0> : tensor<2xi64>
  %starts = onnx.Constant dense<0> : tensor<1xi64>
  %ends = onnx.Constant dense<9223372036854775807> : tensor<1xi64>
  %ones = onnx.Constant dense<1> : tensor<1xi64>
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Add"(%zero, %x) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = "onnx.Mul"(%0, %one) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = "onnx.Reshape"(%1, %shape) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %3 = "onnx.Slice"(%2, %starts, %ends, %starts, %none) : (tensor<2x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<2x3xf32>
  %4 = "onnx.Transpose"(%3) <{perm = [0, 1]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = "onnx.Expand"(%4, %ones) : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<2x3xf32>
  %6 = "onnx.Cast"(%5) <{to = 1 : si64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return %6 : tensor<2x3xf32>
}

// Negative: a constant of shape [1] gives a scalar a dim.
// CHECK-LABEL: @rank
// CHECK:       onnx.Add
func.func @rank(%x: tensor<f32>) -> tensor<1xf32> {
  %zero = onnx.Constant dense<-0.0> : tensor<1xf32>
  %0 = "onnx.Add"(%x, %zero) : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32>
  onnx.Return %0 : tensor<1xf32>
}
