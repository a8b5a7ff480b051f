// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="CastCast"}' | filecheck %s

// Positive: there and back through a wider type.
// CHECK-LABEL: @round_trip
// CHECK-NEXT:  %[[A:.*]] = "onnx.Abs"(%x)
// CHECK-NEXT:  onnx.Return %[[A]]
func.func @round_trip(%x: tensor<?xf16>) -> tensor<?xf16> {
  %0 = "onnx.Cast"(%x) <{to = 1 : si64}> : (tensor<?xf16>) -> tensor<?xf32>
  %1 = "onnx.Cast"(%0) <{to = 10 : si64}> : (tensor<?xf32>) -> tensor<?xf16>
  %2 = "onnx.Abs"(%1) : (tensor<?xf16>) -> tensor<?xf16>
  onnx.Return %2 : tensor<?xf16>
}

// Positive: the first step widens; the inner Cast, an output of its own, stays.
// CHECK-LABEL: @widened
// CHECK-NEXT:  %[[W:.*]] = "onnx.Cast"(%x) <{{.*}}to = 11
// CHECK-NEXT:  %[[N:.*]] = "onnx.Cast"(%x) <{{.*}}to = 1 : si64}> {onnx_node_name = "last"}
// CHECK-NEXT:  onnx.Return %[[W]], %[[N]]
func.func @widened(%x: tensor<4xf16>) -> (tensor<4xf64>, tensor<4xf32>) {
  %0 = "onnx.Cast"(%x) <{to = 11 : si64}> : (tensor<4xf16>) -> tensor<4xf64>
  %1 = "onnx.Cast"(%0) <{to = 1 : si64}> {onnx_node_name = "last"} : (tensor<4xf64>) -> tensor<4xf32>
  onnx.Return %0, %1 : tensor<4xf64>, tensor<4xf32>
}

// Negative: the first step rounds.
// CHECK-LABEL: @rounds
// CHECK-COUNT-2: onnx.Cast
func.func @rounds(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "onnx.Cast"(%x) <{to = 10 : si64}> : (tensor<4xf32>) -> tensor<4xf16>
  %1 = "onnx.Cast"(%0) <{to = 1 : si64}> : (tensor<4xf16>) -> tensor<4xf32>
  onnx.Return %1 : tensor<4xf32>
}
