// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// Scores of attention: one batched product of operands whose heads come first.
func.func @scores(%q: tensor<2x16x4x8xf32>, %k: tensor<2x32x4x8xf32>) -> tensor<2x4x16x32xf32> {
  %0 = "onnx.Einsum"(%q, %k) {equation = "bqhd,bkhd->bhqk"} : (tensor<2x16x4x8xf32>, tensor<2x32x4x8xf32>) -> tensor<2x4x16x32xf32>
  onnx.Return %0 : tensor<2x4x16x32xf32>
}
// CHECK-LABEL: sym_name = "scores"
// CHECK-NOT:  "loom.if"
// CHECK:      "loom.matmul_space"
// CHECK-SAME: tensor<8x16x8xf32>, tensor<8x32x8xf32>
// CHECK:      kernel = @einsum_
// CHECK-NOT:  "loom.launch"
// CHECK:      loom.return

// -----

// Positive: nothing is moved where a product reads either order; the operands change places.
func.func @swapped(%a: tensor<16x8xf32>, %b: tensor<32x8xf32>) -> tensor<32x16xf32> {
  %0 = "onnx.Einsum"(%a, %b) {equation = "ik,jk->ji"} : (tensor<16x8xf32>, tensor<32x8xf32>) -> tensor<32x16xf32>
  onnx.Return %0 : tensor<32x16xf32>
}
// CHECK-LABEL: sym_name = "swapped"
// CHECK:      "loom.launch"
// CHECK-SAME: kernel = @einsum_
// CHECK-NOT:  "loom.launch"
// CHECK:      loom.return

// -----

// What only one operand has is summed first; nothing is left to be summed by a product.
func.func @summed_first(%a: tensor<3x4xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "onnx.Einsum"(%a, %b) {equation = "ij,i->i"} : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3xf32>
  onnx.Return %0 : tensor<3xf32>
}
// CHECK-LABEL: sym_name = "summed_first"
// CHECK:      kernel = @reduce_sum_
// CHECK:      kernel = @einsum_product_

// -----

// Dims that may be 1 for one operand: the plan decides whether they are broadcast.
func.func @dynamic(%a: tensor<?x?xf32>, %b: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = "onnx.Einsum"(%a, %b) {equation = "ij,jk->ik"} : (tensor<?x?xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  onnx.Return %0 : tensor<?x4xf32>
}
// CHECK-LABEL: sym_name = "dynamic"
// CHECK:      "loom.dims_equal"
// CHECK:      "loom.if"
// CHECK:      kernel = @einsum_
// CHECK:      kernel = @einsum_product_
// CHECK:      kernel = @reduce_sum_
