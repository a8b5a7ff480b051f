// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="LayerNormalizationDistributed"}' | filecheck %s

// Positive: the way Keras is exported.
// CHECK-LABEL: @positive
// CHECK:       %[[Y:.*]], %{{.*}}, %{{.*}} = "onnx.LayerNormalization"(%x, %g, %b) <{axis = -1 : si64, epsilon = 5.000000e-01 : f32}>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x3x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %ax = onnx.Constant dense<-1> : tensor<1xi64>
  %eps = onnx.Constant dense<0.5> : tensor<f32>
  %mean = "onnx.ReduceMean"(%x, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %d = "onnx.Sub"(%x, %mean) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %sq = "onnx.Mul"(%d, %d) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %v = "onnx.ReduceMean"(%sq, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %ve = "onnx.Add"(%v, %eps) : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %root = "onnx.Sqrt"(%ve) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %r = "onnx.Reciprocal"(%root) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %f = "onnx.Mul"(%r, %g) : (tensor<2x3x1xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %xf = "onnx.Mul"(%x, %f) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %mf = "onnx.Mul"(%mean, %f) : (tensor<2x3x1xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %t = "onnx.Sub"(%b, %mf) : (tensor<4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %y = "onnx.Add"(%xf, %t) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y : tensor<2x3x4xf32>
}

// Negative: the scaled mean is subtracted from something that is no bias.
// CHECK-LABEL: @no_bias
// CHECK-NOT:   onnx.LayerNormalization
// CHECK:       onnx.Add
func.func @no_bias(%x: tensor<2x3x4xf32>, %g: tensor<4xf32>, %b: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %ax = onnx.Constant dense<-1> : tensor<1xi64>
  %eps = onnx.Constant dense<0.5> : tensor<f32>
  %mean = "onnx.ReduceMean"(%x, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %d = "onnx.Sub"(%x, %mean) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %sq = "onnx.Mul"(%d, %d) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %v = "onnx.ReduceMean"(%sq, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %ve = "onnx.Add"(%v, %eps) : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %root = "onnx.Sqrt"(%ve) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %r = "onnx.Reciprocal"(%root) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %f = "onnx.Mul"(%r, %g) : (tensor<2x3x1xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %xf = "onnx.Mul"(%x, %f) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %mf = "onnx.Mul"(%mean, %f) : (tensor<2x3x1xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %t = "onnx.Sub"(%b, %mf) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %y = "onnx.Add"(%xf, %t) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y : tensor<2x3x4xf32>
}
