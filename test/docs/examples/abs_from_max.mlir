// RUN: onnxloom-opt %s --load-plugin %S/../../../docs/examples/abs_from_max.py -p 'rewrite-patterns{patterns="ExampleAbsFromMax"}' --split-input-file | filecheck %s

// Positive: both spellings of the negative, the operands in either order.
// CHECK-LABEL: @spellings
// CHECK-NEXT: %[[A:.*]] = "onnx.Abs"(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: %[[Y:.*]] = "onnx.Abs"(%[[A]])
// CHECK-NEXT: onnx.Return %[[Y]]
func.func @spellings(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %minus = onnx.Constant dense<-1.0> : tensor<f32>
  %n = "onnx.Neg"(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %a = "onnx.Max"(%x, %n) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %m = "onnx.Mul"(%minus, %a) : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %y = "onnx.Max"(%m, %a) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  onnx.Return %y : tensor<?x4xf32>
}

// -----

// Negative: something else reads the negative.
// CHECK-LABEL: @read_twice
// CHECK: "onnx.Max"
func.func @read_twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %n = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %a = "onnx.Max"(%x, %n) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %a, %n : tensor<4xf32>, tensor<4xf32>
}

// -----

// Negative: integers.
// CHECK-LABEL: @integers
// CHECK: "onnx.Max"
func.func @integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  %n = "onnx.Neg"(%x) : (tensor<4xi32>) -> tensor<4xi32>
  %a = "onnx.Max"(%x, %n) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  onnx.Return %a : tensor<4xi32>
}
