// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// Scores never leave the kernel.
func.func @whole(%q: tensor<1x2x?x8xf32>, %k: tensor<1x2x?x8xf32>, %v: tensor<1x2x?x8xf32>) -> tensor<1x2x?x8xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %y, %a, %b, %c = "onnx.Attention"(%q, %k, %v, %none, %none, %none, %none) <{is_causal = 1 : si64}> : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, none, none, none, none) -> (tensor<1x2x?x8xf32>, none, none, none)
  "onnx.Return"(%y) : (tensor<1x2x?x8xf32>) -> ()
}
// CHECK:      "loom.kernel"() <{sym_name = "attention_
// CHECK:      loom.microkernel
// CHECK:      sym_name = "whole"
// CHECK:      kernel = @attention_
// CHECK-NOT:  kernel =

// -----

// A window is computed as the standard's function body says.
func.func @window(%q: tensor<1x2x3x8xf32>, %k: tensor<1x2x3x8xf32>, %v: tensor<1x2x3x8xf32>) -> tensor<1x2x3x8xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %y, %a, %b, %c = "onnx.Attention"(%q, %k, %v, %none, %none, %none, %none) <{left_window_size = 1 : si64}> : (tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, none, none, none, none) -> (tensor<1x2x3x8xf32>, none, none, none)
  "onnx.Return"(%y) : (tensor<1x2x3x8xf32>) -> ()
}
// CHECK-NOT:  sym_name = "attention_
// CHECK:      sym_name = "window"
// CHECK:      kernel = @softmax

// -----

// So are half-width floats.
func.func @half(%q: tensor<1x2x3x8xf16>, %k: tensor<1x2x3x8xf16>, %v: tensor<1x2x3x8xf16>) -> tensor<1x2x3x8xf16> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %y, %a, %b, %c = "onnx.Attention"(%q, %k, %v, %none, %none, %none, %none) : (tensor<1x2x3x8xf16>, tensor<1x2x3x8xf16>, tensor<1x2x3x8xf16>, none, none, none, none) -> (tensor<1x2x3x8xf16>, none, none, none)
  "onnx.Return"(%y) : (tensor<1x2x3x8xf16>) -> ()
}
// CHECK-NOT:  sym_name = "attention_
// CHECK:      sym_name = "half"
// CHECK:      kernel = @softmax
