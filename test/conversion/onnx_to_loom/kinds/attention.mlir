// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// One kernel: nothing is transposed.
// CHECK:      sym_name = "attention_
// CHECK-NOT:  "loom.kernel"
// CHECK:      sym_name = "swapped"
// CHECK:      "loom.launch"
// CHECK-SAME: kernel = @attention_
// CHECK-NOT:  "loom.launch"
func.func @swapped(%q: tensor<1x?x2x8xf32>, %k: tensor<1x?x2x8xf32>, %v: tensor<1x?x2x8xf32>) -> tensor<1x?x2x8xf32> {
  %y = "onnx.FusedOp"(%q, %k, %v) <{kind = "onnx.attention"}> ({
  ^bb0(%q_1: tensor<1x?x2x8xf32>, %k_1: tensor<1x?x2x8xf32>, %v_1: tensor<1x?x2x8xf32>):
    %none = "onnx.NoValue"() <{value}> : () -> none
    %q1 = "onnx.Transpose"(%q_1) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
    %k1 = "onnx.Transpose"(%k_1) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
    %v1 = "onnx.Transpose"(%v_1) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
    %0, %pk, %pv, %qk = "onnx.Attention"(%q1, %k1, %v1, %none, %none, %none, %none) : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, none, none, none, none) -> (tensor<1x2x?x8xf32>, none, none, none)
    %y_1 = "onnx.Transpose"(%0) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x2x?x8xf32>) -> tensor<1x?x2x8xf32>
    "onnx.Yield"(%y_1) : (tensor<1x?x2x8xf32>) -> ()
  }) : (tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>) -> tensor<1x?x2x8xf32>
  onnx.Return %y : tensor<1x?x2x8xf32>
}

// -----

// Parts are views of one tensor.
// CHECK:      sym_name = "attention_
// CHECK-NOT:  "loom.kernel"
// CHECK:      sym_name = "parts"
// CHECK-COUNT-3: "loom.view"(%0, {{.*}} -> tensor<?xf32>
// CHECK:      "loom.launch"
// CHECK-SAME: kernel = @attention_
// CHECK-NOT:  "loom.launch"
func.func @parts(%x: tensor<1x?x3x2x8xf32>) -> tensor<1x2x?x8xf32> {
  %0 = "onnx.FusedOp"(%x) <{kind = "onnx.attention"}> ({
  ^bb0(%x_1: tensor<1x?x3x2x8xf32>):
    %iq = onnx.Constant dense<0> : tensor<i64>
    %ik = onnx.Constant dense<1> : tensor<i64>
    %iv = onnx.Constant dense<2> : tensor<i64>
    %none = "onnx.NoValue"() <{value}> : () -> none
    %t = "onnx.Transpose"(%x_1) <{perm = [2 : i64, 0 : i64, 3 : i64, 1 : i64, 4 : i64]}> : (tensor<1x?x3x2x8xf32>) -> tensor<3x1x2x?x8xf32>
    %q = "onnx.Gather"(%t, %iq) <{axis = 0 : si64}> : (tensor<3x1x2x?x8xf32>, tensor<i64>) -> tensor<1x2x?x8xf32>
    %k = "onnx.Gather"(%t, %ik) <{axis = 0 : si64}> : (tensor<3x1x2x?x8xf32>, tensor<i64>) -> tensor<1x2x?x8xf32>
    %v = "onnx.Gather"(%t, %iv) <{axis = 0 : si64}> : (tensor<3x1x2x?x8xf32>, tensor<i64>) -> tensor<1x2x?x8xf32>
    %1, %pk, %pv, %qk = "onnx.Attention"(%q, %k, %v, %none, %none, %none, %none) : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, none, none, none, none) -> (tensor<1x2x?x8xf32>, none, none, none)
    "onnx.Yield"(%1) : (tensor<1x2x?x8xf32>) -> ()
  }) : (tensor<1x?x3x2x8xf32>) -> tensor<1x2x?x8xf32>
  onnx.Return %0 : tensor<1x2x?x8xf32>
}

// -----

// Past and new keys are copied into one tensor, which the kernel reads and the program returns.
// CHECK:      sym_name = "joined"
// CHECK:      "loom.launch"(%3, {{.*}}kernel = @copy_rows_
// CHECK-NEXT: %21 = "loom.launch"(%1, {{.*}}kernel = @copy_box_
// CHECK:      "loom.launch"(%4, {{.*}}kernel = @copy_rows_
// CHECK-NEXT: %33 = "loom.launch"(%2, {{.*}}kernel = @copy_box_
// CHECK:      %51, %52, %53 = "loom.launch"(%0, %21, %33, {{.*}}kernel = @attention_
// CHECK-NOT:  "loom.launch"
// CHECK:      (%21, %33, %51)
func.func @joined(%q: tensor<1x?x2x8xf32>, %k: tensor<1x?x2x8xf32>, %v: tensor<1x?x2x8xf32>, %past_k: tensor<1x2x?x8xf32>, %past_v: tensor<1x2x?x8xf32>) -> (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x?x2x8xf32>) {
  %k2, %v2, %y = "onnx.FusedOp"(%q, %k, %past_k, %v, %past_v) <{kind = "onnx.attention"}> ({
  ^bb0(%q_1: tensor<1x?x2x8xf32>, %k_1: tensor<1x?x2x8xf32>, %past_k_1: tensor<1x2x?x8xf32>, %v_1: tensor<1x?x2x8xf32>, %past_v_1: tensor<1x2x?x8xf32>):
    %none = "onnx.NoValue"() <{value}> : () -> none
    %q1 = "onnx.Transpose"(%q_1) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
    %k1 = "onnx.Transpose"(%k_1) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
    %k2_1 = "onnx.Concat"(%past_k_1, %k1) <{axis = 2 : si64}> : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>) -> tensor<1x2x?x8xf32>
    %v1 = "onnx.Transpose"(%v_1) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x?x2x8xf32>) -> tensor<1x2x?x8xf32>
    %v2_1 = "onnx.Concat"(%past_v_1, %v1) <{axis = 2 : si64}> : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>) -> tensor<1x2x?x8xf32>
    %0, %pk, %pv, %qk = "onnx.Attention"(%q1, %k2_1, %v2_1, %none, %none, %none, %none) : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, none, none, none, none) -> (tensor<1x2x?x8xf32>, none, none, none)
    %y_1 = "onnx.Transpose"(%0) <{perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]}> : (tensor<1x2x?x8xf32>) -> tensor<1x?x2x8xf32>
    "onnx.Yield"(%k2_1, %v2_1, %y_1) : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x?x2x8xf32>) -> ()
  }) : (tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>, tensor<1x2x?x8xf32>, tensor<1x?x2x8xf32>, tensor<1x2x?x8xf32>) -> (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x?x2x8xf32>)
  onnx.Return %k2, %v2, %y : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x?x2x8xf32>
}
