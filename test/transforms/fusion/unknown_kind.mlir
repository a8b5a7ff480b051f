// RUN: not onnxloom-opt %s -p 'fuse-ops{kinds="onnx.elementwize"}' 2>&1 | filecheck %s
// RUN: not onnxloom-opt %s -p 'fuse-ops{disable="onnx.elementwize"}' 2>&1 | filecheck %s
// CHECK: unknown fusion kind 'onnx.elementwize'; known: {{.*}}onnx.elementwise,
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  onnx.Return %x : tensor<4xf32>
}
