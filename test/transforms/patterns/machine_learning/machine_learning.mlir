// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="Scaler,Normalizer,LinearRegressor"}' | filecheck %s

// Positive: one number per feature.
// CHECK-LABEL: @scaler
// CHECK:       %[[D:.*]] = "onnx.Sub"(%x, %{{.*}}) : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
// CHECK:       %[[Y:.*]] = "onnx.Mul"(%[[D]], %{{.*}}) : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
// CHECK:       onnx.Return %[[Y]]
func.func @scaler(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %y = "onnx.Scaler"(%x) <{offset = [1.0 : f32, 2.0 : f32], scale = [0.5 : f32, 0.25 : f32]}> : (tensor<?x2xf32>) -> tensor<?x2xf32>
  onnx.Return %y : tensor<?x2xf32>
}

// Negative: three numbers for two features.
// CHECK-LABEL: @scaler_of_other_features
// CHECK:       onnx.Scaler
func.func @scaler_of_other_features(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %y = "onnx.Scaler"(%x) <{offset = [1.0 : f32, 2.0 : f32, 3.0 : f32], scale = [0.5 : f32]}> : (tensor<?x2xf32>) -> tensor<?x2xf32>
  onnx.Return %y : tensor<?x2xf32>
}

// Positive: integers are made f32 first.
// CHECK-LABEL: @normalizer
// CHECK:       %[[C:.*]] = "onnx.Cast"(%x)
// CHECK:       %[[N:.*]] = "onnx.ReduceL1"(%[[C]]
// CHECK:       %[[M:.*]] = "onnx.Max"(%[[N]]
// CHECK:       %[[Y:.*]] = "onnx.Div"(%[[C]], %[[M]])
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @normalizer(%x: tensor<?x2xi64>) -> tensor<?x2xf32> {
  %y = "onnx.Normalizer"(%x) <{norm = "L1"}> : (tensor<?x2xi64>) -> tensor<?x2xf32>
  onnx.Return %y : tensor<?x2xf32>
}

// Negative: a list is no rows.
// CHECK-LABEL: @normalizer_of_a_list
// CHECK:       onnx.Normalizer
func.func @normalizer_of_a_list(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = "onnx.Normalizer"(%x) <{norm = "L1"}> : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %y : tensor<2xf32>
}

// Positive.
// CHECK-LABEL: @regressor
// CHECK:       %[[Y:.*]] = "onnx.Gemm"(%x, %{{.*}}, %{{.*}}) <{{.*}}transB = 1 : si64}> : (tensor<?x2xf32>, tensor<1x2xf32>, tensor<1xf32>) -> tensor<?x1xf32>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @regressor(%x: tensor<?x2xf32>) -> tensor<?x1xf32> {
  %y = "onnx.LinearRegressor"(%x) <{coefficients = [1.0 : f32, 2.0 : f32], intercepts = [0.5 : f32]}> : (tensor<?x2xf32>) -> tensor<?x1xf32>
  onnx.Return %y : tensor<?x1xf32>
}
