// Constants keep their bits through two programs; attributes move to the property dictionary.
// RUN: onnxloom-opt %s | onnxloom-opt | filecheck %s

// CHECK-LABEL: func.func @specials
func.func @specials(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: onnx.Constant dense<[0x7F800000, 0xFFC00001]> : tensor<2xf32>
  %0 = onnx.Constant dense<[0x7F800000, 0xFFC00001]> : tensor<2xf32>
  // CHECK-NEXT: onnx.Constant dense<-0.000000e+00> : tensor<bf16>
  %1 = onnx.Constant dense<-0.0> : tensor<bf16>
  // CHECK-NEXT: "onnx.NoValue"() <{value}> : () -> none
  %2 = "onnx.NoValue"() {value} : () -> none
  // CHECK-NEXT: "onnx.Clip"(%x, %0, %2) {onnx_node_name = "clip"} : (tensor<2xf32>, tensor<2xf32>, none) -> tensor<2xf32>
  %3 = "onnx.Clip"(%x, %0, %2) {onnx_node_name = "clip"} : (tensor<2xf32>, tensor<2xf32>, none) -> tensor<2xf32>
  // CHECK-NEXT: "onnx.Softmax"(%3) <{axis = 0 : si64}> : (tensor<2xf32>) -> tensor<2xf32>
  %4 = "onnx.Softmax"(%3) {axis = 0 : si64} : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: onnx.Return %4 : tensor<2xf32>
  "onnx.Return"(%4) : (tensor<2xf32>) -> ()
}
