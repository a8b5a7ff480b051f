// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="BatchNormalizationFromParts"}' | filecheck %s

// Positive.
// CHECK-LABEL: @positive
// CHECK-DAG:   %[[S:.*]] = onnx.Constant dense<[5.000000e-01, 2.500000e-01, 2.000000e+00]>
// CHECK-DAG:   %[[B:.*]] = onnx.Constant dense<[3.000000e+00, 2.000000e+00, 1.000000e+00]>
// CHECK-DAG:   %[[M:.*]] = onnx.Constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]>
// CHECK-DAG:   %[[V:.*]] = onnx.Constant dense<1.000000e+00> : tensor<3xf32>
// CHECK:       %[[Y:.*]], %{{.*}}, %{{.*}} = "onnx.BatchNormalization"(%x, %[[S]], %[[B]], %[[M]], %[[V]]) <{epsilon = 0.000000e+00 : f32}>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32> {
  %m = onnx.Constant dense<[[[1.0]], [[2.0]], [[3.0]]]> : tensor<3x1x1xf32>
  %k = onnx.Constant dense<[[[2.0]], [[4.0]], [[0.5]]]> : tensor<3x1x1xf32>
  %b = onnx.Constant dense<[[[3.0]], [[2.0]], [[1.0]]]> : tensor<3x1x1xf32>
  %a = "onnx.Sub"(%x, %m) : (tensor<2x3x4x5xf32>, tensor<3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %q = "onnx.Div"(%a, %k) : (tensor<2x3x4x5xf32>, tensor<3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %y = "onnx.Add"(%q, %b) : (tensor<2x3x4x5xf32>, tensor<3x1x1xf32>) -> tensor<2x3x4x5xf32>
  onnx.Return %y : tensor<2x3x4x5xf32>
}

// Negative: a vector is along the last axis.
// CHECK-LABEL: @last_axis
// CHECK:       onnx.Sub
func.func @last_axis(%x: tensor<2x3x4x3xf32>) -> tensor<2x3x4x3xf32> {
  %m = onnx.Constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %k = onnx.Constant dense<[[[2.0]], [[4.0]], [[0.5]]]> : tensor<3x1x1xf32>
  %b = onnx.Constant dense<[[[3.0]], [[2.0]], [[1.0]]]> : tensor<3x1x1xf32>
  %a = "onnx.Sub"(%x, %m) : (tensor<2x3x4x3xf32>, tensor<3xf32>) -> tensor<2x3x4x3xf32>
  %q = "onnx.Div"(%a, %k) : (tensor<2x3x4x3xf32>, tensor<3x1x1xf32>) -> tensor<2x3x4x3xf32>
  %y = "onnx.Add"(%q, %b) : (tensor<2x3x4x3xf32>, tensor<3x1x1xf32>) -> tensor<2x3x4x3xf32>
  onnx.Return %y : tensor<2x3x4x3xf32>
}
