// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns=UnsqueezeUnsqueeze}' | filecheck %s

// Positive: negative axes are those of each op's own result.
// CHECK-LABEL: @merged
// CHECK-NEXT:    %[[AXES:.*]] = onnx.Constant {{.*}}dense<[1, 2]>
// CHECK-NEXT:    "onnx.Unsqueeze"(%x, %[[AXES]]) : (tensor<3xf32>, tensor<2xi64>) -> tensor<3x1x1xf32>
// CHECK-NEXT:    onnx.Return
func.func @merged(%x: tensor<3xf32>) -> tensor<3x1x1xf32> {
  %a = onnx.Constant dense<[-1]> : tensor<1xi64>
  %0 = "onnx.Unsqueeze"(%x, %a) : (tensor<3xf32>, tensor<1xi64>) -> tensor<3x1xf32>
  %1 = "onnx.Unsqueeze"(%0, %a) : (tensor<3x1xf32>, tensor<1xi64>) -> tensor<3x1x1xf32>
  onnx.Return %1 : tensor<3x1x1xf32>
}

// Negative: the axes of one are computed.
// CHECK-LABEL: @computed
// CHECK-COUNT-2: onnx.Unsqueeze
func.func @computed(%x: tensor<3xf32>, %a: tensor<1xi64>) -> tensor<?x?x?xf32> {
  %b = onnx.Constant dense<[0]> : tensor<1xi64>
  %0 = "onnx.Unsqueeze"(%x, %a) : (tensor<3xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  %1 = "onnx.Unsqueeze"(%0, %b) : (tensor<?x?xf32>, tensor<1xi64>) -> tensor<?x?x?xf32>
  onnx.Return %1 : tensor<?x?x?xf32>
}
