// RUN: onnxloom-opt %s -p shape-inference,fuse-ops,convert-onnx-to-loom -t numba | filecheck %s

// One plain Python function per kernel.
// CHECK: from numba import njit
// CHECK: @njit(error_model="numpy")
// CHECK-NEXT: def chain_{{[0-9a-f]+}}(
func.func @main_graph(%x: tensor<2x?xf32>, %b: tensor<?xf32>) -> tensor<2x?xf32> {
  %0 = "onnx.Add"(%x, %b) : (tensor<2x?xf32>, tensor<?xf32>) -> tensor<2x?xf32>
  %1 = "onnx.Relu"(%0) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  "onnx.Return"(%1) : (tensor<2x?xf32>) -> ()
}
