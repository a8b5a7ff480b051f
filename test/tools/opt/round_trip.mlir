// RUN: onnxloom-opt %s | filecheck %s
// RUN: onnxloom-opt %s | onnxloom-opt | filecheck %s
// RUN: onnxloom-opt %s -o %t && onnxloom-opt %t | filecheck %s

// What is printed parses again, from a file and from stdin.
// CHECK: func.func @f(%x: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %{{.*}} = "onnx.Add"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "onnx.Add"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  "onnx.Return"(%0) : (tensor<2xf32>) -> ()
}
