// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// Positive: blocks that divide the axis are a dim of their own, along which scales and zero points broadcast.
func.func @blocks(%x: tensor<2x6xf32>, %s: tensor<2x3xf32>, %z: tensor<2x3xi4>) -> tensor<2x6xi4> {
  %0 = "onnx.QuantizeLinear"(%x, %s, %z) {axis = 1 : si64, block_size = 2 : si64} : (tensor<2x6xf32>, tensor<2x3xf32>, tensor<2x3xi4>) -> tensor<2x6xi4>
  "onnx.Return"(%0) : (tensor<2x6xi4>) -> ()
}
// CHECK-LABEL: sym_name = "quantizelinear_blocked_
// CHECK:      memref<?xi4>
// CHECK:      arith.divf
// CHECK:      math.roundeven
// CHECK:      arith.trunci {{.*}} : i32 to i4
// CHECK:      sym_name = "blocks"
// CHECK:      (tensor<2x6xf32>, index, index, index, index) -> tensor<2x3x2xf32>
// CHECK:      (tensor<2x3xi4>, index, index, index, index) -> tensor<2x3x1xi4>

// -----

// Positive: blocks that do not divide the axis: the scales are repeated, the last one less often.
func.func @uneven(%x: tensor<2x5xi4>, %s: tensor<2x3xf32>) -> tensor<2x5xf32> {
  %z = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) {axis = 1 : si64, block_size = 2 : si64} : (tensor<2x5xi4>, tensor<2x3xf32>, none) -> tensor<2x5xf32>
  "onnx.Return"(%0) : (tensor<2x5xf32>) -> ()
}
// CHECK-LABEL: sym_name = "repeat_entries_
// CHECK:      sym_name = "dequantizelinear_blocked_
// CHECK:      arith.extsi {{.*}} : i4 to i32
// CHECK:      sym_name = "uneven"
// CHECK:      tensor.empty() : tensor<2x5xf32>

// -----

// Positive: a saturating cast limits the number before it is rounded.
func.func @saturating(%x: tensor<8xf32>) -> tensor<8xf8E4M3FN> {
  %0 = "onnx.Cast"(%x) {to = 17 : si64} : (tensor<8xf32>) -> tensor<8xf8E4M3FN>
  "onnx.Return"(%0) : (tensor<8xf8E4M3FN>) -> ()
}
// CHECK-LABEL: sym_name = "cast_
// CHECK-DAG:  arith.constant -4.480000e+02 : f32
// CHECK-DAG:  arith.constant 4.480000e+02 : f32
// CHECK:      arith.truncf {{.*}} : f32 to f8E4M3FN

// -----

// Positive: powers of two are the exponent of an f32; here it is cut off, and what is out of range is NaN.
func.func @exponents(%x: tensor<8xf32>) -> tensor<8xf8E8M0FNU> {
  %0 = "onnx.Cast"(%x) {to = 24 : si64, saturate = 0 : si64, round_mode = "down"} : (tensor<8xf32>) -> tensor<8xf8E8M0FNU>
  "onnx.Return"(%0) : (tensor<8xf8E8M0FNU>) -> ()
}
// CHECK-LABEL: sym_name = "cast_
// CHECK:      arith.constant 255 : i32
// CHECK:      arith.shrui
// CHECK-NOT:  arith.truncf
// CHECK:      arith.bitcast {{.*}} : i8 to f8E8M0FNU

// -----

// Positive: complex numbers are moved as integers of their width.
func.func @complex(%c: tensor<8xi1>, %x: tensor<8xcomplex<f64>>, %y: tensor<8xcomplex<f64>>) -> tensor<8xcomplex<f64>> {
  %0 = "onnx.Where"(%c, %x, %y) : (tensor<8xi1>, tensor<8xcomplex<f64>>, tensor<8xcomplex<f64>>) -> tensor<8xcomplex<f64>>
  "onnx.Return"(%0) : (tensor<8xcomplex<f64>>) -> ()
}
// CHECK-LABEL: sym_name = "where_
// CHECK-SAME: access
// CHECK:      memref<?xi128>
// CHECK:      arith.select {{.*}} : i128
