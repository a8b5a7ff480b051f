// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns=BatchNormalizationAdd numerics=tolerance}' | filecheck %s

// Positive: the parameters take over the Add, although something else reads them too.
// CHECK-LABEL: @taken_over
// CHECK-DAG:     %[[S:.*]] = onnx.Constant {{.*}}dense<2.000000e+00> : tensor<2xf32>
// CHECK-DAG:     %[[T:.*]] = onnx.Constant {{.*}}dense<4.000000e+00> : tensor<2xf32>
// CHECK:         %y, {{.*}} = "onnx.BatchNormalization"(%x, %{{.*}}, %[[T]], %m, %v)
// CHECK-NEXT:    onnx.Return %y
func.func @taken_over(%x: tensor<1x2x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>) {
  %s = onnx.Constant dense<2.0> : tensor<2xf32>
  %t = onnx.Constant dense<1.0> : tensor<2xf32>
  %m = onnx.Constant dense<3.0> : tensor<2xf32>
  %v = onnx.Constant dense<4.0> : tensor<2xf32>
  %c, %rm, %rv = "onnx.BatchNormalization"(%x, %s, %t, %m, %v) : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x4x4xf32>, none, none)
  %k = onnx.Constant dense<3.0> : tensor<2x1x1xf32>
  %y = "onnx.Add"(%c, %k) : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  onnx.Return %y, %s, %t : tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>
}

// Negative: a norm of the batch.
// CHECK-LABEL: @training
// CHECK:         onnx.BatchNormalization
// CHECK:         onnx.Add
func.func @training(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %s = onnx.Constant dense<2.0> : tensor<2xf32>
  %t = onnx.Constant dense<1.0> : tensor<2xf32>
  %m = onnx.Constant dense<3.0> : tensor<2xf32>
  %v = onnx.Constant dense<4.0> : tensor<2xf32>
  %c, %rm, %rv = "onnx.BatchNormalization"(%x, %s, %t, %m, %v) <{training_mode = 1 : si64}> : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>)
  %k = onnx.Constant dense<3.0> : tensor<2x1x1xf32>
  %y = "onnx.Add"(%c, %k) : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  onnx.Return %y : tensor<1x2x4x4xf32>
}
