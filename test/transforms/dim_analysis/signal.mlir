// RUN: onnxloom-opt %s -p shape-inference --split-input-file | filecheck %s

// Half of a spectrum along an axis that is known.
// CHECK-LABEL: @onesided
// CHECK: "onnx.DFT"{{.*}} -> tensor<?x5x2xf32>
func.func @onesided(%x: tensor<?x8x1xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.DFT"(%x, %none, %none) {onesided = 1 : si64} : (tensor<?x8x1xf32>, none, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// An axis that is not known: any dim may change.
// CHECK-LABEL: @any_axis
// CHECK: "onnx.DFT"{{.*}} -> tensor<?x?x1xf32>
func.func @any_axis(%x: tensor<4x5x2xf32>, %a: tensor<i64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.DFT"(%x, %none, %a) {inverse = 1 : si64, onesided = 1 : si64} : (tensor<4x5x2xf32>, none, tensor<i64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// The rank of frames is known whatever their length is.
// CHECK-LABEL: @frames
// CHECK: "onnx.STFT"{{.*}} -> tensor<2x?x?x2xf32>
// CHECK: "onnx.STFT"{{.*}} -> tensor<2x4x3x2xf32>
func.func @frames(%x: tensor<2x10x1xf32>, %n: tensor<i64>) -> (tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %step = onnx.Constant dense<2> : tensor<i64>
  %length = onnx.Constant dense<4> : tensor<i64>
  %0 = "onnx.STFT"(%x, %step, %none, %n) : (tensor<2x10x1xf32>, tensor<i64>, none, tensor<i64>) -> tensor<*xf32>
  %1 = "onnx.STFT"(%x, %step, %none, %length) : (tensor<2x10x1xf32>, tensor<i64>, none, tensor<i64>) -> tensor<*xf32>
  onnx.Return %0, %1 : tensor<*xf32>, tensor<*xf32>
}
