// RUN: onnxloom-opt %s -p 'fuse-ops{kinds="onnx.conv_epilogue"}' --split-input-file | filecheck %s

// Positive: bias, statistics per channel, activation.
func.func @bias_norm_relu(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>, %s: tensor<4xf32>, %m: tensor<4xf32>) -> tensor<1x4x6x6xf32> {
  %0 = "onnx.Conv"(%x, %w, %b) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x6x6xf32>
  %1, %2, %3 = "onnx.BatchNormalization"(%0, %s, %b, %m, %s) : (tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x6x6xf32>, none, none)
  %4 = "onnx.Relu"(%1) : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  onnx.Return %4 : tensor<1x4x6x6xf32>
}
// CHECK-LABEL: @bias_norm_relu
// CHECK-NEXT: %[[r:.*]] = "onnx.FusedOp"(%x, %w, %b, %s, %m) <{kind = "onnx.conv_epilogue"}>
// CHECK: "onnx.Conv"
// CHECK-NEXT: "onnx.BatchNormalization"
// CHECK-NEXT: "onnx.Relu"
// CHECK-NEXT: "onnx.Yield"
// CHECK-NEXT: {op_count = 3 : si64}
// CHECK-NEXT: onnx.Return %[[r]]

// -----

// Positive: x * clip(x + 3, 0, 6) / 6, spelled out; the sizes are not known.
func.func @hard_swish(%x: tensor<?x3x?x?xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<?x4x?x?xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %three = onnx.Constant dense<3.0> : tensor<f32>
  %zero = onnx.Constant dense<0.0> : tensor<f32>
  %six = onnx.Constant dense<6.0> : tensor<1xf32>
  %max = onnx.Constant dense<6.0> : tensor<f32>
  %c = "onnx.Conv"(%x, %w, %none) {strides = [2 : si64, 2 : si64]} : (tensor<?x3x?x?xf32>, tensor<4x3x3x3xf32>, none) -> tensor<?x4x?x?xf32>
  %0 = "onnx.Add"(%c, %three) : (tensor<?x4x?x?xf32>, tensor<f32>) -> tensor<?x4x?x?xf32>
  %1 = "onnx.Clip"(%0, %zero, %max) : (tensor<?x4x?x?xf32>, tensor<f32>, tensor<f32>) -> tensor<?x4x?x?xf32>
  %2 = "onnx.Mul"(%c, %1) : (tensor<?x4x?x?xf32>, tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
  %3 = "onnx.Div"(%2, %six) : (tensor<?x4x?x?xf32>, tensor<1xf32>) -> tensor<?x4x?x?xf32>
  onnx.Return %3 : tensor<?x4x?x?xf32>
}
// CHECK-LABEL: @hard_swish
// CHECK-NEXT: "onnx.FusedOp"(%x, %w)
// CHECK: op_count = 5 : si64
// CHECK-NEXT: onnx.Return

// -----

// Positive: a scale per channel and image, one per channel, and all points.
func.func @operands(%x: tensor<2x3x6x6xf32>, %w: tensor<4x3x1x1xf32>, %s: tensor<2x4x1x1xf32>, %b: tensor<4x1x1xf32>, %r: tensor<1x1x6x6xf32>) -> tensor<2x4x6x6xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<2x3x6x6xf32>, tensor<4x3x1x1xf32>, none) -> tensor<2x4x6x6xf32>
  %1 = "onnx.Mul"(%0, %s) : (tensor<2x4x6x6xf32>, tensor<2x4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %2 = "onnx.Add"(%1, %b) : (tensor<2x4x6x6xf32>, tensor<4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %3 = "onnx.Add"(%r, %2) : (tensor<1x1x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  onnx.Return %3 : tensor<2x4x6x6xf32>
}
// CHECK-LABEL: @operands
// CHECK-NEXT: "onnx.FusedOp"(%x, %w, %s, %b, %r)
// CHECK: op_count = 4 : si64

// -----

// Negative: a row of numbers is one number per column of the image.
func.func @some_spatial_dims(%x: tensor<2x3x6x6xf32>, %w: tensor<4x3x1x1xf32>, %s: tensor<6xf32>) -> tensor<2x4x6x6xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<2x3x6x6xf32>, tensor<4x3x1x1xf32>, none) -> tensor<2x4x6x6xf32>
  %1 = "onnx.Mul"(%0, %s) : (tensor<2x4x6x6xf32>, tensor<6xf32>) -> tensor<2x4x6x6xf32>
  onnx.Return %1 : tensor<2x4x6x6xf32>
}
// CHECK-LABEL: @some_spatial_dims
// CHECK-NOT: onnx.FusedOp

// -----

// The same operand is fine where the image has one row: the row is all points.
func.func @one_row(%x: tensor<2x3x1x6xf32>, %w: tensor<4x3x1x1xf32>, %s: tensor<6xf32>) -> tensor<2x4x1x6xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<2x3x1x6xf32>, tensor<4x3x1x1xf32>, none) -> tensor<2x4x1x6xf32>
  %1 = "onnx.Mul"(%0, %s) : (tensor<2x4x1x6xf32>, tensor<6xf32>) -> tensor<2x4x1x6xf32>
  onnx.Return %1 : tensor<2x4x1x6xf32>
}
// CHECK-LABEL: @one_row
// CHECK-NEXT: "onnx.FusedOp"(%x, %w, %s)

// -----

// Negative: the bias lies along the channels, the Mul reads it along the columns.
func.func @two_axes(%x: tensor<2x3x1x4xf32>, %w: tensor<4x3x1x1xf32>, %b: tensor<4xf32>) -> tensor<2x4x1x4xf32> {
  %0 = "onnx.Conv"(%x, %w, %b) : (tensor<2x3x1x4xf32>, tensor<4x3x1x1xf32>, tensor<4xf32>) -> tensor<2x4x1x4xf32>
  %1 = "onnx.Mul"(%0, %b) : (tensor<2x4x1x4xf32>, tensor<4xf32>) -> tensor<2x4x1x4xf32>
  onnx.Return %1 : tensor<2x4x1x4xf32>
}
// CHECK-LABEL: @two_axes
// CHECK-NOT: onnx.FusedOp

// -----

// Positive: the block of a residual network. The shortcut's convolution comes first, so the last
// convolution of the long way takes the Add; the input of both is read twice and stays whole.
func.func @residual_block(%x: tensor<1x4x8x8xf32>, %v: tensor<4x4x1x1xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %v, %none) : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  %1 = "onnx.Conv"(%x, %w, %none) {pads = [1 : si64, 1 : si64, 1 : si64, 1 : si64]} : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>, none) -> tensor<1x4x8x8xf32>
  %2 = "onnx.Add"(%0, %1) : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %3 = "onnx.Relu"(%2) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  onnx.Return %3 : tensor<1x4x8x8xf32>
}
// CHECK-LABEL: @residual_block
// CHECK: %[[s:.*]] = "onnx.Conv"(%x, %v
// CHECK-NEXT: "onnx.FusedOp"(%x, %w, %[[s]])
// CHECK: "onnx.Conv"
// CHECK-NEXT: "onnx.Add"
// CHECK-NEXT: "onnx.Relu"
// CHECK: onnx.Return

// -----

// Positive: the later convolution makes numbers per channel only, it cannot take the Mul: the earlier one does.
func.func @owner_of_another_shape(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>, %g: tensor<1x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  %1 = "onnx.Conv"(%g, %w, %none) : (tensor<1x4x1x1xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x1x1xf32>
  %2 = "onnx.Sigmoid"(%1) : (tensor<1x4x1x1xf32>) -> tensor<1x4x1x1xf32>
  %3 = "onnx.Mul"(%0, %2) : (tensor<1x4x8x8xf32>, tensor<1x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  onnx.Return %3 : tensor<1x4x8x8xf32>
}
// CHECK-LABEL: @owner_of_another_shape
// CHECK-NEXT: %[[g:.*]] = "onnx.FusedOp"(%g, %w)
// CHECK: "onnx.Sigmoid"
// CHECK: "onnx.FusedOp"(%x, %w, %[[g]])
// CHECK: "onnx.Mul"

// -----

// Squeeze and excitation: the gate is computed from the convolution itself, so the Mul stays outside.
func.func @gate(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  %1 = "onnx.Relu"(%0) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %2 = "onnx.GlobalAveragePool"(%1) : (tensor<1x4x8x8xf32>) -> tensor<1x4x1x1xf32>
  %3 = "onnx.Conv"(%2, %w, %none) : (tensor<1x4x1x1xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x1x1xf32>
  %4 = "onnx.HardSigmoid"(%3) : (tensor<1x4x1x1xf32>) -> tensor<1x4x1x1xf32>
  %5 = "onnx.Mul"(%1, %4) : (tensor<1x4x8x8xf32>, tensor<1x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  onnx.Return %5 : tensor<1x4x8x8xf32>
}
// CHECK-LABEL: @gate
// CHECK-NEXT: %[[c:.*]] = "onnx.FusedOp"(%x, %w)
// CHECK: op_count = 2 : si64
// CHECK-NEXT: %[[p:.*]] = "onnx.GlobalAveragePool"(%[[c]])
// CHECK-NEXT: %[[g:.*]] = "onnx.FusedOp"(%[[p]], %w)
// CHECK: op_count = 2 : si64
// CHECK-NEXT: "onnx.Mul"(%[[c]], %[[g]])

// -----

// Positive: an operand made between product and epilogue, and an unrelated op between them.
func.func @made_between(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  %1 = "onnx.Softmax"(%x) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %2 = "onnx.Neg"(%1) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %3 = "onnx.Add"(%0, %1) : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  onnx.Return %2, %3 : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}
// CHECK-LABEL: @made_between
// CHECK-NEXT: %[[s:.*]] = "onnx.Softmax"
// CHECK-NEXT: "onnx.Neg"
// CHECK-NEXT: "onnx.FusedOp"(%x, %w, %[[s]])

// -----

// Negative: an extra reader between, whose result comes back into the chain: no place for a fused op.
func.func @no_place(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  %1 = "onnx.Softmax"(%0) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %2 = "onnx.Add"(%0, %1) : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  onnx.Return %2 : tensor<1x4x8x8xf32>
}
// CHECK-LABEL: @no_place
// CHECK-NOT: onnx.FusedOp

// -----

// The epilogue ends where a value is a result of the graph; that value is the result of the fused op.
func.func @middle_is_output(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  %1 = "onnx.Relu"(%0) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %2 = "onnx.Neg"(%1) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  onnx.Return %1, %2 : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}
// CHECK-LABEL: @middle_is_output
// CHECK-NEXT: %[[r:.*]] = "onnx.FusedOp"(%x, %w)
// CHECK: op_count = 2 : si64
// CHECK-NEXT: "onnx.Neg"(%[[r]])

// -----

// Negative: the convolution itself is a result of the graph.
func.func @product_is_output(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  %1 = "onnx.Relu"(%0) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  onnx.Return %0, %1 : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}
// CHECK-LABEL: @product_is_output
// CHECK-NOT: onnx.FusedOp

// -----

// Negative: the convolution is captured by a subgraph.
func.func @captured(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>, %c: tensor<i1>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  %1 = "onnx.Relu"(%0) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %2 = "onnx.If"(%c) ({
    "onnx.Yield"(%0) : (tensor<1x4x8x8xf32>) -> ()
  }, {
    "onnx.Yield"(%x) : (tensor<1x4x8x8xf32>) -> ()
  }) : (tensor<i1>) -> tensor<1x4x8x8xf32>
  onnx.Return %1, %2 : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}
// CHECK-LABEL: @captured
// CHECK-NOT: onnx.FusedOp

// -----

// Negative: the residual may have more rows than the convolution.
func.func @may_broadcast_up(%x: tensor<1x4x?x8xf32>, %w: tensor<4x4x1x1xf32>, %r: tensor<1x4x?x8xf32>) -> tensor<1x4x?x8xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x4x?x8xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x?x8xf32>
  %1 = "onnx.Add"(%0, %r) : (tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>) -> tensor<1x4x?x8xf32>
  onnx.Return %1 : tensor<1x4x?x8xf32>
}
// CHECK-LABEL: @may_broadcast_up
// CHECK-NOT: onnx.FusedOp

// -----

// Positive: a window whose border keeps the size has the rows of its input, and the condition says so.
func.func @same_rows(%x: tensor<1x4x?x8xf32> {onnx.dim_params = "2:h"}, %w: tensor<4x4x3x3xf32>, %r: tensor<1x4x?x8xf32> {onnx.dim_params = "2:h"}) -> tensor<1x4x?x8xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) {pads = [1 : si64, 1 : si64, 1 : si64, 1 : si64]} : (tensor<1x4x?x8xf32>, tensor<4x4x3x3xf32>, none) -> tensor<1x4x?x8xf32>
  %1 = "onnx.Add"(%0, %r) : (tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>) -> tensor<1x4x?x8xf32>
  onnx.Return %1 : tensor<1x4x?x8xf32>
}
// CHECK-LABEL: @same_rows
// CHECK-NEXT: "onnx.FusedOp"(%x, %w, %r)
// CHECK: {dim_conditions = {{\[\[}}2 : i64, 2 : i64, 0 : i64, 2 : i64]]

// -----

// Negative: of a window that steps by two, no input has the rows.
func.func @other_rows(%x: tensor<1x4x?x8xf32> {onnx.dim_params = "2:h"}, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x?x4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) {strides = [2 : si64, 2 : si64]} : (tensor<1x4x?x8xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x?x4xf32>
  %1 = "onnx.Conv"(%x, %w, %none) {strides = [2 : si64, 2 : si64]} : (tensor<1x4x?x8xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x?x4xf32>
  %2 = "onnx.Add"(%0, %1) : (tensor<1x4x?x4xf32>, tensor<1x4x?x4xf32>) -> tensor<1x4x?x4xf32>
  onnx.Return %2 : tensor<1x4x?x4xf32>
}
// CHECK-LABEL: @other_rows
// CHECK-NOT: onnx.FusedOp

// -----

// Not beneficial: nothing follows the convolution.
func.func @alone(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  onnx.Return %0 : tensor<1x4x8x8xf32>
}
// CHECK-LABEL: @alone
// CHECK-NOT: onnx.FusedOp

// -----

// Negative: no kernel for windows of unknown size, nor for statistics that are being trained.
func.func @no_kernel(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x?x1xf32>, %v: tensor<4x4x1x1xf32>, %s: tensor<4xf32>) -> (tensor<1x4x?x8xf32>, tensor<1x4x8x8xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x4x8x8xf32>, tensor<4x4x?x1xf32>, none) -> tensor<1x4x?x8xf32>
  %1 = "onnx.Relu"(%0) : (tensor<1x4x?x8xf32>) -> tensor<1x4x?x8xf32>
  %2 = "onnx.Conv"(%x, %v, %none) : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  %3, %4, %5 = "onnx.BatchNormalization"(%2, %s, %s, %s, %s) {training_mode = 1 : si64} : (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x8x8xf32>, none, none)
  onnx.Return %1, %3 : tensor<1x4x?x8xf32>, tensor<1x4x8x8xf32>
}
// CHECK-LABEL: @no_kernel
// CHECK-NOT: onnx.FusedOp
