// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// What becomes smaller goes first: axis 0, then axis 1, whose rows are gathered.
func.func @shrinks(%x: tensor<8x8xf32>) -> tensor<4x4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %s = onnx.Constant dense<0.5> : tensor<2xf32>
  %0 = "onnx.Resize"(%x, %none, %s, %none) {mode = "linear"} : (tensor<8x8xf32>, none, tensor<2xf32>, none) -> tensor<4x4xf32>
  onnx.Return %0 : tensor<4x4xf32>
}
// CHECK-LABEL: sym_name = "shrinks"
// CHECK:      "loom.resize_space"
// CHECK:      kernel = @resize_taps_linear
// CHECK:      kernel = @resample_{{[0-9a-f]+}}
// CHECK:      kernel = @resample_last_

// -----

// Axes that grow go last to first, and an axis with a scale of 1 not at all.
func.func @grows(%x: tensor<2x8x8xf32>) -> tensor<2x12x12xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %s = onnx.Constant dense<[1.0, 1.5, 1.5]> : tensor<3xf32>
  %0 = "onnx.Resize"(%x, %none, %s, %none) {mode = "cubic"} : (tensor<2x8x8xf32>, none, tensor<3xf32>, none) -> tensor<2x12x12xf32>
  onnx.Return %0 : tensor<2x12x12xf32>
}
// CHECK-LABEL: sym_name = "grows"
// CHECK:      kernel = @resample_last_
// CHECK:      kernel = @resample_{{[0-9a-f]+}}
// CHECK-NOT:  kernel =
// CHECK:      loom.return

// -----

// Positive: whole factors repeat elements, in one kernel without tables.
func.func @repeats(%x: tensor<1x3x8x?xf32>) -> tensor<1x3x16x?xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %s = onnx.Constant dense<[1.0, 1.0, 2.0, 3.0]> : tensor<4xf32>
  %0 = "onnx.Resize"(%x, %none, %s, %none) {coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"} : (tensor<1x3x8x?xf32>, none, tensor<4xf32>, none) -> tensor<1x3x16x?xf32>
  onnx.Return %0 : tensor<1x3x16x?xf32>
}
// CHECK-LABEL: sym_name = "repeats"
// CHECK-NOT:  resize_space
// CHECK:      kernel = @replicate_2x3

// -----

// Negative: rounding up takes the next element in between.
func.func @rounds_up(%x: tensor<8xf32>) -> tensor<16xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %s = onnx.Constant dense<2.0> : tensor<1xf32>
  %0 = "onnx.Resize"(%x, %none, %s, %none) {coordinate_transformation_mode = "asymmetric", nearest_mode = "ceil"} : (tensor<8xf32>, none, tensor<1xf32>, none) -> tensor<16xf32>
  onnx.Return %0 : tensor<16xf32>
}
// CHECK-LABEL: sym_name = "rounds_up"
// CHECK:      kernel = @resample_nearest_last_

// -----

// Sizes that are an operand: each axis is resampled where the plan says that it changes.
func.func @planned(%x: tensor<?x?xf32>, %n: tensor<2xi64>) -> tensor<?x?xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Resize"(%x, %none, %none, %n) {mode = "linear"} : (tensor<?x?xf32>, none, none, tensor<2xi64>) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
}
// CHECK-LABEL: sym_name = "planned"
// CHECK:      "loom.resize_space"
// CHECK:      "loom.if"
// CHECK:      kernel = @resample_last_
// CHECK:      "loom.view"
// CHECK:      "loom.if"
