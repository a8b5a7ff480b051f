// RUN: onnxloom-opt %s --load-plugin %S/rms_scale.py -p 'fuse-ops{kinds="demo.rms_scale"}' --split-input-file | filecheck %s

// Positive: the whole chain, with its epsilon as the kind's parameter.
func.func @rms(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %axis = onnx.Constant dense<-1> : tensor<1xi64>
  %eps = onnx.Constant dense<0.5> : tensor<f32>
  %0 = "onnx.Mul"(%x, %x) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = "onnx.ReduceMean"(%0, %axis) : (tensor<?x8xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  %2 = "onnx.Add"(%1, %eps) : (tensor<?x1xf32>, tensor<f32>) -> tensor<?x1xf32>
  %3 = "onnx.Sqrt"(%2) : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %4 = "onnx.Div"(%x, %3) : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  onnx.Return %4 : tensor<?x8xf32>
}
// CHECK-LABEL: @rms
// CHECK-NEXT: "onnx.FusedOp"(%x) <{kind = "demo.rms_scale"}>
// CHECK: {epsilon = 5.000000e-01 : f64}

// -----

// Negative: the root is read outside as well.
func.func @root_is_output(%x: tensor<4x8xf32>) -> (tensor<4x1xf32>, tensor<4x8xf32>) {
  %axis = onnx.Constant dense<-1> : tensor<1xi64>
  %eps = onnx.Constant dense<0.5> : tensor<f32>
  %0 = "onnx.Mul"(%x, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.ReduceMean"(%0, %axis) : (tensor<4x8xf32>, tensor<1xi64>) -> tensor<4x1xf32>
  %2 = "onnx.Add"(%1, %eps) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %3 = "onnx.Sqrt"(%2) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %4 = "onnx.Div"(%x, %3) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  onnx.Return %3, %4 : tensor<4x1xf32>, tensor<4x8xf32>
}
// CHECK-LABEL: @root_is_output
// CHECK-NOT: onnx.FusedOp

// -----

// Negative: the mean is over the first axis.
func.func @other_axis(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %axis = onnx.Constant dense<0> : tensor<1xi64>
  %eps = onnx.Constant dense<0.5> : tensor<f32>
  %0 = "onnx.Mul"(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = "onnx.ReduceMean"(%0, %axis) : (tensor<8x8xf32>, tensor<1xi64>) -> tensor<1x8xf32>
  %2 = "onnx.Add"(%1, %eps) : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %3 = "onnx.Sqrt"(%2) : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %4 = "onnx.Div"(%x, %3) : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  onnx.Return %4 : tensor<8x8xf32>
}
// CHECK-LABEL: @other_axis
// CHECK-NOT: onnx.FusedOp
