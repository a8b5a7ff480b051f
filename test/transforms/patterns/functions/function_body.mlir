// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="FunctionBody"}' | filecheck %s
// RUN: onnxloom-opt %s -p 'rewrite-patterns' | filecheck %s --check-prefix=DEFAULT

// Positive: the parts of HardSwish, when they are asked for; HardSigmoid among them has a body too.
// CHECK-LABEL: @hard_swish
// CHECK-NOT:   onnx.HardSwish
// CHECK-NOT:   onnx.HardSigmoid
// CHECK:       %[[M:.*]] = "onnx.Max"(%{{.*}}, %{{.*}})
// CHECK-NEXT:  %[[Y:.*]] = "onnx.Mul"(%x, %[[M]])
// CHECK-NEXT:  onnx.Return %[[Y]]
// DEFAULT-LABEL: @hard_swish
// DEFAULT:       onnx.HardSwish
func.func @hard_swish(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %y = "onnx.HardSwish"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}

// Negative: the body of Range holds a loop.
// CHECK-LABEL: @range
// CHECK:       onnx.Range
// DEFAULT-LABEL: @range
func.func @range(%a: tensor<i64>, %b: tensor<i64>, %c: tensor<i64>) -> tensor<?xi64> {
  %y = "onnx.Range"(%a, %b, %c) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  onnx.Return %y : tensor<?xi64>
}

// Negative: Add is defined by nothing else.
// CHECK-LABEL: @add
// CHECK:       onnx.Add
// DEFAULT-LABEL: @add
func.func @add(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %y = "onnx.Add"(%x, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}
