// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="SlicesSplit"}' | filecheck %s

// Positive, though the second part comes first.
// CHECK-LABEL: @positive
// CHECK:       %[[SIZES:.*]] = onnx.Constant dense<[4, 2]> : tensor<2xi64>
// CHECK-NEXT:  %[[Y:.*]], %[[Z:.*]] = "onnx.Split"(%x, %[[SIZES]]) <{axis = 1 : si64}>
// CHECK-NEXT:  onnx.Return %[[Y]], %[[Z]]
func.func @positive(%x: tensor<?x6xf32>) -> (tensor<?x4xf32>, tensor<?x2xf32>) {
  %ax = onnx.Constant dense<-1> : tensor<1xi64>
  %a = onnx.Constant dense<0> : tensor<1xi64>
  %b = onnx.Constant dense<4> : tensor<1xi64>
  %e = onnx.Constant dense<9223372036854775807> : tensor<1xi64>
  %none = "onnx.NoValue"() {value} : () -> none
  %z = "onnx.Slice"(%x, %b, %e, %ax, %none) : (tensor<?x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<?x2xf32>
  %y = "onnx.Slice"(%x, %a, %b, %ax, %none) : (tensor<?x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<?x4xf32>
  onnx.Return %y, %z : tensor<?x4xf32>, tensor<?x2xf32>
}

// Negative: an element is in both.
// CHECK-LABEL: @overlap
// CHECK-COUNT-2: onnx.Slice
func.func @overlap(%x: tensor<?x6xf32>) -> (tensor<?x4xf32>, tensor<?x3xf32>) {
  %ax = onnx.Constant dense<1> : tensor<1xi64>
  %a = onnx.Constant dense<0> : tensor<1xi64>
  %b = onnx.Constant dense<4> : tensor<1xi64>
  %c = onnx.Constant dense<3> : tensor<1xi64>
  %e = onnx.Constant dense<6> : tensor<1xi64>
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.Slice"(%x, %a, %b, %ax, %none) : (tensor<?x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<?x4xf32>
  %z = "onnx.Slice"(%x, %c, %e, %ax, %none) : (tensor<?x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<?x3xf32>
  onnx.Return %y, %z : tensor<?x4xf32>, tensor<?x3xf32>
}

// Negative: the axis may be longer.
// CHECK-LABEL: @unknown
// CHECK-COUNT-2: onnx.Slice
func.func @unknown(%x: tensor<2x?xf32>) -> (tensor<2x?xf32>, tensor<2x?xf32>) {
  %ax = onnx.Constant dense<1> : tensor<1xi64>
  %a = onnx.Constant dense<0> : tensor<1xi64>
  %b = onnx.Constant dense<4> : tensor<1xi64>
  %e = onnx.Constant dense<9223372036854775807> : tensor<1xi64>
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.Slice"(%x, %a, %b, %ax, %none) : (tensor<2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<2x?xf32>
  %z = "onnx.Slice"(%x, %b, %e, %ax, %none) : (tensor<2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<2x?xf32>
  onnx.Return %y, %z : tensor<2x?xf32>, tensor<2x?xf32>
}
