// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="InstanceNormalization"}' | filecheck %s

// Positive.
// CHECK-LABEL: @positive
// CHECK-DAG:   %[[S:.*]] = onnx.Constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]>
// CHECK-DAG:   %[[B:.*]] = onnx.Constant dense<[3.000000e+00, 2.000000e+00, 1.000000e+00]>
// CHECK:       %[[Y:.*]] = "onnx.InstanceNormalization"(%x, %[[S]], %[[B]]) <{epsilon = 5.000000e-01 : f32}>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32> {
  %ax = onnx.Constant dense<[2, 3]> : tensor<2xi64>
  %eps = onnx.Constant dense<0.5> : tensor<f32>
  %g = onnx.Constant dense<[[[1.0]], [[2.0]], [[3.0]]]> : tensor<3x1x1xf32>
  %b = onnx.Constant dense<[[[3.0]], [[2.0]], [[1.0]]]> : tensor<3x1x1xf32>
  %mean = "onnx.ReduceMean"(%x, %ax) : (tensor<2x3x4x5xf32>, tensor<2xi64>) -> tensor<2x3x1x1xf32>
  %d = "onnx.Sub"(%x, %mean) : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %sq = "onnx.Mul"(%d, %d) : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %v = "onnx.ReduceMean"(%sq, %ax) : (tensor<2x3x4x5xf32>, tensor<2xi64>) -> tensor<2x3x1x1xf32>
  %ve = "onnx.Add"(%v, %eps) : (tensor<2x3x1x1xf32>, tensor<f32>) -> tensor<2x3x1x1xf32>
  %root = "onnx.Sqrt"(%ve) : (tensor<2x3x1x1xf32>) -> tensor<2x3x1x1xf32>
  %n = "onnx.Div"(%d, %root) : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %k = "onnx.Mul"(%n, %g) : (tensor<2x3x4x5xf32>, tensor<3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %y = "onnx.Add"(%k, %b) : (tensor<2x3x4x5xf32>, tensor<3x1x1xf32>) -> tensor<2x3x4x5xf32>
  onnx.Return %y : tensor<2x3x4x5xf32>
}

// Negative: without a scale per channel it is a LayerNormalization.
// CHECK-LABEL: @no_scale
// CHECK-NOT:   onnx.InstanceNormalization
// CHECK:       onnx.Div
func.func @no_scale(%x: tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32> {
  %ax = onnx.Constant dense<[2, 3]> : tensor<2xi64>
  %eps = onnx.Constant dense<0.5> : tensor<f32>
  %g = onnx.Constant dense<[[[1.0]], [[2.0]], [[3.0]]]> : tensor<3x1x1xf32>
  %b = onnx.Constant dense<[[[3.0]], [[2.0]], [[1.0]]]> : tensor<3x1x1xf32>
  %mean = "onnx.ReduceMean"(%x, %ax) : (tensor<2x3x4x5xf32>, tensor<2xi64>) -> tensor<2x3x1x1xf32>
  %d = "onnx.Sub"(%x, %mean) : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %sq = "onnx.Mul"(%d, %d) : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %v = "onnx.ReduceMean"(%sq, %ax) : (tensor<2x3x4x5xf32>, tensor<2xi64>) -> tensor<2x3x1x1xf32>
  %ve = "onnx.Add"(%v, %eps) : (tensor<2x3x1x1xf32>, tensor<f32>) -> tensor<2x3x1x1xf32>
  %root = "onnx.Sqrt"(%ve) : (tensor<2x3x1x1xf32>) -> tensor<2x3x1x1xf32>
  %n = "onnx.Div"(%d, %root) : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>) -> tensor<2x3x4x5xf32>
  onnx.Return %n : tensor<2x3x4x5xf32>
}
