// RUN: onnxloom-opt %s -p 'fuse-ops{kinds="onnx.matmul_epilogue"}' --split-input-file | filecheck %s

// Positive: bias and activation.
func.func @bias_relu(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = "onnx.Add"(%0, %b) : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %2 = "onnx.Relu"(%1) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  onnx.Return %2 : tensor<4x16xf32>
}
// CHECK-LABEL: @bias_relu
// CHECK-NEXT: %[[r:.*]] = "onnx.FusedOp"(%x, %w, %b) <{kind = "onnx.matmul_epilogue"}>
// CHECK: "onnx.MatMul"
// CHECK-NEXT: "onnx.Add"
// CHECK-NEXT: "onnx.Relu"
// CHECK-NEXT: "onnx.Yield"
// CHECK-NEXT: {op_count = 3 : si64}
// CHECK-NEXT: onnx.Return %[[r]]

// -----

// Positive: the erf form of GELU reads the biased product twice; all reads are inside.
func.func @gelu(%x: tensor<?x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<?x16xf32> {
  %c = onnx.Constant dense<1.41421354> : tensor<f32>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %m = "onnx.MatMul"(%x, %w) : (tensor<?x8xf32>, tensor<8x16xf32>) -> tensor<?x16xf32>
  %0 = "onnx.Add"(%m, %b) : (tensor<?x16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %1 = "onnx.Div"(%0, %c) : (tensor<?x16xf32>, tensor<f32>) -> tensor<?x16xf32>
  %2 = "onnx.Erf"(%1) : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %3 = "onnx.Add"(%2, %one) : (tensor<?x16xf32>, tensor<f32>) -> tensor<?x16xf32>
  %4 = "onnx.Mul"(%0, %3) : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  %5 = "onnx.Mul"(%4, %half) : (tensor<?x16xf32>, tensor<f32>) -> tensor<?x16xf32>
  onnx.Return %5 : tensor<?x16xf32>
}
// CHECK-LABEL: @gelu
// CHECK-NEXT: "onnx.FusedOp"(%x, %w, %b)
// CHECK: op_count = 7 : si64
// CHECK-NEXT: onnx.Return

// -----

// Positive: Gemm keeps its own C and attributes; the epilogue follows. A weight is cloned inside.
func.func @gemm(%x: tensor<4x2xf32>, %c: tensor<2xf32>) -> tensor<4x2xf32> {
  %w = onnx.Constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = "onnx.Gemm"(%x, %w, %c) {alpha = 0.5 : f32, transB = 1 : si64} : (tensor<4x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %1 = "onnx.Tanh"(%0) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  onnx.Return %1 : tensor<4x2xf32>
}
// CHECK-LABEL: @gemm
// CHECK-NEXT: "onnx.FusedOp"(%x, %c)
// CHECK: onnx.Constant
// CHECK: "onnx.Gemm"
// CHECK-NEXT: "onnx.Tanh"

// -----

// Positive: of two products that meet in an Add the later one takes it; the earlier result is an input.
func.func @two_owners(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.MatMul"(%x, %v) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = "onnx.Relu"(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = "onnx.Add"(%0, %2) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %3 : tensor<4x8xf32>
}
// CHECK-LABEL: @two_owners
// CHECK-NEXT: %[[m:.*]] = "onnx.MatMul"(%x, %w)
// CHECK-NEXT: "onnx.FusedOp"(%x, %v, %[[m]])
// CHECK: "onnx.MatMul"
// CHECK-NEXT: "onnx.Relu"
// CHECK-NEXT: "onnx.Add"
// CHECK: onnx.Return

// -----

// Positive: the same with nothing between: no chain is longer, the later product still takes the Add.
func.func @two_owners_alike(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.MatMul"(%x, %v) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = "onnx.Add"(%0, %1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %2 : tensor<4x8xf32>
}
// CHECK-LABEL: @two_owners_alike
// CHECK-NEXT: %[[m:.*]] = "onnx.MatMul"(%x, %w)
// CHECK-NEXT: "onnx.FusedOp"(%x, %v, %[[m]])

// -----

// Positive: a residual of a value that is there before the product.
func.func @residual(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.Add"(%x, %0) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %1 : tensor<4x8xf32>
}
// CHECK-LABEL: @residual
// CHECK-NEXT: "onnx.FusedOp"(%x, %w)

// -----

// Positive: an operand made between product and epilogue by an op that is no product, and an unrelated
// op between them: the fused op stands where the Add stood.
func.func @made_between(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.Softmax"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "onnx.Neg"(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = "onnx.Add"(%0, %1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %2, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}
// CHECK-LABEL: @made_between
// CHECK-NEXT: %[[s:.*]] = "onnx.Softmax"
// CHECK-NEXT: "onnx.Neg"
// CHECK-NEXT: "onnx.FusedOp"(%x, %w, %[[s]])

// -----

// Positive: the epilogue ends where a value is read twice outside; that value is the result.
func.func @longest_single_result(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.Relu"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "onnx.Neg"(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}
// CHECK-LABEL: @longest_single_result
// CHECK-NEXT: %[[r:.*]] = "onnx.FusedOp"(%x, %w)
// CHECK: op_count = 2 : si64
// CHECK-NEXT: "onnx.Neg"(%[[r]])

// -----

// Negative: the product itself is a result of the graph.
func.func @product_is_output(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.Relu"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
// CHECK-LABEL: @product_is_output
// CHECK-NOT: onnx.FusedOp

// -----

// Negative: the product is captured by a subgraph.
func.func @captured(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %c: tensor<i1>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.Relu"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "onnx.If"(%c) ({
    "onnx.Yield"(%0) : (tensor<4x8xf32>) -> ()
  }, {
    "onnx.Yield"(%x) : (tensor<4x8xf32>) -> ()
  }) : (tensor<i1>) -> tensor<4x8xf32>
  onnx.Return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}
// CHECK-LABEL: @captured
// CHECK-NOT: onnx.FusedOp

// -----

// Negative: an extra reader between, whose result comes back into the chain: no place for a fused op.
func.func @no_place(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.Softmax"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "onnx.Add"(%0, %1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %2 : tensor<4x8xf32>
}
// CHECK-LABEL: @no_place
// CHECK-NOT: onnx.FusedOp

// -----

// Negative: the Add makes more elements than the product has.
func.func @broadcasts_up(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %y: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.Add"(%0, %y) : (tensor<4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  onnx.Return %1 : tensor<2x4x8xf32>
}
// CHECK-LABEL: @broadcasts_up
// CHECK-NOT: onnx.FusedOp

// -----

// Negative: the product may have one row and the residual many.
func.func @may_broadcast_up(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %1 = "onnx.Add"(%0, %y) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  onnx.Return %1 : tensor<?x8xf32>
}
// CHECK-LABEL: @may_broadcast_up
// CHECK-NOT: onnx.FusedOp

// -----

// Positive: the same with dims of one name, which is written down as a condition.
func.func @same_symbol(%x: tensor<?x8xf32> {onnx.dim_params = "0:n"}, %w: tensor<8x8xf32>, %y: tensor<?x8xf32> {onnx.dim_params = "0:n"}) -> tensor<?x8xf32> {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %1 = "onnx.Add"(%0, %y) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  onnx.Return %1 : tensor<?x8xf32>
}
// CHECK-LABEL: @same_symbol
// CHECK-NEXT: "onnx.FusedOp"(%x, %w, %y)
// CHECK: {dim_conditions = {{\[\[}}2 : i64, 0 : i64, 0 : i64, 0 : i64]]

// -----

// Positive: batches that broadcast against each other.
func.func @batched(%x: tensor<2x1x4x8xf32>, %w: tensor<3x8x5xf32>, %b: tensor<5xf32>) -> tensor<2x3x4x5xf32> {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<2x1x4x8xf32>, tensor<3x8x5xf32>) -> tensor<2x3x4x5xf32>
  %1 = "onnx.Add"(%0, %b) : (tensor<2x3x4x5xf32>, tensor<5xf32>) -> tensor<2x3x4x5xf32>
  onnx.Return %1 : tensor<2x3x4x5xf32>
}
// CHECK-LABEL: @batched
// CHECK-NEXT: "onnx.FusedOp"(%x, %w, %b)

// -----

// Not beneficial: nothing follows the product.
func.func @alone(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  onnx.Return %0 : tensor<4x8xf32>
}
// CHECK-LABEL: @alone
// CHECK-NOT: onnx.FusedOp

// -----

// Negative: a product with a vector, and one of integers.
func.func @no_tile(%x: tensor<8xf32>, %w: tensor<8x8xf32>, %i: tensor<4x8xi32>, %j: tensor<8x8xi32>) -> (tensor<8xf32>, tensor<4x8xi32>) {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
  %1 = "onnx.Neg"(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = "onnx.MatMul"(%i, %j) : (tensor<4x8xi32>, tensor<8x8xi32>) -> tensor<4x8xi32>
  %3 = "onnx.Neg"(%2) : (tensor<4x8xi32>) -> tensor<4x8xi32>
  onnx.Return %1, %3 : tensor<8xf32>, tensor<4x8xi32>
}
// CHECK-LABEL: @no_tile
// CHECK-NOT: onnx.FusedOp

// -----

// Positive: rows and columns of the right factor are swapped by the product itself.
func.func @transposed(%q: tensor<2x3x8xf32>, %k: tensor<2x?x8xf32>, %c: tensor<1xf32>) -> tensor<2x3x?xf32> {
  %0 = "onnx.Transpose"(%k) {perm = [0 : si64, 2 : si64, 1 : si64]} : (tensor<2x?x8xf32>) -> tensor<2x8x?xf32>
  %1 = "onnx.MatMul"(%q, %0) : (tensor<2x3x8xf32>, tensor<2x8x?xf32>) -> tensor<2x3x?xf32>
  %2 = "onnx.Mul"(%1, %c) : (tensor<2x3x?xf32>, tensor<1xf32>) -> tensor<2x3x?xf32>
  onnx.Return %2 : tensor<2x3x?xf32>
}
// CHECK-LABEL: @transposed
// CHECK-NEXT: "onnx.FusedOp"(%k, %q, %c) <{kind = "onnx.matmul_epilogue"}>
// CHECK: "onnx.Transpose"
// CHECK-NEXT: "onnx.MatMul"
// CHECK-NEXT: "onnx.Mul"
// CHECK-NEXT: "onnx.Yield"

// -----

// Positive: without an epilogue, and with the permutation that swaps the axes of a matrix if none is given.
func.func @transposed_alone(%x: tensor<3x8xf32>, %y: tensor<5x8xf32>) -> tensor<3x5xf32> {
  %0 = "onnx.Transpose"(%y) : (tensor<5x8xf32>) -> tensor<8x5xf32>
  %1 = "onnx.MatMul"(%x, %0) : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
  onnx.Return %1 : tensor<3x5xf32>
}
// CHECK-LABEL: @transposed_alone
// CHECK-NEXT: "onnx.FusedOp"(%y, %x) <{kind = "onnx.matmul_epilogue"}>

// -----

// Negative: another reader of the transposed factor, another permutation, both factors.
func.func @transposed_for_others(%x: tensor<8x8xf32>, %y: tensor<8x8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8x8xf32>, tensor<8x8xf32>) {
  %0 = "onnx.Transpose"(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = "onnx.MatMul"(%x, %0) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = "onnx.Transpose"(%y) : (tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  %3 = "onnx.MatMul"(%x, %2) : (tensor<8x8xf32>, tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  %4 = "onnx.Transpose"(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = "onnx.MatMul"(%4, %4) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  onnx.Return %0, %1, %3, %5 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8x8xf32>, tensor<8x8xf32>
}
// CHECK-LABEL: @transposed_for_others
// CHECK-NOT: onnx.FusedOp
// CHECK: onnx.Return

// -----

// A Transpose in front of a branch stays there; the product inside takes what follows it.
func.func @transposed_outside(%x: tensor<8x8xf32>, %c: tensor<i1>) -> tensor<8x8xf32> {
  %0 = "onnx.Transpose"(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = "onnx.If"(%c) ({
    %2 = "onnx.MatMul"(%x, %0) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = "onnx.Relu"(%2) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    "onnx.Yield"(%3) : (tensor<8x8xf32>) -> ()
  }, {
    "onnx.Yield"(%x) : (tensor<8x8xf32>) -> ()
  }) : (tensor<i1>) -> tensor<8x8xf32>
  onnx.Return %1 : tensor<8x8xf32>
}
// CHECK-LABEL: @transposed_outside
// CHECK-NEXT: %[[t:.*]] = "onnx.Transpose"(%x)
// CHECK: "onnx.FusedOp"(%x, %[[t]]) <{kind = "onnx.matmul_epilogue"}>
