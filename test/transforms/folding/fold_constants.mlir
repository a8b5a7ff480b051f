// RUN: onnxloom-opt %s -p fold-constants | filecheck %s

// Positive: a chain folds in one sweep; the constant has the name and the notes of the op, the type is exact.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: %y = onnx.Constant {onnx_node_name = "mul", my.note, onnxloom.folded = "fold-constants"} dense<[3.000000e+00, 6.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: onnx.Return %y : tensor<2xf32>
func.func @chain() -> tensor<*xf32> {
  %c = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
  %d = onnx.Constant dense<3.0> : tensor<f32>
  %0 = "onnx.Identity"(%c) : (tensor<2xf32>) -> tensor<*xf32>
  %y = "onnx.Mul"(%0, %d) {onnx_node_name = "mul", my.note} : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  onnx.Return %y : tensor<*xf32>
}

// Negative: one input is not constant.
// CHECK-LABEL: func.func @not_constant
// CHECK: "onnx.Mul"
func.func @not_constant(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = "onnx.Mul"(%x, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %y : tensor<2xf32>
}

// Positive: an input that is left out counts as constant; of several results those that are read become
// constants under names of their own.
// CHECK-LABEL: func.func @left_out
// CHECK-NEXT: onnx.Constant {onnx_node_name = "split:1", {{.*}}} dense<[3, 4]> : tensor<2xi64>
// CHECK-NEXT: onnx.Return
func.func @left_out() -> tensor<2xi64> {
  %c = onnx.Constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  %none = "onnx.NoValue"() {value} : () -> none
  %0, %1 = "onnx.Split"(%c, %none) {axis = 0 : si64, onnx_node_name = "split"} : (tensor<4xi64>, none) -> (tensor<2xi64>, tensor<2xi64>)
  onnx.Return %1 : tensor<2xi64>
}

// Positive: constants from outside fold inside of bodies, and stay there.
// CHECK-LABEL: func.func @captured
// CHECK-NEXT: "onnx.NoValue"
// CHECK-NEXT: "onnx.If"
// CHECK-NEXT: onnx.Constant {onnxloom.folded = "fold-constants"} dense<[4, 6]>
// CHECK-NEXT: onnx.Yield
// CHECK: "onnx.Loop"
// CHECK-NEXT: ^{{.*}}(
// CHECK-NEXT: onnx.Constant {onnxloom.folded = "fold-constants"} dense<[4, 6]>
// CHECK-NEXT: "onnx.Add"
// CHECK-NEXT: onnx.Yield
func.func @captured(%c: tensor<i1>, %x: tensor<2xi64>, %n: tensor<i64>) -> (tensor<2xi64>, tensor<2xi64>) {
  %a = onnx.Constant dense<[1, 2]> : tensor<2xi64>
  %b = onnx.Constant dense<[3, 4]> : tensor<2xi64>
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.If"(%c) ({
    %s = "onnx.Add"(%a, %b) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    onnx.Yield %s : tensor<2xi64>
  }, {
    onnx.Yield %x : tensor<2xi64>
  }) : (tensor<i1>) -> tensor<2xi64>
  %1 = "onnx.Loop"(%n, %none, %x) ({
  ^body(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<2xi64>):
    %s = "onnx.Add"(%a, %b) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    %t = "onnx.Add"(%v, %s) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    onnx.Yield %go, %t : tensor<i1>, tensor<2xi64>
  }) : (tensor<i64>, none, tensor<2xi64>) -> tensor<2xi64>
  onnx.Return %0, %1 : tensor<2xi64>, tensor<2xi64>
}

// Negative: bodies of fused ops are what their kind says they are.
// CHECK-LABEL: func.func @fused
// CHECK: "onnx.FusedOp"
// CHECK: "onnx.Neg"
func.func @fused(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "onnx.FusedOp"(%x) <{kind = "onnx.elementwise"}> ({
  ^body(%a: tensor<2xf32>):
    %c = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
    %n = "onnx.Neg"(%c) : (tensor<2xf32>) -> tensor<2xf32>
    %s = "onnx.Add"(%a, %n) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %s : tensor<2xf32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %0 : tensor<2xf32>
}

// Negative: each of these stays as it is, and so does what it reads: opted out, kept, kept by name, the
// default value of an input, a random op, an op of somebody else's.
// CHECK-LABEL: func.func @stay
// CHECK: "onnx.Neg"{{.*}}onnxloom.do_not_fold
// CHECK: "onnx.Neg"{{.*}}onnxloom.keep
// CHECK: "onnx.Neg"{{.*}}_DONOTREMOVE_neg
// CHECK: "onnx.Neg"{{.*}}"default"
// CHECK: "onnx.RandomUniformLike"
// CHECK: "onnx.Custom"
func.func @stay() -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %c = onnx.Constant dense<1.0> : tensor<f32>
  %d = onnx.Constant {onnx_overridable = tensor<f32>} dense<1.0> : tensor<f32>
  %0 = "onnx.Neg"(%c) {onnxloom.do_not_fold} : (tensor<f32>) -> tensor<f32>
  %1 = "onnx.Neg"(%c) {onnxloom.keep} : (tensor<f32>) -> tensor<f32>
  %2 = "onnx.Neg"(%c) {onnx_node_name = "_DONOTREMOVE_neg"} : (tensor<f32>) -> tensor<f32>
  %3 = "onnx.Neg"(%d) {onnx_node_name = "default"} : (tensor<f32>) -> tensor<f32>
  %4 = "onnx.RandomUniformLike"(%c) {dtype = 1 : si64} : (tensor<f32>) -> tensor<f32>
  %5 = "onnx.Custom"(%c) <{function_name = "MyOp", domain_name = "my.domain"}> : (tensor<f32>) -> tensor<f32>
  onnx.Return %0, %1, %2, %3, %4, %5 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// Positive: what a folded op alone read goes; what is kept, shared or a default value does not.
// CHECK-LABEL: func.func @orphans
// CHECK-NEXT: onnx.Constant {onnxloom.keep}
// CHECK-NEXT: %[[SHARED:.*]] = onnx.Constant dense<2.000000e+00>
// CHECK-NEXT: onnx.Constant {onnxloom.folded
// CHECK-NEXT: onnx.Return %{{.*}}, %[[SHARED]]
func.func @orphans() -> (tensor<f32>, tensor<f32>) {
  %kept = onnx.Constant {onnxloom.keep} dense<1.0> : tensor<f32>
  %shared = onnx.Constant dense<2.0> : tensor<f32>
  %orphan = onnx.Constant dense<3.0> : tensor<f32>
  %0 = "onnx.Sum"(%kept, %shared, %orphan) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  onnx.Return %0, %shared : tensor<f32>, tensor<f32>
}
