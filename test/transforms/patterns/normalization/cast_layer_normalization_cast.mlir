// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="CastLayerNormalizationCast"}' | filecheck %s

// Positive: scale and bias are cast instead.
// CHECK-LABEL: @positive
// CHECK-NEXT:  %[[S:.*]] = "onnx.Cast"(%s) <{to = 10 : si64}>
// CHECK-NEXT:  %[[B:.*]] = "onnx.Cast"(%b) <{to = 10 : si64}>
// CHECK-NEXT:  %[[Y:.*]], %{{.*}}, %{{.*}} = "onnx.LayerNormalization"(%x, %[[S]], %[[B]])
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @positive(%x: tensor<2x3x4xf16>, %s: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x3x4xf16> {
  %w = "onnx.Cast"(%x) <{to = 1 : si64}> : (tensor<2x3x4xf16>) -> tensor<2x3x4xf32>
  %n, %mean, %inv = "onnx.LayerNormalization"(%w, %s, %b) : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, none, none)
  %y = "onnx.Cast"(%n) <{to = 10 : si64}> : (tensor<2x3x4xf32>) -> tensor<2x3x4xf16>
  onnx.Return %y : tensor<2x3x4xf16>
}

// Negative: the result is cast to another type.
// CHECK-LABEL: @other_type
// CHECK:       "onnx.Cast"(%x)
func.func @other_type(%x: tensor<2x3x4xf16>, %s: tensor<4xf32>) -> tensor<2x3x4xf64> {
  %none = "onnx.NoValue"() {value} : () -> none
  %w = "onnx.Cast"(%x) <{to = 1 : si64}> : (tensor<2x3x4xf16>) -> tensor<2x3x4xf32>
  %n, %mean, %inv = "onnx.LayerNormalization"(%w, %s, %none) : (tensor<2x3x4xf32>, tensor<4xf32>, none) -> (tensor<2x3x4xf32>, none, none)
  %y = "onnx.Cast"(%n) <{to = 11 : si64}> : (tensor<2x3x4xf32>) -> tensor<2x3x4xf64>
  onnx.Return %y : tensor<2x3x4xf64>
}
