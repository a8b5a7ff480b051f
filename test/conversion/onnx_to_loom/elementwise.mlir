// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// Equal shapes are one loop; the size is static, the kernel takes it as an argument all the same.
func.func @same_shape(%a: tensor<4x5xf32>, %b: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = "onnx.Add"(%a, %b) : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  "onnx.Return"(%0) : (tensor<4x5xf32>) -> ()
}
// CHECK-LABEL: sym_name = "add_
// CHECK-SAME: access = ["read", "read", "write"]
// CHECK:      ^bb0(%{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>, %{{.*}}: index):
// CHECK:      scf.for
// CHECK:      arith.addf
// CHECK:      {loom.parallel}
// CHECK-NOT:  scf.for
// CHECK:      sym_name = "same_shape"
// CHECK:      arith.constant 20 : index
// CHECK:      inplace = {{\[\[}}0 : i64, 1 : i64]]

// -----

// A row vector: two loops, literal strides in the inner one, since its size is known to be more than 1.
func.func @row(%a: tensor<?x5xf32>, %b: tensor<5xf32>) -> tensor<?x5xf32> {
  %0 = "onnx.Mul"(%a, %b) : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
  "onnx.Return"(%0) : (tensor<?x5xf32>) -> ()
}
// CHECK-LABEL: sym_name = "mul_
// CHECK-NOT:  scf.if
// CHECK:      scf.for
// CHECK:      scf.for
// CHECK:      sym_name = "row"
// CHECK:      "loom.broadcast_space"({{.*}}) <{rank = 2 : i64}>

// -----

// Unrelated dynamic dims: a fast loop where the strides agree with the types, a general one otherwise.
func.func @unrelated(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = "onnx.Sub"(%a, %b) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  "onnx.Return"(%0) : (tensor<?x?xf32>) -> ()
}
// CHECK-LABEL: sym_name = "sub_
// CHECK:      scf.if
// CHECK:      arith.subf
// CHECK:      } else {
// CHECK:      arith.subf
// CHECK:      sym_name = "unrelated"
// CHECK:      "loom.broadcast_dims"

// -----

// Two layers with the same structure share one kernel; a constant of one element is part of it.
func.func @shared(%a: tensor<8xf32>, %b: tensor<?x8xf32>) -> (tensor<8xf32>, tensor<?x8xf32>) {
  %c = onnx.Constant dense<0.5> : tensor<f32>
  %0 = "onnx.Mul"(%a, %c) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = "onnx.Mul"(%b, %c) : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xf32>
  "onnx.Return"(%0, %1) : (tensor<8xf32>, tensor<?x8xf32>) -> ()
}
// CHECK-LABEL: sym_name = "mul_
// CHECK:      arith.constant 5.000000e-01 : f32
// CHECK-NOT:  "loom.kernel"
// CHECK:      sym_name = "shared"
// CHECK-NOT:  loom.constant
// CHECK:      kernel = @mul_
// CHECK:      kernel = @mul_

// -----

// Half-width floats are widened and rounded once per op.
func.func @half(%a: tensor<4xf16>) -> tensor<4xf16> {
  %0 = "onnx.Sigmoid"(%a) : (tensor<4xf16>) -> tensor<4xf16>
  "onnx.Return"(%0) : (tensor<4xf16>) -> ()
}
// CHECK-LABEL: sym_name = "sigmoid_
// CHECK:      arith.extf {{.*}} : f16 to f32
// CHECK:      math.exp {{.*}} : f32
// CHECK:      arith.truncf {{.*}} : f32 to f16
// CHECK:      "loom.end"

// -----

// Unsigned integers: signless storage, unsigned ops.
func.func @unsigned(%a: tensor<4xui8>, %b: tensor<4xui8>) -> tensor<4xui8> {
  %0 = "onnx.Max"(%a, %b) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  "onnx.Return"(%0) : (tensor<4xui8>) -> ()
}
// CHECK-LABEL: sym_name = "max_
// CHECK:      memref<?xi8>
// CHECK:      arith.maxui {{.*}} : i8

// -----

// A result without a rank gets it from the operands.
func.func @ranked_by_operands(%a: tensor<?x4xf32>, %b: tensor<4xf32>) -> tensor<*xf32> {
  %0 = "onnx.Div"(%a, %b) : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<*xf32>
  "onnx.Return"(%0) : (tensor<*xf32>) -> ()
}
// CHECK-LABEL: sym_name = "div_
// CHECK:      sym_name = "ranked_by_operands"
// CHECK:      tensor.empty({{.*}}) : tensor<?x4xf32>
