// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="LayerNormalization"}' | filecheck %s

// Positive: the ones have the size of the last axis.
// CHECK-LABEL: @positive
// CHECK-DAG:   %[[ONES:.*]] = onnx.Constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-DAG:   %[[NONE:.*]] = "onnx.NoValue"
// CHECK:       %[[Y:.*]], %{{.*}}, %{{.*}} = "onnx.LayerNormalization"(%x, %[[ONES]], %[[NONE]]) <{axis = -1 : si64, epsilon = 5.000000e-01 : f32}>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %ax = onnx.Constant dense<-1> : tensor<1xi64>
  %eps = onnx.Constant dense<0.5> : tensor<f32>
  %mean = "onnx.ReduceMean"(%x, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %d = "onnx.Sub"(%x, %mean) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %sq = "onnx.Mul"(%d, %d) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %v = "onnx.ReduceMean"(%sq, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %ve = "onnx.Add"(%v, %eps) : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %root = "onnx.Sqrt"(%ve) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %y = "onnx.Div"(%d, %root) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y : tensor<2x3x4xf32>
}

// Positive: a size that is not known is asked for when the model runs.
// CHECK-LABEL: @unknown
// CHECK:       %[[SHAPE:.*]] = "onnx.Shape"(%x) <{start = -1 : si64}>
// CHECK-NEXT:  %[[ONES:.*]] = "onnx.ConstantOfShape"(%[[SHAPE]])
// CHECK:       "onnx.LayerNormalization"(%x, %[[ONES]]
func.func @unknown(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %ax = onnx.Constant dense<-1> : tensor<1xi64>
  %eps = onnx.Constant dense<0.5> : tensor<f32>
  %mean = "onnx.ReduceMean"(%x, %ax) : (tensor<?x?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  %d = "onnx.Sub"(%x, %mean) : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
  %sq = "onnx.Mul"(%d, %d) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %v = "onnx.ReduceMean"(%sq, %ax) : (tensor<?x?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  %ve = "onnx.Add"(%v, %eps) : (tensor<?x1xf32>, tensor<f32>) -> tensor<?x1xf32>
  %root = "onnx.Sqrt"(%ve) : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %y = "onnx.Div"(%d, %root) : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
  onnx.Return %y : tensor<?x?xf32>
}

// Negative: the centered value is a result of its own.
// CHECK-LABEL: @shared
// CHECK-NOT:   onnx.LayerNormalization
// CHECK:       onnx.Div
func.func @shared(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %ax = onnx.Constant dense<-1> : tensor<1xi64>
  %eps = onnx.Constant dense<0.5> : tensor<f32>
  %mean = "onnx.ReduceMean"(%x, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %d = "onnx.Sub"(%x, %mean) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %sq = "onnx.Mul"(%d, %d) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %v = "onnx.ReduceMean"(%sq, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3x1xf32>
  %ve = "onnx.Add"(%v, %eps) : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %root = "onnx.Sqrt"(%ve) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %y = "onnx.Div"(%d, %root) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y, %d : tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// Negative: the axis is not the last.
// CHECK-LABEL: @first_axis
// CHECK-NOT:   onnx.LayerNormalization
// CHECK:       onnx.Div
func.func @first_axis(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %ax = onnx.Constant dense<0> : tensor<1xi64>
  %eps = onnx.Constant dense<0.5> : tensor<f32>
  %mean = "onnx.ReduceMean"(%x, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<1x3x4xf32>
  %d = "onnx.Sub"(%x, %mean) : (tensor<2x3x4xf32>, tensor<1x3x4xf32>) -> tensor<2x3x4xf32>
  %sq = "onnx.Mul"(%d, %d) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %v = "onnx.ReduceMean"(%sq, %ax) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<1x3x4xf32>
  %ve = "onnx.Add"(%v, %eps) : (tensor<1x3x4xf32>, tensor<f32>) -> tensor<1x3x4xf32>
  %root = "onnx.Sqrt"(%ve) : (tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
  %y = "onnx.Div"(%d, %root) : (tensor<2x3x4xf32>, tensor<1x3x4xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y : tensor<2x3x4xf32>
}
