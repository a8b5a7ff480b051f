// RUN: onnxloom-opt %s -p 'shape-inference,fixed-point{pipeline="shape-inference,cleanup"}' --print-ir-after cleanup --time-passes --statistics 2>&1 | filecheck %s

// What is watched is watched in groups of passes too, in each sweep.
// CHECK:      // IR after cleanup
// CHECK:      // IR after cleanup
// CHECK:      s  all passes
// CHECK-NEXT: s  shape-inference
// CHECK-NEXT: s    shape-inference
// CHECK-NEXT: s    cleanup
// CHECK:      cleanup: 6 ops -> 4 ops
// CHECK-NEXT: shape-inference: 4 ops -> 4 ops
// CHECK-NEXT: cleanup: 4 ops -> 4 ops
func.func @f(%x: tensor<4xf32>) -> tensor<*xf32> {
  %0 = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<*xf32>
  %1 = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<*xf32>
  %2 = "onnx.Abs"(%1) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
