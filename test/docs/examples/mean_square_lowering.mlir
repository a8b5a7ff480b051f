// RUN: onnxloom-opt %s --load-plugin %S/../../../docs/examples/mean_square.py -p fuse-ops,convert-onnx-to-loom | filecheck %s

// One kernel, in which the squares are never stored.
// CHECK: sym_name = "mean_square_{{[0-9a-f]+}}"
// CHECK: memref.load
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: arith.addf
// CHECK: arith.divf
// CHECK-NEXT: memref.store
// CHECK-NOT: memref.store
// CHECK: "loom.program"
// CHECK-COUNT-1: "loom.launch"
// CHECK-NOT: loom.host
func.func @main_graph(%x: tensor<?x8xf32>) -> tensor<?x1xf32> {
  %axes = onnx.Constant dense<-1> : tensor<1xi64>
  %0 = "onnx.Mul"(%x, %x) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = "onnx.ReduceMean"(%0, %axes) : (tensor<?x8xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  onnx.Return %1 : tensor<?x1xf32>
}
