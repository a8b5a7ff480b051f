// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// Positive: a ratio that is read when the plan runs. Nothing is drawn where it is 0.
func.func @may_drop(%x: tensor<4xf32>, %r: tensor<f32>) -> (tensor<4xf32>, tensor<4xi1>) {
  %t = onnx.Constant dense<true> : tensor<i1>
  %0, %1 = "onnx.Dropout"(%x, %r, %t) : (tensor<4xf32>, tensor<f32>, tensor<i1>) -> (tensor<4xf32>, tensor<4xi1>)
  onnx.Return %0, %1 : tensor<4xf32>, tensor<4xi1>
}
// CHECK-LABEL: sym_name = "may_drop"
// CHECK:      kernel = @drops_
// CHECK:      "loom.if"
// CHECK:      "loom.host"
// CHECK:      kernel = @fill

// -----

// Negative: what is not in training mode drops nothing.
func.func @keeps(%x: tensor<4xf32>, %r: tensor<f32>) -> (tensor<4xf32>, tensor<4xi1>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0, %1 = "onnx.Dropout"(%x, %r, %none) : (tensor<4xf32>, tensor<f32>, none) -> (tensor<4xf32>, tensor<4xi1>)
  onnx.Return %0, %1 : tensor<4xf32>, tensor<4xi1>
}
// CHECK-LABEL: sym_name = "keeps"
// CHECK-NOT:  "loom.if"
// CHECK:      kernel = @fill
// CHECK-NOT:  "loom.host"
// CHECK:      loom.return

// -----

// Statistics of a batch: means, then means of squared distances; both normalize and move the running ones.
func.func @batch(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0, %1, %2 = "onnx.BatchNormalization"(%x, %s, %b, %m, %v) {training_mode = 1 : si64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  onnx.Return %0, %1, %2 : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>
}
// CHECK-LABEL: sym_name = "batch"
// CHECK:      kernel = @reduce_mean_
// CHECK:      kernel = @batch_squares_
// CHECK:      kernel = @reduce_mean_
// CHECK:      kernel = @batch_norm_
// CHECK:      kernel = @running_
// CHECK:      kernel = @running_
