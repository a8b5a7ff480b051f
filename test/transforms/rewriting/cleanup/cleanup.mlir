// RUN: onnxloom-opt %s -p cleanup | filecheck %s
// RUN: onnxloom-opt %s -p cleanup,cleanup | filecheck %s

// Equal ops, and then what reads them, become one; their constants too.
// CHECK-LABEL: @common
// CHECK-NEXT:  %[[C:.*]] = onnx.Constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:  %[[A:.*]] = "onnx.Add"(%x, %[[C]])
// CHECK-NEXT:  %[[M:.*]] = "onnx.Mul"(%[[A]], %[[A]])
// CHECK-NEXT:  onnx.Return %[[M]]
func.func @common(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = onnx.Constant dense<1.0> : tensor<f32>
  %d = onnx.Constant dense<1.0> : tensor<f32>
  %0 = "onnx.Add"(%x, %c) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "onnx.Identity"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "onnx.Add"(%1, %d) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = "onnx.Mul"(%0, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %3 : tensor<4xf32>
}

// -0.0 is not 0.0, as a constant and as an attribute.
// CHECK-LABEL: @zeros
// CHECK-COUNT-2: onnx.Constant
// CHECK-COUNT-2: onnx.LeakyRelu
// CHECK-COUNT-2: onnx.Add
func.func @zeros(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = onnx.Constant dense<0.0> : tensor<f32>
  %d = onnx.Constant dense<-0.0> : tensor<f32>
  %0 = "onnx.LeakyRelu"(%x) <{alpha = 0.0 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.LeakyRelu"(%x) <{alpha = -0.0 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "onnx.Add"(%0, %c) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = "onnx.Add"(%1, %d) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = "onnx.Sub"(%2, %3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %4 : tensor<4xf32>
}

// Ops nobody reads go with all that only they read; in regions as well.
// CHECK-LABEL: @dead
// CHECK-NEXT:  %{{.*}} = "onnx.If"(%c) ({
// CHECK-NEXT:    %[[E:.*]] = "onnx.Exp"(%x)
// CHECK-NEXT:    "onnx.Yield"(%[[E]])
func.func @dead(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %0 = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.Abs"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "onnx.If"(%c) ({
    %3 = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %4 = "onnx.Sin"(%1) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %3 : tensor<4xf32>
  }, {
    onnx.Yield %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  onnx.Return %2 : tensor<4xf32>
}

// An Identity that makes an output of an input stays; an output of its own is not needed twice.
// CHECK-LABEL: @outputs
// CHECK-NEXT:  %[[I:.*]] = "onnx.Identity"(%x)
// CHECK-NEXT:  %[[A:.*]] = "onnx.Abs"(%[[I]])
// CHECK-NEXT:  %[[B:.*]] = "onnx.Identity"(%[[A]])
// CHECK-NEXT:  onnx.Return %[[I]], %[[A]], %[[B]]
func.func @outputs(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = "onnx.Identity"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.Abs"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "onnx.Identity"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "onnx.Identity"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %0, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
