// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="LayerNormalizationScale"}' | filecheck %s

// Positive: scale and bias are multiplied, the summand is added.
// CHECK-LABEL: @positive
// CHECK-DAG:   %[[B:.*]] = onnx.Constant dense<[8.000000e+00, 7.000000e+00, 4.000000e+00, 1.500000e+00]>
// CHECK-DAG:   %[[S:.*]] = onnx.Constant dense<[2.000000e+00, 4.000000e+00, 6.000000e+00, 2.000000e+00]>
// CHECK:       %[[Y:.*]], %{{.*}}, %{{.*}} = "onnx.LayerNormalization"(%x, %[[S]], %[[B]]) <{axis = -1 : si64, epsilon = 5.000000e-01 : f32}>
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %s = onnx.Constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %b = onnx.Constant dense<[4.0, 3.0, 2.0, 1.0]> : tensor<4xf32>
  %m = onnx.Constant dense<[2.0, 2.0, 2.0, 0.5]> : tensor<4xf32>
  %c = onnx.Constant dense<[0.0, 1.0, 0.0, 1.0]> : tensor<4xf32>
  %n, %mean, %inv = "onnx.LayerNormalization"(%x, %s, %b) <{axis = -1 : si64, epsilon = 0.5 : f32}> : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, none, none)
  %k = "onnx.Mul"(%n, %m) : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %y = "onnx.Add"(%c, %k) : (tensor<4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y : tensor<2x3x4xf32>
}

// Positive: computed parameters take the place of ones and of nothing.
// CHECK-LABEL: @computed
// CHECK:       "onnx.LayerNormalization"(%x, %m, %c)
// CHECK-NEXT:  onnx.Return
func.func @computed(%x: tensor<2x3x4xf32>, %m: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %s = onnx.Constant dense<1.0> : tensor<4xf32>
  %n, %mean, %inv = "onnx.LayerNormalization"(%x, %s, %none) : (tensor<2x3x4xf32>, tensor<4xf32>, none) -> (tensor<2x3x4xf32>, none, none)
  %k = "onnx.Mul"(%n, %m) : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %y = "onnx.Add"(%k, %c) : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y : tensor<2x3x4xf32>
}

// Negative: one number only broadcasts to what is normalized.
// CHECK-LABEL: @broadcast
// CHECK:       onnx.Mul
func.func @broadcast(%x: tensor<2x3x4xf32>, %m: tensor<1xf32>) -> tensor<2x3x4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %s = onnx.Constant dense<1.0> : tensor<4xf32>
  %n, %mean, %inv = "onnx.LayerNormalization"(%x, %s, %none) : (tensor<2x3x4xf32>, tensor<4xf32>, none) -> (tensor<2x3x4xf32>, none, none)
  %y = "onnx.Mul"(%n, %m) : (tensor<2x3x4xf32>, tensor<1xf32>) -> tensor<2x3x4xf32>
  onnx.Return %y : tensor<2x3x4xf32>
}
