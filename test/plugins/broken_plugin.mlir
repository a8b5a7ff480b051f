// RUN: not onnxloom-opt %s --load-plugin %S/Inputs/raises.py 2>&1 | filecheck %s
// CHECK: raises.py: RuntimeError: not today (line 3)
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  onnx.Return %x : tensor<4xf32>
}
