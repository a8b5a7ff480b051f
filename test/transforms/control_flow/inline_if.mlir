// RUN: onnxloom-opt %s -p inline-if --split-input-file | filecheck %s

// Positive: the branch that a constant takes; what the other one does is gone, the name of the result stays.
// CHECK-LABEL: @taken
// CHECK-NEXT:    %c = onnx.Constant
// CHECK-NEXT:    %inner = "onnx.Relu"(%x) {onnx_node_name = "relu"}
// CHECK-NEXT:    %y = "onnx.Neg"(%inner)
// CHECK-NEXT:    onnx.Return %y
func.func @taken(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = onnx.Constant dense<true> : tensor<i1>
  %y = "onnx.If"(%c) ({
    %inner = "onnx.Relu"(%x) {onnx_node_name = "relu"} : (tensor<4xf32>) -> tensor<4xf32>
    %t = "onnx.Neg"(%inner) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %t : tensor<4xf32>
  }, {
    %e = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %e : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  onnx.Return %y : tensor<4xf32>
}

// -----

// Positive: a condition of shape [1], and the other branch; a branch may give a value from outside.
// CHECK-LABEL: @other_branch
// CHECK-NEXT:    %c = onnx.Constant
// CHECK-NEXT:    %b = "onnx.Exp"(%x)
// CHECK-NEXT:    onnx.Return %x, %b
func.func @other_branch(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = onnx.Constant dense<[false]> : tensor<1xi1>
  %a, %b = "onnx.If"(%c) ({
    onnx.Yield %x, %x : tensor<4xf32>, tensor<4xf32>
  }, {
    %e = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %x, %e : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<1xi1>) -> (tensor<4xf32>, tensor<4xf32>)
  onnx.Return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// Positive: what is known of the result holds of the value that takes its place.
// CHECK-LABEL: @more_precise
// CHECK:         %y = "onnx.Relu"(%x) : (tensor<?xf32>) -> tensor<4xf32>
func.func @more_precise(%x: tensor<?xf32>) -> tensor<4xf32> {
  %c = onnx.Constant dense<true> : tensor<i1>
  %y = "onnx.If"(%c) ({
    %t = "onnx.Relu"(%x) : (tensor<?xf32>) -> tensor<?xf32>
    onnx.Yield %t : tensor<?xf32>
  }, {
    %e = "onnx.Exp"(%x) : (tensor<?xf32>) -> tensor<?xf32>
    onnx.Yield %e : tensor<?xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  onnx.Return %y : tensor<4xf32>
}

// -----

// Positive: inside a branch the condition of the If around it is known, and in each the other way round.
// CHECK-LABEL: @same_condition
// CHECK:         "onnx.If"(%c) ({
// CHECK-NEXT:      %[[T:.*]] = "onnx.Relu"(%x)
// CHECK-NEXT:      "onnx.Yield"(%[[T]])
// CHECK-NEXT:    }, {
// CHECK-NEXT:      %[[E:.*]] = "onnx.Abs"(%x)
// CHECK-NEXT:      "onnx.Yield"(%[[E]])
func.func @same_condition(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %y = "onnx.If"(%c) ({
    %0 = "onnx.If"(%c) ({
      %1 = "onnx.Relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      onnx.Yield %1 : tensor<4xf32>
    }, {
      %1 = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      onnx.Yield %1 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    onnx.Yield %0 : tensor<4xf32>
  }, {
    %0 = "onnx.If"(%c) ({
      %1 = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      onnx.Yield %1 : tensor<4xf32>
    }, {
      %1 = "onnx.Abs"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      onnx.Yield %1 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    onnx.Yield %0 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  onnx.Return %y : tensor<4xf32>
}

// -----

// Positive: an If that comes out of another one is looked at too; bodies of loops are.
// CHECK-LABEL: @nested
// CHECK-NOT:     onnx.If
// CHECK:         "onnx.Relu"
func.func @nested(%x: tensor<4xf32>, %n: tensor<i64>) -> tensor<4xf32> {
  %c = onnx.Constant dense<true> : tensor<i1>
  %y = "onnx.Loop"(%n, %c, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    %0 = "onnx.If"(%c) ({
      %d = onnx.Constant dense<false> : tensor<i1>
      %1 = "onnx.If"(%d) ({
        onnx.Yield %v : tensor<4xf32>
      }, {
        %2 = "onnx.Relu"(%v) : (tensor<4xf32>) -> tensor<4xf32>
        onnx.Yield %2 : tensor<4xf32>
      }) : (tensor<i1>) -> tensor<4xf32>
      onnx.Yield %1 : tensor<4xf32>
    }, {
      onnx.Yield %v : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    onnx.Yield %go, %0 : tensor<i1>, tensor<4xf32>
  }) : (tensor<i64>, tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %y : tensor<4xf32>
}

// -----

// Negative: the condition is computed; it is the default value of an input; the op is to be kept.
// CHECK-LABEL: @computed
// CHECK-COUNT-3: onnx.If
func.func @computed(%x: tensor<4xf32>, %c: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = "onnx.If"(%c) ({
    onnx.Yield %x : tensor<4xf32>
  }, {
    onnx.Yield %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %d = onnx.Constant {onnx_overridable = tensor<i1>} dense<true> : tensor<i1>
  %1 = "onnx.If"(%d) ({
    onnx.Yield %x : tensor<4xf32>
  }, {
    onnx.Yield %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %e = onnx.Constant dense<true> : tensor<i1>
  %2 = "onnx.If"(%e) ({
    onnx.Yield %x : tensor<4xf32>
  }, {
    onnx.Yield %x : tensor<4xf32>
  }) {onnxloom.keep} : (tensor<i1>) -> tensor<4xf32>
  onnx.Return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
