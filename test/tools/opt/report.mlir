// RUN: onnxloom-opt %s -p 'inline-if,rewrite-patterns{patterns=TransposeTranspose}' --report 2>&1 >/dev/null | filecheck %s

// Positive: patterns say what they rewrote and declined; a pass that has nothing to say leaves no empty line.
// CHECK: rewrite-patterns: 1 rewrite in {{.*}} iterations
// CHECK-NEXT: graph @main: 1
// CHECK-NEXT: TransposeTranspose: 1 of {{.*}} candidates
// CHECK-NEXT: declined {{.*}}: the input is not transposed (transforms/patterns/layout/transpose_transpose.py:{{.*}})
func.func @main(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = "onnx.Transpose"(%x) {perm = [1 : i64, 2 : i64, 0 : i64]} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = "onnx.Transpose"(%0) {perm = [1 : i64, 2 : i64, 0 : i64]} : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  onnx.Return %1 : tensor<4x2x3xf32>
}
