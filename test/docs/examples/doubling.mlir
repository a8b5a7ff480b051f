// RUN: onnxloom-opt %s --load-plugin %S/../../../docs/examples/doubling.py -p 'rewrite-patterns{patterns="ExampleDoubling"}' --split-input-file | filecheck %s
// RUN: onnxloom-opt %s --load-plugin %S/../../../docs/examples/doubling.py -p 'example-name-nodes{prefix=n}' --split-input-file | filecheck %s --check-prefix NAMES

// Positive: the constant stands on either side; the node keeps its name.
// CHECK-LABEL: @both_sides
// CHECK: [[a:%.+]] = "onnx.Add"(%x, %x) {onnx_node_name = "first"}
// CHECK-NEXT: [[b:%.+]] = "onnx.Add"([[a]], [[a]])
// CHECK-NEXT: onnx.Return [[b]]
// NAMES-LABEL: @both_sides
// NAMES: onnx.Constant {onnx_node_name = "n_0"}
// NAMES-NEXT: "onnx.Mul"{{.*}}onnx_node_name = "first"
// NAMES-NEXT: "onnx.Mul"{{.*}}onnx_node_name = "n_2"
func.func @both_sides(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %a = "onnx.Mul"(%x, %two) {onnx_node_name = "first"} : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
  %b = "onnx.Mul"(%two, %a) : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  onnx.Return %b : tensor<?x4xf32>
}

// -----

// Negative: another constant.
// CHECK-LABEL: @three
// CHECK: "onnx.Mul"
func.func @three(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = onnx.Constant dense<3.0> : tensor<f32>
  %a = "onnx.Mul"(%x, %three) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  onnx.Return %a : tensor<4xf32>
}

// -----

// Negative: a factor of higher rank makes the result one.
// CHECK-LABEL: @higher_rank
// CHECK: "onnx.Mul"
func.func @higher_rank(%x: tensor<4xf32>) -> tensor<1x4xf32> {
  %two = onnx.Constant dense<2.0> : tensor<1x1xf32>
  %a = "onnx.Mul"(%x, %two) : (tensor<4xf32>, tensor<1x1xf32>) -> tensor<1x4xf32>
  onnx.Return %a : tensor<1x4xf32>
}
