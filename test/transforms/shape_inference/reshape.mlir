// RUN: onnxloom-opt %s -p shape-inference | filecheck %s

// 0 copies the dim of this Reshape's own input, unless allowzero says it is a size.
// CHECK-LABEL: func.func @zero
// CHECK: "onnx.Reshape"{{.*}} -> tensor<4x6xf32>
// CHECK: "onnx.Reshape"{{.*}} -> tensor<0x6xf32>
func.func @zero(%x: tensor<4x2x3xf32>, %e: tensor<2x0xf32>) {
  %t = onnx.Constant dense<[0, 6]> : tensor<2xi64>
  %0 = "onnx.Reshape"(%x, %t) : (tensor<4x2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  %1 = "onnx.Reshape"(%e, %t) <{allowzero = 1 : si64}> : (tensor<2x0xf32>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return
}

// -1 takes what is left; of a scalar it is 1; of an empty tensor 0.
// CHECK-LABEL: func.func @minus_one
// CHECK: "onnx.Reshape"{{.*}} -> tensor<3x8xf32>
// CHECK: "onnx.Reshape"{{.*}} -> tensor<1xf32>
// CHECK: "onnx.Reshape"{{.*}} -> tensor<0x3xf32>
// CHECK: "onnx.Reshape"{{.*}} -> tensor<?xf32>
func.func @minus_one(%x: tensor<4x2x3xf32>, %s: tensor<f32>, %e: tensor<0x3xf32>, %u: tensor<*xf32>) {
  %t = onnx.Constant dense<[3, -1]> : tensor<2xi64>
  %flat = onnx.Constant dense<[-1]> : tensor<1xi64>
  %rows = onnx.Constant dense<[-1, 3]> : tensor<2xi64>
  %0 = "onnx.Reshape"(%x, %t) : (tensor<4x2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  %1 = "onnx.Reshape"(%s, %flat) : (tensor<f32>, tensor<1xi64>) -> tensor<*xf32>
  %2 = "onnx.Reshape"(%e, %rows) : (tensor<0x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  %3 = "onnx.Reshape"(%u, %flat) : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
  onnx.Return
}

// A target that is not known still tells the rank; an element that is not known may be 0 or -1.
// CHECK-LABEL: func.func @unknown_target
// CHECK: "onnx.Reshape"{{.*}} -> tensor<?x?x?xf32>
// CHECK: "onnx.Reshape"{{.*}} -> tensor<*xf32>
func.func @unknown_target(%x: tensor<4x6xf32>, %t: tensor<3xi64>, %u: tensor<?xi64>) {
  %0 = "onnx.Reshape"(%x, %t) : (tensor<4x6xf32>, tensor<3xi64>) -> tensor<*xf32>
  %1 = "onnx.Reshape"(%x, %u) : (tensor<4x6xf32>, tensor<?xi64>) -> tensor<*xf32>
  onnx.Return
}

// Squeeze without axes may only drop dims that are 1 for sure; Unsqueeze counts axes in the result.
// CHECK-LABEL: func.func @squeeze
// CHECK: "onnx.Squeeze"{{.*}} -> tensor<3xf32>
// CHECK: "onnx.Squeeze"{{.*}} -> tensor<*xf32>
// CHECK: "onnx.Squeeze"{{.*}} -> tensor<?x3xf32>
// CHECK: "onnx.Unsqueeze"{{.*}} -> tensor<1x?x1x3x1xf32>
func.func @squeeze(%x: tensor<1x3x1xf32>, %y: tensor<?x1x3xf32>, %z: tensor<?x3xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %axes = onnx.Constant dense<[-2]> : tensor<1xi64>
  %added = onnx.Constant dense<[-1, 0, 2]> : tensor<3xi64>
  %0 = "onnx.Squeeze"(%x, %none) : (tensor<1x3x1xf32>, none) -> tensor<*xf32>
  %1 = "onnx.Squeeze"(%y, %none) : (tensor<?x1x3xf32>, none) -> tensor<*xf32>
  %2 = "onnx.Squeeze"(%y, %axes) : (tensor<?x1x3xf32>, tensor<1xi64>) -> tensor<*xf32>
  %3 = "onnx.Unsqueeze"(%z, %added) : (tensor<?x3xf32>, tensor<3xi64>) -> tensor<*xf32>
  onnx.Return
}
