// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// Batch indices are checked by a kernel of their own, so that the one that pools has tasks.
func.func @pooled(%x: tensor<2x3x8x9xf32>, %r: tensor<?x4xf32>, %b: tensor<?xi64>) -> tensor<?x3x2x2xf32> {
  %0 = "onnx.RoiAlign"(%x, %r, %b) {output_height = 2 : si64, output_width = 2 : si64} : (tensor<2x3x8x9xf32>, tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x3x2x2xf32>
  onnx.Return %0 : tensor<?x3x2x2xf32>
}
// CHECK-LABEL: sym_name = "roi_align_avg_
// CHECK:      loom.tasks
// CHECK:      there is not one batch index per region
// CHECK:      kernel = @check_indices_
// CHECK:      "loom.check"
// CHECK:      kernel = @roi_align_avg_

// -----

// Half-width floats are pooled as f32.
func.func @halves(%x: tensor<2x3x8x9xf16>, %r: tensor<5x4xf16>, %b: tensor<5xi64>) -> tensor<5x3x1x1xf16> {
  %0 = "onnx.RoiAlign"(%x, %r, %b) {mode = "max"} : (tensor<2x3x8x9xf16>, tensor<5x4xf16>, tensor<5xi64>) -> tensor<5x3x1x1xf16>
  onnx.Return %0 : tensor<5x3x1x1xf16>
}
// CHECK-LABEL: sym_name = "halves"
// CHECK:      kernel = @float_cast_
// CHECK:      kernel = @roi_align_max_
// CHECK:      kernel = @float_cast_
