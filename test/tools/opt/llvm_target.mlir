// RUN: onnxloom-opt %s -p shape-inference,fuse-ops,convert-onnx-to-loom -t llvm | filecheck %s
// RUN: onnxloom-opt %s -p shape-inference,fuse-ops,convert-onnx-to-loom --report 2>&1 | filecheck %s --check-prefix=REPORT

// One exported function per kernel, which takes its arguments as one array of words.
// CHECK: define void @"chain_{{[0-9a-f]+}}"(i64* {{.*}})
// REPORT: fused 1 chain, declined 0 anchors
// REPORT: fused onnx.elementwise at onnx.Add -> tensor<2x?xf32>, Add Relu
func.func @main_graph(%x: tensor<2x?xf32>, %b: tensor<?xf32>) -> tensor<2x?xf32> {
  %0 = "onnx.Add"(%x, %b) : (tensor<2x?xf32>, tensor<?xf32>) -> tensor<2x?xf32>
  %1 = "onnx.Relu"(%0) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  "onnx.Return"(%1) : (tensor<2x?xf32>) -> ()
}
