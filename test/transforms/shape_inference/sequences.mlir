// RUN: onnxloom-opt %s -p shape-inference | filecheck %s

// The dims that all elements of a sequence share come out of it again; more precise declarations stay.
// CHECK-LABEL: func.func @sequences
// CHECK: "onnx.SequenceConstruct"{{.*}} -> !onnx.Seq<tensor<?x3xf32>>
// CHECK: "onnx.SequenceAt"{{.*}} -> tensor<?x3xf32>
// CHECK: "onnx.SequenceInsert"{{.*}} -> !onnx.Seq<tensor<?x?xf32>>
// CHECK: "onnx.SequenceLength"{{.*}} -> tensor<i64>
// CHECK: "onnx.SequenceErase"{{.*}} -> !onnx.Seq<tensor<4x3xf32>>
func.func @sequences(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %z: tensor<4x5xf32>, %i: tensor<i64>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.SequenceConstruct"(%x, %y) : (tensor<2x3xf32>, tensor<4x3xf32>) -> !onnx.Seq<tensor<*xf32>>
  %1 = "onnx.SequenceAt"(%0, %i) : (!onnx.Seq<tensor<*xf32>>, tensor<i64>) -> tensor<*xf32>
  %2 = "onnx.SequenceInsert"(%0, %z, %none) : (!onnx.Seq<tensor<*xf32>>, tensor<4x5xf32>, none) -> !onnx.Seq<tensor<*xf32>>
  %3 = "onnx.SequenceLength"(%2) : (!onnx.Seq<tensor<*xf32>>) -> tensor<*xi64>
  %4 = "onnx.SequenceErase"(%0, %none) : (!onnx.Seq<tensor<*xf32>>, none) -> !onnx.Seq<tensor<4x?xf32>>
  onnx.Return
}

// CHECK-LABEL: func.func @split_to_sequence
// CHECK: "onnx.SplitToSequence"{{.*}} -> !onnx.Seq<tensor<3xf32>>
// CHECK: "onnx.SplitToSequence"{{.*}} -> !onnx.Seq<tensor<1x3xf32>>
// CHECK: "onnx.SplitToSequence"{{.*}} -> !onnx.Seq<tensor<2x3xf32>>
// CHECK: "onnx.SplitToSequence"{{.*}} -> !onnx.Seq<tensor<?x3xf32>>
func.func @split_to_sequence(%x: tensor<4x3xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %two = onnx.Constant dense<2> : tensor<i64>
  %uneven = onnx.Constant dense<[1, 3]> : tensor<2xi64>
  %0 = "onnx.SplitToSequence"(%x, %none) <{keepdims = 0 : si64}> : (tensor<4x3xf32>, none) -> !onnx.Seq<tensor<*xf32>>
  %1 = "onnx.SplitToSequence"(%x, %none) : (tensor<4x3xf32>, none) -> !onnx.Seq<tensor<*xf32>>
  %2 = "onnx.SplitToSequence"(%x, %two) : (tensor<4x3xf32>, tensor<i64>) -> !onnx.Seq<tensor<*xf32>>
  %3 = "onnx.SplitToSequence"(%x, %uneven) : (tensor<4x3xf32>, tensor<2xi64>) -> !onnx.Seq<tensor<*xf32>>
  onnx.Return
}
