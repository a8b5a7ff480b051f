// RUN: onnxloom-opt %s -p 'fuse-ops{kinds="onnx.attention"}' --split-input-file | filecheck %s

// Heads are read and written where they are; sizes that are not known make no difference.
// CHECK-LABEL: @swapped
// CHECK:      "onnx.FusedOp"(%q, %k, %v) <{kind = "onnx.attention"}>
// CHECK:      onnx.Transpose
// CHECK-NEXT: onnx.Transpose
// CHECK-NEXT: onnx.Transpose
// CHECK-NEXT: onnx.Attention
// CHECK-NEXT: onnx.Transpose
// CHECK-NEXT: onnx.Yield
// CHECK-NOT:  onnx.Transpose
func.func @swapped(%q: tensor<1x?x2x8xf32>, %k: tensor<1x?x2x8xf32>, %v: tensor<1x?x2x8xf32>) -> (tensor<1x?x2x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %q1 = "onnx.Transpose"(%q) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
  %k1 = "onnx.Transpose"(%k) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
  %v1 = "onnx.Transpose"(%v) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
  %0, %pk, %pv, %qk = "onnx.Attention"(%q1, %k1, %v1, %none, %none, %none, %none) : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, none, none, none, none) -> (tensor<1x2x?x8xf32>, none, none, none)
  %y = "onnx.Transpose"(%0) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x2x?x8xf32>) -> tensor<1x?x2x8xf32>
  onnx.Return %y : tensor<1x?x2x8xf32>
}

// -----

// Three parts of one tensor.
// CHECK-LABEL: @parts
// CHECK-NEXT: "onnx.FusedOp"(%x) <{kind = "onnx.attention"}>
// CHECK:      onnx.Transpose
// CHECK-NEXT: onnx.Gather
// CHECK-NEXT: onnx.Gather
// CHECK-NEXT: onnx.Gather
// CHECK-NEXT: onnx.Attention
// CHECK-NOT:  onnx.Gather
func.func @parts(%x: tensor<1x?x3x2x8xf32>) -> (tensor<1x2x?x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %t = "onnx.Transpose"(%x) <{perm = [2 : i64, 0 : i64, 3 : i64, 1 : i64, 4 : i64]}> : (tensor<1x?x3x2x8xf32>) -> tensor<3x1x2x?x8xf32>
  %iq = onnx.Constant dense<0> : tensor<i64>
  %q = "onnx.Gather"(%t, %iq) <{axis = 0 : si64}> : (tensor<3x1x2x?x8xf32>, tensor<i64>) -> tensor<1x2x?x8xf32>
  %ik = onnx.Constant dense<1> : tensor<i64>
  %k = "onnx.Gather"(%t, %ik) <{axis = 0 : si64}> : (tensor<3x1x2x?x8xf32>, tensor<i64>) -> tensor<1x2x?x8xf32>
  %iv = onnx.Constant dense<2> : tensor<i64>
  %v = "onnx.Gather"(%t, %iv) <{axis = 0 : si64}> : (tensor<3x1x2x?x8xf32>, tensor<i64>) -> tensor<1x2x?x8xf32>
  %0, %pk, %pv, %qk = "onnx.Attention"(%q, %k, %v, %none, %none, %none, %none) : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, none, none, none, none) -> (tensor<1x2x?x8xf32>, none, none, none)
  onnx.Return %0 : tensor<1x2x?x8xf32>
}

// -----

// Past and new keys and values are joined inside, and returned.
// CHECK-LABEL: @joined
// CHECK:      %k2, %v2, %y = "onnx.FusedOp"(%q, %k, %past_k, %v, %past_v) <{kind = "onnx.attention"}>
// CHECK:      onnx.Concat
// CHECK:      onnx.Concat
// CHECK-NEXT: onnx.Attention
// CHECK:      "onnx.Yield"(%k2_1, %v2_1, %y_1)
func.func @joined(%q: tensor<1x?x2x8xf32>, %k: tensor<1x?x2x8xf32>, %v: tensor<1x?x2x8xf32>, %past_k: tensor<1x2x?x8xf32>, %past_v: tensor<1x2x?x8xf32>) -> (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x?x2x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %q1 = "onnx.Transpose"(%q) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
  %k1 = "onnx.Transpose"(%k) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
  %v1 = "onnx.Transpose"(%v) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
  %k2 = "onnx.Concat"(%past_k, %k1) <{axis = 2 : si64}> : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>) -> tensor<1x2x?x8xf32>
  %v2 = "onnx.Concat"(%past_v, %v1) <{axis = 2 : si64}> : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>) -> tensor<1x2x?x8xf32>
  %0, %pk, %pv, %qk = "onnx.Attention"(%q1, %k2, %v2, %none, %none, %none, %none) : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, none, none, none, none) -> (tensor<1x2x?x8xf32>, none, none, none)
  %y = "onnx.Transpose"(%0) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x2x?x8xf32>) -> tensor<1x?x2x8xf32>
  onnx.Return %k2, %v2, %y : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x?x2x8xf32>
}

// -----

// Negative: the transposed queries are read elsewhere, so that they are there anyway.
// CHECK-LABEL: @read_elsewhere
// CHECK-NEXT: onnx.Transpose
// CHECK-NEXT: "onnx.FusedOp"(%k, %v, %q1)
func.func @read_elsewhere(%q: tensor<1x?x2x8xf32>, %k: tensor<1x?x2x8xf32>, %v: tensor<1x?x2x8xf32>) -> (tensor<1x?x2x8xf32>, tensor<1x2x?x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %q1 = "onnx.Transpose"(%q) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
  %k1 = "onnx.Transpose"(%k) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
  %v1 = "onnx.Transpose"(%v) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
  %0, %pk, %pv, %qk = "onnx.Attention"(%q1, %k1, %v1, %none, %none, %none, %none) : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, none, none, none, none) -> (tensor<1x2x?x8xf32>, none, none, none)
  %y = "onnx.Transpose"(%0) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x2x?x8xf32>) -> tensor<1x?x2x8xf32>
  onnx.Return %y, %q1 : tensor<1x?x2x8xf32>, tensor<1x2x?x8xf32>
}

// -----

// Negative: joined keys that an op of the graph reads are made where they were.
// CHECK-LABEL: @joined_and_read
// CHECK:      %k2 = "onnx.Concat"
// CHECK:      %n = "onnx.Neg"(%k2)
// CHECK:      %v2, %y = "onnx.FusedOp"(%q, %v, %past_v, %k2) <{kind = "onnx.attention"}>
func.func @joined_and_read(%q: tensor<1x?x2x8xf32>, %k: tensor<1x?x2x8xf32>, %v: tensor<1x?x2x8xf32>, %past_k: tensor<1x2x?x8xf32>, %past_v: tensor<1x2x?x8xf32>) -> (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x?x2x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %q1 = "onnx.Transpose"(%q) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
  %k1 = "onnx.Transpose"(%k) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
  %v1 = "onnx.Transpose"(%v) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
  %k2 = "onnx.Concat"(%past_k, %k1) <{axis = 2 : si64}> : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>) -> tensor<1x2x?x8xf32>
  %n = "onnx.Neg"(%k2) : (tensor<1x2x?x8xf32>) -> tensor<1x2x?x8xf32>
  %v2 = "onnx.Concat"(%past_v, %v1) <{axis = 2 : si64}> : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>) -> tensor<1x2x?x8xf32>
  %0, %pk, %pv, %qk = "onnx.Attention"(%q1, %k2, %v2, %none, %none, %none, %none) : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, none, none, none, none) -> (tensor<1x2x?x8xf32>, none, none, none)
  %y = "onnx.Transpose"(%0) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x2x?x8xf32>) -> tensor<1x?x2x8xf32>
  onnx.Return %n, %v2, %y : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x?x2x8xf32>
}

// -----

// Negative: nothing to read through.
// CHECK-LABEL: @alone
// CHECK-NOT: onnx.FusedOp
func.func @alone(%q: tensor<1x2x?x8xf32>) -> tensor<1x2x?x8xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0, %pk, %pv, %qk = "onnx.Attention"(%q, %q, %q, %none, %none, %none, %none) : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, none, none, none, none) -> (tensor<1x2x?x8xf32>, none, none, none)
  onnx.Return %0 : tensor<1x2x?x8xf32>
}
