// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="LeakyRelu"}' | filecheck %s

// Positive.
// CHECK-LABEL: @greater
// CHECK-NEXT:  %[[Y:.*]] = "onnx.LeakyRelu"(%x) <{alpha = 1.000000e-01 : f32}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @greater(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kz = onnx.Constant dense<0.0> : tensor<f32>
  %ks = onnx.Constant dense<0.1> : tensor<f32>
  %c = "onnx.Greater"(%x, %kz) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi1>
  %m = "onnx.Mul"(%x, %ks) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %y = "onnx.Where"(%c, %x, %m) : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Positive: the branches are the other way round.
// CHECK-LABEL: @less
// CHECK-NEXT:  %[[Y:.*]] = "onnx.LeakyRelu"(%x) <{alpha = 1.000000e-01 : f32}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @less(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kz = onnx.Constant dense<0.0> : tensor<f32>
  %ks = onnx.Constant dense<0.1> : tensor<f32>
  %c = "onnx.Less"(%x, %kz) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi1>
  %m = "onnx.Mul"(%ks, %x) : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = "onnx.Where"(%c, %m, %x) : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Negative: another threshold.
// CHECK-LABEL: @threshold
// CHECK:       onnx.Where
func.func @threshold(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kz = onnx.Constant dense<1.0> : tensor<f32>
  %ks = onnx.Constant dense<0.1> : tensor<f32>
  %c = "onnx.Greater"(%x, %kz) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi1>
  %m = "onnx.Mul"(%x, %ks) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %y = "onnx.Where"(%c, %x, %m) : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Negative: a negative slope turns the sign of zero.
// CHECK-LABEL: @negative_slope
// CHECK:       onnx.Where
func.func @negative_slope(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %kz = onnx.Constant dense<0.0> : tensor<f32>
  %ks = onnx.Constant dense<-0.1> : tensor<f32>
  %c = "onnx.Greater"(%x, %kz) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi1>
  %m = "onnx.Mul"(%x, %ks) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %y = "onnx.Where"(%c, %x, %m) : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}
