// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// Shape arithmetic is evaluated at plan time and reads only the shape; the Reshape is a view.
func.func @shapes(%a: tensor<?x4xf32>) -> tensor<?x2x2xf32> {
  %s = "onnx.Shape"(%a) <{start = 0 : si64, end = 1 : si64}> : (tensor<?x4xf32>) -> tensor<1xi64>
  %r = onnx.Constant dense<[2, 2]> : tensor<2xi64>
  %t = "onnx.Concat"(%s, %r) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<2xi64>) -> tensor<3xi64>
  %0 = "onnx.Reshape"(%a, %t) : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<?x2x2xf32>
  "onnx.Return"(%0) : (tensor<?x2x2xf32>) -> ()
}
// CHECK-LABEL: sym_name = "shapes"
// CHECK:      "loom.host"({{.*}}) <{reason = "evaluated once per shape key: reads only shapes and constants", shape_only = [0 : i64]}>
// CHECK:      "onnx.Shape"
// CHECK:      "loom.host"
// CHECK:      "onnx.Concat"
// CHECK:      "loom.reshape_sizes"
// CHECK:      "loom.view"

// -----

// An op without a kernel says so; an omitted operand is recreated inside.
func.func @no_kernel(%a: tensor<6x4xf32>, %s: tensor<1x1x6xf32>, %t: tensor<f32>) -> tensor<?x3xi64> {
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.NonMaxSuppression"(%a, %s, %n, %t, %n) : (tensor<6x4xf32>, tensor<1x1x6xf32>, none, tensor<f32>, none) -> tensor<?x3xi64>
  "onnx.Return"(%0) : (tensor<?x3xi64>) -> ()
}
// CHECK-LABEL: sym_name = "no_kernel"
// CHECK:      reason = "boxes or scores that are not of rank 3 have no kernel"
// CHECK:      "onnx.NoValue"
// CHECK:      "onnx.NonMaxSuppression"
// CHECK:      "loom.yield"

// -----

// A random op is volatile: never evaluated once and kept.
func.func @random() -> tensor<3xf32> {
  %0 = "onnx.RandomNormal"() <{shape = [3]}> : () -> tensor<3xf32>
  "onnx.Return"(%0) : (tensor<3xf32>) -> ()
}
// CHECK-LABEL: sym_name = "random"
// CHECK:      "loom.host"
// CHECK-SAME: volatile

// -----

// Without a rank there is no loop nest.
func.func @unranked(%a: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Relu"(%a) : (tensor<*xf32>) -> tensor<*xf32>
  "onnx.Return"(%0) : (tensor<*xf32>) -> ()
}
// CHECK-LABEL: sym_name = "unranked"
// CHECK:      reason = "the rank of an operand is not known"

// -----

// Kernels hold no strings.
func.func @strings(%a: tensor<2x!onnx.String>, %b: tensor<2x!onnx.String>) -> tensor<2xi1> {
  %0 = "onnx.Equal"(%a, %b) : (tensor<2x!onnx.String>, tensor<2x!onnx.String>) -> tensor<2xi1>
  "onnx.Return"(%0) : (tensor<2xi1>) -> ()
}
// CHECK-LABEL: sym_name = "strings"
// CHECK:      reason = "onnx.Equal has no kernel for this form
