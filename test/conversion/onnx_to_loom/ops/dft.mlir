// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// Roots of unity are a constant where the length is known; transforms lie side by side in a worker's memory.
func.func @known(%x: tensor<4x8x1xf32>) -> tensor<4x8x2xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.DFT"(%x, %none, %none) : (tensor<4x8x1xf32>, none, none) -> tensor<4x8x2xf32>
  onnx.Return %0 : tensor<4x8x2xf32>
}
// CHECK-LABEL: sym_name = "dft_1_2_
// CHECK:      loom.tasks
// CHECK-NOT:  fourier_roots
// CHECK:      "loom.dft_space"
// CHECK:      "loom.workers"
// CHECK:      kernel = @dft_1_2_

// -----

// A length that is read when the plan is made: the roots are computed.
func.func @planned(%x: tensor<4x?x2xf32>, %n: tensor<i64>) -> tensor<4x?x2xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.DFT"(%x, %n, %none) {inverse = 1 : si64} : (tensor<4x?x2xf32>, tensor<i64>, none) -> tensor<4x?x2xf32>
  onnx.Return %0 : tensor<4x?x2xf32>
}
// CHECK-LABEL: sym_name = "planned"
// CHECK:      kernel = @fourier_roots_
// CHECK:      kernel = @dft_inverse_2_2_

// -----

// Frames are read where they are: no copies of the signal.
func.func @frames(%x: tensor<1x100x1xf32>, %w: tensor<16xf32>) -> tensor<1x22x9x2xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %step = onnx.Constant dense<4> : tensor<i64>
  %0 = "onnx.STFT"(%x, %step, %w, %none) : (tensor<1x100x1xf32>, tensor<i64>, tensor<16xf32>, none) -> tensor<1x22x9x2xf32>
  onnx.Return %0 : tensor<1x22x9x2xf32>
}
// CHECK-LABEL: sym_name = "frames"
// CHECK:      "loom.stft_space"
// CHECK:      "loom.launch"
// CHECK-SAME: kernel = @stft_1_
// CHECK-NOT:  "loom.launch"
// CHECK:      loom.return
