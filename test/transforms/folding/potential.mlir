// RUN: onnxloom-opt %s -p 'fold-dimensions{mark-only=true}' --split-input-file | filecheck %s --check-prefix MARKED
// RUN: onnxloom-opt %s -p 'fold-dimensions{mark-only=true},fold-constants' --split-input-file --report 2>&1 | filecheck %s

// Positive: the sizes are kept aside by fold-dimensions, what is made of them by fold-constants, which
// waits for the sizes. At the end of its traversal all of it takes effect.
// MARKED-LABEL: func.func @kept_aside
// MARKED-NEXT: "onnx.Shape"(%x) {onnxloom.potential = {origin = "fold-dimensions", values = [dense<[2, 3]> : tensor<2xi64>], missing = []}}
// MARKED: "onnx.Cast"
// MARKED-SAME: -> tensor<2xf32>
// CHECK: fold-constants: folded 3 ops
// CHECK-LABEL: func.func @kept_aside
// CHECK-NEXT: onnx.Constant {onnxloom.folded = "fold-constants"} dense<[4.000000e+00, 6.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: onnx.Return
func.func @kept_aside(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %s = "onnx.Shape"(%x) : (tensor<2x3xf32>) -> tensor<2xi64>
  %f = "onnx.Cast"(%s) {to = 1 : si64} : (tensor<2xi64>) -> tensor<2xf32>
  %y = "onnx.Add"(%f, %f) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %y : tensor<2xf32>
}

// -----

// A value that another pass kept aside is neither replaced nor cleared, and waits for what is missing.
// CHECK-LABEL: func.func @waits
// CHECK: "onnx.Neg"(%x) {onnxloom.potential = {origin = "somebody", values = [dense<7> : tensor<i64>], missing = [0 : i64]}}
// CHECK: "onnx.Abs"{{.*}}onnxloom.potential = {origin = "fold-constants", values = [dense<7> : tensor<i64>], missing = [0 : i64]}
func.func @waits(%x: tensor<i64>) -> tensor<i64> {
  %0 = "onnx.Neg"(%x) {onnxloom.potential = {origin = "somebody", values = [dense<7> : tensor<i64>], missing = [0]}} : (tensor<i64>) -> tensor<i64>
  %1 = "onnx.Abs"(%0) : (tensor<i64>) -> tensor<i64>
  onnx.Return %1 : tensor<i64>
}

// -----

// What fold-constants kept aside and no longer holds is cleared by it; so is what is unreadable.
// CHECK-LABEL: func.func @cleared
// CHECK: "onnx.Neg"(%x) : (tensor<i64>)
// CHECK: "onnx.Abs"(%x) : (tensor<i64>)
func.func @cleared(%x: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
  %0 = "onnx.Neg"(%x) {onnxloom.potential = {origin = "fold-constants", values = [dense<7> : tensor<i64>], missing = [0]}} : (tensor<i64>) -> tensor<i64>
  %1 = "onnx.Abs"(%x) {onnxloom.potential = "nonsense"} : (tensor<i64>) -> tensor<i64>
  onnx.Return %0, %1 : tensor<i64>, tensor<i64>
}

// -----

// An input that is left out is known; one that is there and not known is not left out.
// CHECK-LABEL: func.func @optional
// CHECK: onnx.Constant {onnx_node_name = "known", {{.*}}} dense<2> : tensor<2xi64>
// CHECK: "onnx.Clip"{{.*}} {onnx_node_name = "unknown"}
func.func @optional(%x: tensor<2x3xf32>, %low: tensor<i64>) -> (tensor<2xi64>, tensor<2xi64>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %two = onnx.Constant dense<2> : tensor<i64>
  %s = "onnx.Shape"(%x) : (tensor<2x3xf32>) -> tensor<2xi64>
  %0 = "onnx.Clip"(%s, %none, %two) {onnx_node_name = "known"} : (tensor<2xi64>, none, tensor<i64>) -> tensor<2xi64>
  %1 = "onnx.Clip"(%s, %low, %none) {onnx_node_name = "unknown"} : (tensor<2xi64>, tensor<i64>, none) -> tensor<2xi64>
  onnx.Return %0, %1 : tensor<2xi64>, tensor<2xi64>
}
