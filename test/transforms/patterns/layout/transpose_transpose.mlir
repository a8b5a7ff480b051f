// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="TransposeTranspose"}' | filecheck %s

// Positive: the composition, not its inverse; [1, 2, 0] is no involution.
// CHECK-LABEL: @merged
// CHECK-NEXT:  %{{.*}} = "onnx.Transpose"(%x) <{perm = [2 : i64, 0 : i64, 1 : i64]}> {{.*}} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
// CHECK-NEXT:  onnx.Return
func.func @merged(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = "onnx.Transpose"(%x) <{perm = [1, 2, 0]}> {onnx_node_name = "first"} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = "onnx.Transpose"(%0) <{perm = [1, 2, 0]}> {onnx_node_name = "second"} : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  onnx.Return %1 : tensor<4x2x3xf32>
}

// Positive: both undo each other; a symbolic dim.
// CHECK-LABEL: @cancelled
// CHECK-NEXT:  %{{.*}} = "onnx.Abs"(%x)
// CHECK-NEXT:  onnx.Return
func.func @cancelled(%x: tensor<?x3x4xf32>) -> tensor<?x3x4xf32> {
  %0 = "onnx.Transpose"(%x) <{perm = [1, 2, 0]}> : (tensor<?x3x4xf32>) -> tensor<3x4x?xf32>
  %1 = "onnx.Transpose"(%0) <{perm = [2, 0, 1]}> : (tensor<3x4x?xf32>) -> tensor<?x3x4xf32>
  %2 = "onnx.Abs"(%1) : (tensor<?x3x4xf32>) -> tensor<?x3x4xf32>
  onnx.Return %2 : tensor<?x3x4xf32>
}

// Positive: the inner one is an output of its own and stays, the outer one goes.
// CHECK-LABEL: @cancelled_beside_output
// CHECK-NEXT:  %[[T:.*]] = "onnx.Transpose"(%x)
// CHECK-NEXT:  %[[A:.*]] = "onnx.Abs"(%x)
// CHECK-NEXT:  onnx.Return %[[T]], %[[A]]
func.func @cancelled_beside_output(%x: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<2x3xf32>) {
  %0 = "onnx.Transpose"(%x) <{perm = [1, 0]}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = "onnx.Transpose"(%0) <{perm = [1, 0]}> : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %2 = "onnx.Abs"(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return %0, %2 : tensor<3x2xf32>, tensor<2x3xf32>
}

// Negative: the inner result is an output, and the two do not cancel.
// CHECK-LABEL: @shared
// CHECK-COUNT-2: onnx.Transpose
// CHECK-NEXT:  onnx.Return
func.func @shared(%x: tensor<2x3x4xf32>) -> (tensor<3x4x2xf32>, tensor<4x2x3xf32>) {
  %0 = "onnx.Transpose"(%x) <{perm = [1, 2, 0]}> : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = "onnx.Transpose"(%0) <{perm = [1, 2, 0]}> : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  onnx.Return %0, %1 : tensor<3x4x2xf32>, tensor<4x2x3xf32>
}

// A chain of four ends as one.
// CHECK-LABEL: @chain
// CHECK-NEXT:  %[[T:.*]] = "onnx.Transpose"(%x) <{perm = [1 : i64, 2 : i64, 0 : i64]}>
// CHECK-NEXT:  onnx.Return %[[T]]
func.func @chain(%x: tensor<2x3x4xf32>) -> tensor<3x4x2xf32> {
  %0 = "onnx.Transpose"(%x) <{perm = [1, 2, 0]}> : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = "onnx.Transpose"(%0) <{perm = [1, 2, 0]}> : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  %2 = "onnx.Transpose"(%1) <{perm = [1, 2, 0]}> : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
  %3 = "onnx.Transpose"(%2) <{perm = [1, 2, 0]}> : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  onnx.Return %3 : tensor<3x4x2xf32>
}
