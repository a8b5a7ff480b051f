"builtin.module"() ({
  "func.func"() <{function_type = (tensor<f32>, tensor<i64>, tensor<i1>) -> (tensor<*xf32>, tensor<*xf32>), sym_name = "main_graph"}> ({
  ^bb0(%arg0: tensor<f32>, %arg1: tensor<i64>, %arg2: tensor<i1>):
    %0:2 = "onnx.Loop"(%arg1, %arg2, %arg0) ({
    ^bb0(%iteration: tensor<i64>, %keep: tensor<i1>, %carried: tensor<f32>):
      %1 = "onnx.Cast"(%iteration) {saturate = 1 : si64, to = f32} : (tensor<i64>) -> tensor<f32>
      %2 = "onnx.Add"(%carried, %1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %3 = "onnx.Add"(%2, %arg0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      onnx.Yield %keep, %2, %3 : tensor<i1>, tensor<f32>, tensor<f32>
    }) : (tensor<i64>, tensor<i1>, tensor<f32>) -> (tensor<f32>, tensor<?xf32>)
    %4 = "onnx.If"(%arg2) ({
      "onnx.Yield"(%0#0) : (tensor<f32>) -> ()
    }, {
      %5 = "onnx.Neg"(%0#0) : (tensor<f32>) -> tensor<f32>
      "onnx.Yield"(%5) : (tensor<f32>) -> ()
    }) {else_name = "kept"} : (tensor<i1>) -> tensor<f32>
    %6:2 = "onnx.Scan"(%4, %0#1) ({
    ^bb0(%sum: tensor<f32>, %next: tensor<f32>):
      %7 = "onnx.Add"(%sum, %next) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "onnx.Yield"(%7, %7) : (tensor<f32>, tensor<f32>) -> ()
    }) {num_scan_inputs = 1 : si64} : (tensor<f32>, tensor<?xf32>) -> (tensor<f32>, tensor<*xf32>)
    "onnx.Return"(%6#0, %6#1) : (tensor<f32>, tensor<*xf32>) -> ()
  }) : () -> ()
  "onnx.EntryPoint"() {func = @main_graph, numInputs = 3 : i32, numOutputs = 2 : i32, signature = "[    ]\0A\00@[   ]\0A\00"} : () -> ()
}) : () -> ()
