#map = affine_map<(d0) -> (d0)>
#first = loc("early.onnx":1:2)
module {
  func.func @main_graph(%arg0: tensor<4xf32> {onnx.name = "x"} loc("x"), %arg1: tensor<4xf32> loc(#loc3)) -> (tensor<4xf32> {onnx.name = "y"}) {
    %0 = "onnx.Add"(%arg0, %arg1) {onnx_node_name = "add"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc(#loc1)
    %1 = "onnx.Relu"(%0) : (tensor<4xf32>) -> tensor<4xf32> loc(fused<"fusion">["a", "b":2:3])
    %2 = onnx.Constant dense<1.0> : tensor<4xf32> loc(unknown)
    %3 = "onnx.Mul"(%1, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc(callsite("f" at #first))
    %4 = "onnx.Sub"(%3, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("m.onnx":4:5 to :9)
    onnx.Return %4 : tensor<4xf32> loc(#loc2)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc1 = loc("m.onnx":3:7)
#loc2 = loc("ret"(#loc1))
#loc3 = loc(fused[#loc1, #loc2])
