// Ops and terminators that other tools write under other names.
func.func @other_names(%x: tensor<1x4x8x8xf32>, %p: tensor<4xf32>, %n: tensor<i64>, %c: tensor<i1>) -> tensor<*xf32> {
  %0 = "onnx.MaxPoolSingleOut"(%x) {kernel_shape = [2, 2], storage_order = 0 : si64} : (tensor<1x4x8x8xf32>) -> tensor<*xf32>
  %1 = "onnx.BatchNormalizationInferenceMode"(%0, %p, %p, %p, %p) {epsilon = 1.0e-5 : f32} : (tensor<*xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<*xf32>
  %2:2 = "onnx.Loop"(%n, %c, %1) ({
  ^bb0(%i: tensor<i64>, %keep: tensor<i1>, %v: tensor<*xf32>):
    %3 = "onnx.Relu"(%v) : (tensor<*xf32>) -> tensor<*xf32>
    onnx.Return %keep, %3, %3 : tensor<i1>, tensor<*xf32>, tensor<*xf32>
  }) : (tensor<i64>, tensor<i1>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  %4 = "onnx.Fused"(%2#0) <{kind = "some-kind"}> ({
  ^bb0(%a: tensor<*xf32>):
    %5 = "onnx.Neg"(%a) {constantfoldable} : (tensor<*xf32>) -> tensor<*xf32>
    onnx.Yield %5 : tensor<*xf32>
  }) {axis = 3 : i64, hasOp = true, onnx_node_name = "onnx.Neg"} : (tensor<*xf32>) -> tensor<*xf32>
  return %4 : tensor<*xf32>
}
