// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="ReshapeReshape"}' | filecheck %s

// Positive: the zero copied a dim of the inner result.
// CHECK-LABEL: @zero
// CHECK:       %[[TO:.*]] = onnx.Constant dense<[4, -1]> : tensor<2xi64>
// CHECK-NEXT:  %[[Y:.*]] = "onnx.Reshape"(%x, %[[TO]])
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @zero(%x: tensor<2x12xf32>) -> tensor<4x6xf32> {
  %a = onnx.Constant dense<[4, 3, 2]> : tensor<3xi64>
  %b = onnx.Constant dense<[0, -1]> : tensor<2xi64>
  %c = "onnx.Reshape"(%x, %a) : (tensor<2x12xf32>, tensor<3xi64>) -> tensor<4x3x2xf32>
  %y = "onnx.Reshape"(%c, %b) : (tensor<4x3x2xf32>, tensor<2xi64>) -> tensor<4x6xf32>
  onnx.Return %y : tensor<4x6xf32>
}

// Positive: a dim that is not known is in the same place in front of the inner Reshape.
// CHECK-LABEL: @same_place
// CHECK:       %[[TO:.*]] = onnx.Constant dense<[0, 12]> : tensor<2xi64>
// CHECK-NEXT:  %{{.*}} = "onnx.Reshape"(%x, %[[TO]])
func.func @same_place(%x: tensor<?x12xf32>) -> tensor<?x12xf32> {
  %a = onnx.Constant dense<[0, 3, 4]> : tensor<3xi64>
  %b = onnx.Constant dense<[0, 12]> : tensor<2xi64>
  %c = "onnx.Reshape"(%x, %a) : (tensor<?x12xf32>, tensor<3xi64>) -> tensor<?x3x4xf32>
  %y = "onnx.Reshape"(%c, %b) : (tensor<?x3x4xf32>, tensor<2xi64>) -> tensor<?x12xf32>
  onnx.Return %y : tensor<?x12xf32>
}

// Negative: two dims would have to be inferred.
// CHECK-LABEL: @two_unknown
// CHECK-COUNT-2: onnx.Reshape
func.func @two_unknown(%x: tensor<?x12xf32>) -> tensor<?x4xf32> {
  %a = onnx.Constant dense<[-1, 4]> : tensor<2xi64>
  %b = onnx.Constant dense<[0, -1]> : tensor<2xi64>
  %c = "onnx.Reshape"(%x, %a) : (tensor<?x12xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %y = "onnx.Reshape"(%c, %b) : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  onnx.Return %y : tensor<?x4xf32>
}

// Negative: a computed target may copy dims.
// CHECK-LABEL: @computed
// CHECK-COUNT-2: onnx.Reshape
func.func @computed(%x: tensor<2x12xf32>, %b: tensor<2xi64>) -> tensor<?x?xf32> {
  %a = onnx.Constant dense<[4, 6]> : tensor<2xi64>
  %c = "onnx.Reshape"(%x, %a) : (tensor<2x12xf32>, tensor<2xi64>) -> tensor<4x6xf32>
  %y = "onnx.Reshape"(%c, %b) : (tensor<4x6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  onnx.Return %y : tensor<?x?xf32>
}
