// RUN: onnxloom-opt %s -p convert-onnx-to-loom --split-input-file | filecheck %s

// Positive: dims of one name are equal whatever is passed in: one kernel, no choice.
func.func @proven(%x: tensor<?x8xf32> {onnx.dim_params = "0:n"}, %y: tensor<?x8xf32> {onnx.dim_params = "0:n"}) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0, %1 = "onnx.FusedOp"(%x, %y) <{kind = "onnx.elementwise"}> ({
  ^bb0(%a: tensor<?x8xf32>, %b: tensor<?x8xf32>):
    %2 = "onnx.Neg"(%a) : (tensor<?x8xf32>) -> tensor<?x8xf32>
    %3 = "onnx.Add"(%2, %b) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    "onnx.Yield"(%2, %3) : (tensor<?x8xf32>, tensor<?x8xf32>) -> ()
  }) {dim_conditions = [[1, 0, 0, 0]], loop_rank = 2 : si64, op_count = 2 : si64} : (tensor<?x8xf32>, tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  onnx.Return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}
// CHECK: "loom.program"
// CHECK-NOT: "loom.if"
// CHECK: "loom.launch"
// CHECK-NOT: "loom.launch"
// CHECK: "loom.return"

// -----

// Negative: nothing but the fused op itself says so: the plan of each shape key decides.
func.func @claimed(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0, %1 = "onnx.FusedOp"(%x, %y) <{kind = "onnx.elementwise"}> ({
  ^bb0(%a: tensor<?x8xf32>, %b: tensor<?x8xf32>):
    %2 = "onnx.Neg"(%a) : (tensor<?x8xf32>) -> tensor<?x8xf32>
    %3 = "onnx.Add"(%2, %b) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    "onnx.Yield"(%2, %3) : (tensor<?x8xf32>, tensor<?x8xf32>) -> ()
  }) {dim_conditions = [[1, 0, 0, 0]], loop_rank = 2 : si64, op_count = 2 : si64} : (tensor<?x8xf32>, tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  onnx.Return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}
// CHECK: "loom.program"
// CHECK: "loom.dims_equal"
// CHECK: "loom.if"
// CHECK: "loom.launch"
// CHECK: "loom.launch"
// CHECK: "loom.launch"
