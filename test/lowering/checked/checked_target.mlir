// RUN: onnxloom-opt %s -p shape-inference,fuse-ops,convert-onnx-to-loom -t llvm{checked=true} | filecheck %s
// RUN: onnxloom-opt %s -p shape-inference,fuse-ops,convert-onnx-to-loom -t llvm | filecheck %s --check-prefix=PLAIN

// Positive: the body takes the bounds of each buffer, and an access goes through a check.
// CHECK: define internal void @"abs_{{[0-9a-f]+}}.body"(float* %"arg0", float* %"arg1", {{.*}}, ptr %".{{[0-9]+}}", ptr %".{{[0-9]+}}")
// CHECK: call ptr @"loom.check"(
// CHECK: define internal ptr @"loom.check"(

// Negative: without the option nothing of it is there.
// PLAIN: define internal void
// PLAIN-NOT: loom.check
func.func @main_graph(%x: tensor<2x?xf32>) -> tensor<2x?xf32> {
  %0 = "onnx.Abs"(%x) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  "onnx.Return"(%0) : (tensor<2x?xf32>) -> ()
}
