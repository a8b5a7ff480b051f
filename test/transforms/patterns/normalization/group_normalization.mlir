// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="GroupNormalization"}' | filecheck %s

// Positive: the way PyTorch is exported before opset 21.
// CHECK-LABEL: @positive
// CHECK-DAG:   %[[S:.*]] = onnx.Constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
// CHECK-DAG:   %[[B:.*]] = onnx.Constant dense<0.000000e+00> : tensor<4xf32>
// CHECK:       %[[Y:.*]] = "onnx.GroupNormalization"(%x, %[[S]], %[[B]]) <{epsilon = 5.000000e-01 : f32, num_groups = 2 : si64}>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32> {
  %ones = onnx.Constant dense<1.0> : tensor<2xf32>
  %zeros = onnx.Constant dense<0.0> : tensor<2xf32>
  %to = onnx.Constant dense<[0, 2, -1]> : tensor<3xi64>
  %back = onnx.Constant dense<[2, 4, 3, 5]> : tensor<4xi64>
  %s = onnx.Constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>
  %g = "onnx.Reshape"(%x, %to) : (tensor<2x4x3x5xf32>, tensor<3xi64>) -> tensor<2x2x30xf32>
  %n = "onnx.InstanceNormalization"(%g, %ones, %zeros) <{epsilon = 0.5 : f32}> : (tensor<2x2x30xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x30xf32>
  %u = "onnx.Reshape"(%n, %back) : (tensor<2x2x30xf32>, tensor<4xi64>) -> tensor<2x4x3x5xf32>
  %y = "onnx.Mul"(%u, %s) : (tensor<2x4x3x5xf32>, tensor<4x1x1xf32>) -> tensor<2x4x3x5xf32>
  onnx.Return %y : tensor<2x4x3x5xf32>
}

// Negative: the groups are scaled.
// CHECK-LABEL: @scaled
// CHECK-NOT:   onnx.GroupNormalization
// CHECK:       onnx.InstanceNormalization
func.func @scaled(%x: tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32> {
  %ones = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
  %zeros = onnx.Constant dense<0.0> : tensor<2xf32>
  %to = onnx.Constant dense<[0, 2, -1]> : tensor<3xi64>
  %back = onnx.Constant dense<[2, 4, 3, 5]> : tensor<4xi64>
  %s = onnx.Constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>
  %g = "onnx.Reshape"(%x, %to) : (tensor<2x4x3x5xf32>, tensor<3xi64>) -> tensor<2x2x30xf32>
  %n = "onnx.InstanceNormalization"(%g, %ones, %zeros) <{epsilon = 0.5 : f32}> : (tensor<2x2x30xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x30xf32>
  %u = "onnx.Reshape"(%n, %back) : (tensor<2x2x30xf32>, tensor<4xi64>) -> tensor<2x4x3x5xf32>
  onnx.Return %u : tensor<2x4x3x5xf32>
}
