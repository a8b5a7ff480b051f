// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="RMSNormalization"}' | filecheck %s

// Positive.
// CHECK-LABEL: @positive
// CHECK:       %[[ONES:.*]] = onnx.Constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT:  %[[Y:.*]] = "onnx.RMSNormalization"(%x, %[[ONES]]) <{axis = -1 : si64, epsilon = 5.000000e-01 : f32}>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %ax = onnx.Constant dense<-1> : tensor<1xi64>
  %eps = onnx.Constant dense<0.5> : tensor<f32>
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %sq = "onnx.Pow"(%x, %two) : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  %v = "onnx.ReduceMean"(%sq, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %ve = "onnx.Add"(%v, %eps) : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %root = "onnx.Sqrt"(%ve) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %r = "onnx.Reciprocal"(%root) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %y = "onnx.Mul"(%x, %r) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y : tensor<2x3x4xf32>
}

// Positive: the op widens by itself.
// CHECK-LABEL: @casts
// CHECK-NOT:   onnx.Cast
// CHECK:       %[[Y:.*]] = "onnx.RMSNormalization"(%h, %{{.*}}) {{.*}} : (tensor<2x3x4xf16>, tensor<4xf16>)
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @casts(%h: tensor<2x3x4xf16>) -> tensor<2x3x4xf16> {
  %x = "onnx.Cast"(%h) <{to = 1 : si64}> : (tensor<2x3x4xf16>) -> tensor<2x3x4xf32>
  %ax = onnx.Constant dense<-1> : tensor<1xi64>
  %eps = onnx.Constant dense<0.5> : tensor<f32>
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %sq = "onnx.Pow"(%x, %two) : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  %v = "onnx.ReduceMean"(%sq, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %ve = "onnx.Add"(%v, %eps) : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %root = "onnx.Sqrt"(%ve) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %r = "onnx.Reciprocal"(%root) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %y = "onnx.Mul"(%x, %r) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %z = "onnx.Cast"(%y) <{to = 10 : si64}> : (tensor<2x3x4xf32>) -> tensor<2x3x4xf16>
  onnx.Return %z : tensor<2x3x4xf16>
}

// Negative: the op normalizes all axes from one to the last.
// CHECK-LABEL: @middle_axis
// CHECK-NOT:   onnx.RMSNormalization
// CHECK:       onnx.Mul
func.func @middle_axis(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %ax = onnx.Constant dense<1> : tensor<1xi64>
  %eps = onnx.Constant dense<0.5> : tensor<f32>
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %sq = "onnx.Pow"(%x, %two) : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  %v = "onnx.ReduceMean"(%sq, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
  %ve = "onnx.Add"(%v, %eps) : (tensor<2x1x4xf32>, tensor<f32>) -> tensor<2x1x4xf32>
  %root = "onnx.Sqrt"(%ve) : (tensor<2x1x4xf32>) -> tensor<2x1x4xf32>
  %r = "onnx.Reciprocal"(%root) : (tensor<2x1x4xf32>) -> tensor<2x1x4xf32>
  %y = "onnx.Mul"(%x, %r) : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y : tensor<2x3x4xf32>
}

// Negative: the reciprocal is a result of its own.
// CHECK-LABEL: @shared
// CHECK-NOT:   onnx.RMSNormalization
// CHECK:       onnx.Mul
func.func @shared(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x1xf32>) {
  %ax = onnx.Constant dense<-1> : tensor<1xi64>
  %eps = onnx.Constant dense<0.5> : tensor<f32>
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %sq = "onnx.Pow"(%x, %two) : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  %v = "onnx.ReduceMean"(%sq, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %ve = "onnx.Add"(%v, %eps) : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %root = "onnx.Sqrt"(%ve) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %r = "onnx.Reciprocal"(%root) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %y = "onnx.Mul"(%x, %r) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y, %r : tensor<2x3x4xf32>, tensor<2x3x1xf32>
}
