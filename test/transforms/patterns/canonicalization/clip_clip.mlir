// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="ClipClip"}' | filecheck %s

// Positive: the range in common.
// CHECK-LABEL: @overlap
// CHECK-DAG:   %[[LOW:.*]] = onnx.Constant dense<1.000000e+00> : tensor<f32>
// CHECK-DAG:   %[[HIGH:.*]] = onnx.Constant dense<2.000000e+00> : tensor<f32>
// CHECK:       %[[Y:.*]] = "onnx.Clip"(%x, %[[LOW]], %[[HIGH]])
// CHECK-NEXT:  onnx.Return %[[Y]]
func.func @overlap(%x: tensor<?xf32>) -> tensor<?xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %zero = onnx.Constant dense<0.0> : tensor<f32>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %three = onnx.Constant dense<3.0> : tensor<f32>
  %c = "onnx.Clip"(%x, %zero, %two) : (tensor<?xf32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  %y = "onnx.Clip"(%c, %one, %three) : (tensor<?xf32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  onnx.Return %y : tensor<?xf32>
}

// Positive: [0, 1], then [2, 3]: all numbers become 2.
// CHECK-LABEL: @disjoint
// CHECK:       %[[TWO:.*]] = onnx.Constant dense<2.000000e+00> : tensor<f32>
// CHECK:       %{{.*}} = "onnx.Clip"(%x, %[[TWO]], %{{.*}})
func.func @disjoint(%x: tensor<?xf32>) -> tensor<?xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %zero = onnx.Constant dense<0.0> : tensor<f32>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %three = onnx.Constant dense<3.0> : tensor<f32>
  %c = "onnx.Clip"(%x, %zero, %one) : (tensor<?xf32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  %y = "onnx.Clip"(%c, %two, %three) : (tensor<?xf32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  onnx.Return %y : tensor<?xf32>
}

// Positive: nothing to compare.
// CHECK-LABEL: @computed
// CHECK:       %{{.*}} = "onnx.Clip"(%x, %low, %high)
func.func @computed(%x: tensor<?xf32>, %low: tensor<f32>, %high: tensor<f32>) -> tensor<?xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %c = "onnx.Clip"(%x, %low, %none) : (tensor<?xf32>, tensor<f32>, none) -> tensor<?xf32>
  %y = "onnx.Clip"(%c, %none, %high) : (tensor<?xf32>, none, tensor<f32>) -> tensor<?xf32>
  onnx.Return %y : tensor<?xf32>
}

// Negative: computed bounds of one kind.
// CHECK-LABEL: @compared
// CHECK-COUNT-2: onnx.Clip
func.func @compared(%x: tensor<?xf32>, %a: tensor<f32>, %b: tensor<f32>) -> tensor<?xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %c = "onnx.Clip"(%x, %a, %none) : (tensor<?xf32>, tensor<f32>, none) -> tensor<?xf32>
  %y = "onnx.Clip"(%c, %b, %none) : (tensor<?xf32>, tensor<f32>, none) -> tensor<?xf32>
  onnx.Return %y : tensor<?xf32>
}

// Negative: the inner result is a result of its own.
// CHECK-LABEL: @shared
// CHECK-COUNT-2: onnx.Clip
func.func @shared(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %zero = onnx.Constant dense<0.0> : tensor<f32>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %three = onnx.Constant dense<3.0> : tensor<f32>
  %c = "onnx.Clip"(%x, %zero, %one) : (tensor<?xf32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  %y = "onnx.Clip"(%c, %two, %three) : (tensor<?xf32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  onnx.Return %y, %c : tensor<?xf32>, tensor<?xf32>
}
