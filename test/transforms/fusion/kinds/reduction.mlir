// RUN: onnxloom-opt %s -p 'fuse-ops{kinds="onnx.reduction"}' --split-input-file | filecheck %s

// Positive: a residual in front of a normalization; the sum is read outside, too.
// CHECK-LABEL: @residual
// CHECK: %{{.*}}, %{{.*}} = "onnx.FusedOp"(%x, %r, %s, %b) <{kind = "onnx.reduction"}>
// CHECK: onnx.Add
// CHECK-NEXT: onnx.LayerNormalization
// CHECK-NEXT: onnx.Yield
// CHECK: op_count = 2 : si64, lead_count = 1 : si64
func.func @residual(%x: tensor<2x4xf32>, %r: tensor<2x4xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Add"(%x, %r) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1, %2, %3 = "onnx.LayerNormalization"(%0, %s, %b) : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, none, none)
  onnx.Return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// Positive: sizes that are not known; that they agree is written down.
// CHECK-LABEL: @dynamic
// CHECK-NEXT: onnx.FusedOp
// CHECK: op_count = 3 : si64
// CHECK-NOT: onnx.Softmax
func.func @dynamic(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = "onnx.Neg"(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = "onnx.Softmax"(%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = "onnx.Mul"(%1, %x) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  onnx.Return %2 : tensor<?x4xf32>
}

// -----

// Negative: that two operands have as many rows is not proven.
// CHECK-LABEL: @unproven
// CHECK-NOT: onnx.FusedOp
func.func @unproven(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = "onnx.Add"(%x, %y) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = "onnx.Softmax"(%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  onnx.Return %1 : tensor<?x4xf32>
}

// -----

// Positive: elementwise ops on both sides of a sum over the last two axes.
// CHECK-LABEL: @sum
// CHECK: kind = "onnx.reduction"
// CHECK: onnx.Abs
// CHECK-NEXT: onnx.ReduceSum
// CHECK-NEXT: onnx.Sqrt
// CHECK: op_count = 3 : si64
func.func @sum(%x: tensor<2x3x4xf32>) -> tensor<2xf32> {
  %axes = onnx.Constant dense<[-1, 1]> : tensor<2xi64>
  %0 = "onnx.Abs"(%x) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %1 = "onnx.ReduceSum"(%0, %axes) {keepdims = 0 : si64} : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<2xf32>
  %2 = "onnx.Sqrt"(%1) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %2 : tensor<2xf32>
}

// -----

// Negative: the rows are not along the last axes.
// CHECK-LABEL: @first_axis
// CHECK-NOT: onnx.FusedOp
func.func @first_axis(%x: tensor<2x4xf32>) -> tensor<4xf32> {
  %axes = onnx.Constant dense<[0]> : tensor<1xi64>
  %0 = "onnx.Abs"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = "onnx.ReduceSum"(%0, %axes) {keepdims = 0 : si64} : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<4xf32>
  onnx.Return %1 : tensor<4xf32>
}

// -----

// A value inside that others read is an input: what makes it stays outside.
// CHECK-LABEL: @read_elsewhere
// CHECK-NEXT: onnx.Abs
// CHECK-NEXT: onnx.FusedOp
// CHECK: onnx.Neg
// CHECK-NEXT: onnx.Softmax
func.func @read_elsewhere(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = "onnx.Abs"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = "onnx.Neg"(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = "onnx.Softmax"(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %2, %0 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// Unrelated ops between those of the chain are left where they are.
// CHECK-LABEL: @between
// CHECK-NEXT: onnx.Sin
// CHECK-NEXT: kind = "onnx.reduction"
// CHECK: op_count = 2 : si64
func.func @between(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = "onnx.Abs"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = "onnx.Sin"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = "onnx.Softmax"(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %2, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}
