// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// One kernel: tables of a block of points, then all channels.
func.func @bilinear(%x: tensor<1x3x8x9xf32>, %grid: tensor<1x4x5x2xf32>) -> tensor<1x3x4x5xf32> {
  %0 = "onnx.GridSample"(%x, %grid) {mode = "linear"} : (tensor<1x3x8x9xf32>, tensor<1x4x5x2xf32>) -> tensor<1x3x4x5xf32>
  onnx.Return %0 : tensor<1x3x4x5xf32>
}
// CHECK-LABEL: sym_name = "grid_sample_linear_
// CHECK:      memref.alloca() : memref<1024xf32>
// CHECK:      memref.alloca() : memref<1024xi32>
// CHECK:      loom.tasks
// CHECK:      kernel = @grid_sample_linear_
// CHECK-NOT:  "loom.check"
// CHECK:      loom.return

// -----

// Elements that are moved need no weights, and are words; what is not known of the grid is checked.
func.func @nearest(%x: tensor<1x3x8x9xf32>, %grid: tensor<?x4x5x?xf32>) -> tensor<1x3x4x5xf32> {
  %0 = "onnx.GridSample"(%x, %grid) {mode = "nearest"} : (tensor<1x3x8x9xf32>, tensor<?x4x5x?xf32>) -> tensor<1x3x4x5xf32>
  onnx.Return %0 : tensor<1x3x4x5xf32>
}
// CHECK-LABEL: sym_name = "grid_sample_nearest_
// CHECK-NEXT: memref<?xi32>, %{{[0-9]+}}: memref<?xf32>, %{{[0-9]+}}: memref<?xi32>
// CHECK:      sym_name = "nearest"
// CHECK:      the grid has another batch size than the images
// CHECK:      a point of the grid has not 2 numbers
