// pass rewrite-patterns{numerics=exact}: apply: IndexError: tuple index out of range
// feed x1 BOOL scalar True
// feed v20 FLOAT 2x6 0.2259027361869812 -0.0 1.4873154163360596 0.05711865425109863 -2.4030978679656982 -5.385297775268555 -14.360937118530273 -0.11639335006475449 -1.4938572645187378 -0.10462308675050735 0.021370714530348778 0.89986252784729
// feed v21 FLOAT 3x2x6 0.7683572769165039 0.0 1.7959051132202148 0.0 0.0 1.2603471279144287 0.0 1.5812748670578003 0.0 0.10377137362957001 0.0 0.8420006036758423 0.0 0.0 1.774169683456421 0.06803157925605774 0.0 0.0 1.9732455015182495 0.0 1.748836636543274 0.0 1.740256428718567 0.0 1.4462230205535889 0.04807528108358383 0.9335864186286926 1.6321907043457031 1.9033046960830688 0.0 1.9615074396133423 0.0 1.8123478889465332 0.0 0.04190554842352867 1.7738064527511597
// feed v28 FLOAT 2x6 0.47529226541519165 -0.0 1.219555377960205 0.23899509012699127 nan nan nan nan nan nan 0.14618726074695587 0.9486108422279358
builtin.module attributes {onnx.ir_version = 10 : si64, onnx.opset_imports = [":28"], onnx.graph_name = "reduced"} {
  func.func @main_graph(%0: tensor<i1> {onnx.name = "x1"}, %1: tensor<2x6xf32> {onnx.name = "v20"}, %2: tensor<3x2x6xf32> {onnx.name = "v21"}, %3: tensor<2x6xf32> {onnx.name = "v28"}) -> (tensor<3x2x2xf32> {onnx.name = "v24", onnx.declared_type = tensor<?x?x?xf32>}) {
    %4 = onnx.Constant {onnx_node_name = "c22"} dense<0> : tensor<1xi64>
    %5 = onnx.Constant {onnx_node_name = "c23"} dense<2> : tensor<1xi64>
    %6 = onnx.Constant {onnx_node_name = "c26"} dense<6> : tensor<1xi64>
    %7 = "onnx.NoValue"() <{value}> : () -> none
    %8 = "onnx.Slice"(%2, %4, %5, %5, %7) {onnx_node_name = "node_25"} : (tensor<3x2x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<3x2x2xf32>
    %9 = "onnx.Slice"(%2, %5, %6, %5, %7) : (tensor<3x2x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<3x2x4xf32>
    %10, %11 = "onnx.If"(%0) ({
      %12 = onnx.Constant {onnx_node_name = "c32"} dense<1.97763693> : tensor<f32>
      %13 = onnx.Constant {onnx_node_name = "c34"} dense<2> : tensor<1xi64>
      %14 = "onnx.ReduceMax"(%9, %13) <{keepdims = 1 : si64}> : (tensor<3x2x4xf32>, tensor<1xi64>) -> tensor<*xf32>
      %15 = "onnx.Identity"(%1) : (tensor<2x6xf32>) -> tensor<*xf32>
      %16 = "onnx.Identity"(%1) {onnx_node_name = "node_45"} : (tensor<2x6xf32>) -> tensor<*xf32>
      "onnx.Yield"(%15, %16) : (tensor<*xf32>, tensor<*xf32>) -> ()
    }, {
      %17 = "onnx.Sub"(%1, %3) : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<*xf32>
      %18 = "onnx.Sub"(%1, %3) {onnx_node_name = "node_55"} : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<*xf32>
      "onnx.Yield"(%17, %18) : (tensor<*xf32>, tensor<*xf32>) -> ()
    }) : (tensor<i1>) -> (tensor<2x6xf32>, tensor<2x6xf32>)
    onnx.Return %8 : tensor<3x2x2xf32>
  }
  "onnx.EntryPoint"() <{func = @main_graph}> : () -> ()
}
