// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// Constant weights are packed at plan time; one product for all of X, then a launch per direction that
// fills its part of the same outputs.
func.func @both(%x: tensor<?x1x2xf32>, %h: tensor<2x1x1xf32>) -> tensor<?x2x1x1xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<2x3x2xf32>
  %r = onnx.Constant dense<0.5> : tensor<2x3x1xf32>
  %y, %yh = "onnx.GRU"(%x, %w, %r, %n, %n, %h) <{direction = "bidirectional", hidden_size = 1 : si64}> : (tensor<?x1x2xf32>, tensor<2x3x2xf32>, tensor<2x3x1xf32>, none, none, tensor<2x1x1xf32>) -> (tensor<?x2x1x1xf32>, none)
  "onnx.Return"(%y) : (tensor<?x2x1x1xf32>) -> ()
}
// CHECK-LABEL: sym_name = "both"
// CHECK-NOT:   "loom.host"
// CHECK:       "loom.pack"({{.*}}layout = "gemm_panels"
// CHECK:       "loom.launch"({{.*}}kernel = @gru_inputs
// CHECK:       "loom.pack"({{.*}}layout = "recurrent_gates"
// CHECK:       %[[Y:[0-9]+]], {{.*}} = "loom.launch"({{.*}}kernel = @gru_
// CHECK:       "loom.launch"({{.*}}%[[Y]]{{.*}}kernel = @gru_

// -----

// Computed weights are packed by a kernel.
func.func @computed_weights(%x: tensor<4x1x2xf32>, %w: tensor<1x3x2xf32>, %r: tensor<1x3x3xf32>) -> tensor<1x1x3xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %y, %yh = "onnx.RNN"(%x, %w, %r, %n, %n, %n) <{hidden_size = 3 : si64}> : (tensor<4x1x2xf32>, tensor<1x3x2xf32>, tensor<1x3x3xf32>, none, none, none) -> (none, tensor<1x1x3xf32>)
  "onnx.Return"(%yh) : (tensor<1x1x3xf32>) -> ()
}
// CHECK-LABEL: sym_name = "computed_weights"
// CHECK-NOT:   "loom.pack"
// CHECK:       kernel = @pack_recurrent
// CHECK:       kernel = @rnn

// -----

// An activation that the standard does not know stays on the host.
func.func @unknown_activation(%x: tensor<4x1x2xf32>, %w: tensor<1x3x2xf32>, %r: tensor<1x3x3xf32>) -> tensor<1x1x3xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %y, %yh = "onnx.RNN"(%x, %w, %r, %n, %n, %n) <{activations = ["Cosine"], hidden_size = 3 : si64}> : (tensor<4x1x2xf32>, tensor<1x3x2xf32>, tensor<1x3x3xf32>, none, none, none) -> (none, tensor<1x1x3xf32>)
  "onnx.Return"(%yh) : (tensor<1x1x3xf32>) -> ()
}
// CHECK-LABEL: sym_name = "unknown_activation"
// CHECK:       reason = "there is no kernel for the activation 'Cosine'"
