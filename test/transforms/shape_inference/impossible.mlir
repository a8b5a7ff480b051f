// RUN: not onnxloom-opt %s -p shape-inference 2>&1 | filecheck %s

// CHECK: onnx.Add (node "sum"): shapes 3 and 4 do not broadcast
func.func @main_graph(%x: tensor<3xf32>, %y: tensor<4xf32>) {
  %0 = "onnx.Add"(%x, %y) {onnx_node_name = "sum"} : (tensor<3xf32>, tensor<4xf32>) -> tensor<*xf32>
  onnx.Return
}
