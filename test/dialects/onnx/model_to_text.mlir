// A model read, printed and read again: its weights are found by their keys. `onnxloom-opt` verifies and
// checks dominance on the way.
// RUN: python %S/Inputs/make_model.py %t.onnx && onnxloom-opt %t.onnx | onnxloom-opt | filecheck %s

// CHECK:      func.func @main_graph
// CHECK:      onnx.Constant {onnx_node_name = "w"} #onnx.weights<"{{.*}}.onnx", "w" : tensor<16x16xf32>>
// CHECK:      "onnx.MatMul"
// CHECK:      onnx.Return
