!seq = !onnx.Seq<tensor<*xf32>>
module {
  func.func @sequences(%x: tensor<?xf32>, %s: !seq, %o: !onnx.Opt<tensor<?xf32>>, %at: tensor<i64>) -> !onnx.Seq<tensor<*xf32>> {
    %none = "onnx.NoValue"() <{value}> : () -> none
    %0 = "onnx.SequenceEmpty"() : () -> !onnx.Seq<tensor<*xf32>>
    %1 = "onnx.SequenceInsert"(%0, %x, %none) : (!onnx.Seq<tensor<*xf32>>, tensor<?xf32>, none) -> !onnx.Seq<tensor<*xf32>>
    %2 = "onnx.SequenceAt"(%1, %at) : (!onnx.Seq<tensor<*xf32>>, tensor<i64>) -> tensor<?xf32>
    %3 = "onnx.Optional"(%none) {type = tensor<?xf32>} : (none) -> !onnx.Opt<tensor<?xf32>>
    %4 = "onnx.OptionalHasElement"(%o) : (!onnx.Opt<tensor<?xf32>>) -> tensor<i1>
    %5 = "onnx.SequenceMap"(%s) ({
    ^bb0(%item: tensor<*xf32>):
      %6 = "onnx.Relu"(%item) : (tensor<*xf32>) -> tensor<*xf32>
      onnx.Yield %6 : tensor<*xf32>
    }) : (!seq) -> !seq
    onnx.Return %5 : !onnx.Seq<tensor<*xf32>>
  }
  func.func @strings(%x: tensor<?x!onnx.String>) -> tensor<?xi64> {
    %0 = "onnx.StringNormalizer"(%x) {case_change_action = "LOWER", is_case_sensitive = 0 : si64, stopwords = ["the", "\C3\A0"]} : (tensor<?x!onnx.String>) -> tensor<?x!onnx.String>
    %1 = "onnx.LabelEncoder"(%0) {keys_strings = ["a", "b"], values_int64s = [1, 2], default_int64 = -1 : si64} : (tensor<?x!onnx.String>) -> tensor<?xi64>
    onnx.Return %1 : tensor<?xi64>
  }
  func.func @maps(%x: tensor<1x2xf32>) -> !onnx.Seq<!onnx.Map<i64, f32>> {
    %0 = "onnx.ZipMap"(%x) {classlabels_int64s = [0, 1]} : (tensor<1x2xf32>) -> !onnx.Seq<!onnx.Map<i64, f32>>
    onnx.Return %0 : !onnx.Seq<!onnx.Map<i64, f32>>
  }
}
