// RUN: onnxloom-opt %s -p decide-by-rank --split-input-file | filecheck %s
// RUN: onnxloom-opt %s -p decide-by-rank --split-input-file --report 2>&1 >/dev/null | filecheck %s --check-prefix REPORT

// Positive: an LSTM reads the result, so only the branch of rank 3 gives one; another If asks the same.
// CHECK-LABEL: @recurrent
// CHECK-NEXT:    [[no:%.+]] = onnx.Constant dense<false> : tensor<i1>
// CHECK:         %y = "onnx.If"([[no]])
// CHECK:         "onnx.LSTM"(%y
// CHECK:         %z = "onnx.If"([[no]])
// CHECK:         "onnx.And"(%c, %c)
// REPORT: If -> tensor<*xf32>: only false gives a result
// REPORT-NEXT: If -> tensor<2x4xf32> stays: its condition is constant
func.func @recurrent(%x: tensor<5x2x4xf32>, %c: tensor<i1>, %w: tensor<1x8x4xf32>, %r: tensor<1x8x2xf32>) -> (tensor<*xf32>, tensor<2x4xf32>, tensor<i1>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %axes = onnx.Constant dense<0> : tensor<1xi64>
  %y = "onnx.If"(%c) ({
    %t = "onnx.Unsqueeze"(%x, %axes) : (tensor<5x2x4xf32>, tensor<1xi64>) -> tensor<1x5x2x4xf32>
    onnx.Yield %t : tensor<1x5x2x4xf32>
  }, {
    onnx.Yield %x : tensor<5x2x4xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  %s, %h, %e = "onnx.LSTM"(%y, %w, %r, %none, %none, %none, %none, %none) {hidden_size = 2 : si64} : (tensor<*xf32>, tensor<1x8x4xf32>, tensor<1x8x2xf32>, none, none, none, none, none) -> (tensor<*xf32>, none, none)
  %k = onnx.Constant dense<1.0> : tensor<2x4xf32>
  %z = "onnx.If"(%c) ({
    onnx.Yield %k : tensor<2x4xf32>
  }, {
    %n = "onnx.Neg"(%k) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    onnx.Yield %n : tensor<2x4xf32>
  }) : (tensor<i1>) -> tensor<2x4xf32>
  %same = "onnx.And"(%c, %c) : (tensor<i1>, tensor<i1>) -> tensor<i1>
  onnx.Return %s, %z, %same : tensor<*xf32>, tensor<2x4xf32>, tensor<i1>
}

// -----

// Positive: through Unsqueeze, Squeeze and elementwise ops, from a value of two possible ranks; the reader is a
// Transpose.
// CHECK-LABEL: @through
// CHECK:         [[no:%.+]] = onnx.Constant dense<false> : tensor<i1>
// CHECK:         %a = "onnx.If"(%c)
// CHECK:         %b = "onnx.If"([[no]])
func.func @through(%x: tensor<5x1x4xf32>, %c: tensor<i1>, %d: tensor<i1>) -> tensor<*xf32> {
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %a = "onnx.If"(%c) ({
    %s = "onnx.Squeeze"(%x, %one) : (tensor<5x1x4xf32>, tensor<1xi64>) -> tensor<5x4xf32>
    onnx.Yield %s : tensor<5x4xf32>
  }, {
    onnx.Yield %x : tensor<5x1x4xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  %b = "onnx.If"(%d) ({
    %u = "onnx.Unsqueeze"(%a, %one) : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
    onnx.Yield %u : tensor<*xf32>
  }, {
    %i = "onnx.Identity"(%a) : (tensor<*xf32>) -> tensor<*xf32>
    onnx.Yield %i : tensor<*xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  %r = "onnx.Relu"(%b) : (tensor<*xf32>) -> tensor<*xf32>
  %u = "onnx.Unsqueeze"(%r, %one) : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
  %t = "onnx.Transpose"(%u) {perm = [2, 1, 0]} : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %t : tensor<*xf32>
}

// -----

// Positive: a Conv reads, whose weights tell the rank; what is concluded holds inside of the If's block only.
// CHECK-LABEL: @convolution
// CHECK:         %p = "onnx.If"(%d)
// CHECK:           [[yes:%.+]] = onnx.Constant dense<true> : tensor<i1>
// CHECK:           %y = "onnx.If"([[yes]])
// CHECK:         %q = "onnx.If"(%c)
func.func @convolution(%x: tensor<1x2x8xf32>, %c: tensor<i1>, %d: tensor<i1>, %w: tensor<3x2x3xf32>) -> (tensor<*xf32>, tensor<1x2x8xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %axes = onnx.Constant dense<0> : tensor<1xi64>
  %p = "onnx.If"(%d) ({
    %y = "onnx.If"(%c) ({
      onnx.Yield %x : tensor<1x2x8xf32>
    }, {
      %s = "onnx.Squeeze"(%x, %axes) : (tensor<1x2x8xf32>, tensor<1xi64>) -> tensor<2x8xf32>
      onnx.Yield %s : tensor<2x8xf32>
    }) : (tensor<i1>) -> tensor<*xf32>
    %v = "onnx.Conv"(%y, %w, %none) : (tensor<*xf32>, tensor<3x2x3xf32>, none) -> tensor<*xf32>
    onnx.Yield %v : tensor<*xf32>
  }, {
    onnx.Yield %x : tensor<1x2x8xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  %q = "onnx.If"(%c) ({
    onnx.Yield %x : tensor<1x2x8xf32>
  }, {
    %n = "onnx.Neg"(%x) : (tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
    onnx.Yield %n : tensor<1x2x8xf32>
  }) : (tensor<i1>) -> tensor<1x2x8xf32>
  onnx.Return %p, %q : tensor<*xf32>, tensor<1x2x8xf32>
}

// -----

// Negative: no reader needs a rank.
// CHECK-LABEL: @any_rank
// CHECK-NOT:     onnx.Constant dense<{{true|false}}>
// REPORT: If -> tensor<*xf32> stays: no reader of a result needs a rank that one branch only gives
func.func @any_rank(%x: tensor<5x2x4xf32>, %c: tensor<i1>) -> tensor<*xf32> {
  %axes = onnx.Constant dense<0> : tensor<1xi64>
  %y = "onnx.If"(%c) ({
    %t = "onnx.Unsqueeze"(%x, %axes) : (tensor<5x2x4xf32>, tensor<1xi64>) -> tensor<1x5x2x4xf32>
    onnx.Yield %t : tensor<1x5x2x4xf32>
  }, {
    onnx.Yield %x : tensor<5x2x4xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  %s = "onnx.Add"(%y, %y) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %s : tensor<*xf32>
}

// -----

// Negative: the branch has a rank that is not known.
// CHECK-LABEL: @unknown_rank
// CHECK-NOT:     onnx.Constant dense<{{true|false}}>
func.func @unknown_rank(%x: tensor<5x2x4xf32>, %u: tensor<*xf32>, %c: tensor<i1>) -> tensor<*xf32> {
  %y = "onnx.If"(%c) ({
    onnx.Yield %u : tensor<*xf32>
  }, {
    onnx.Yield %x : tensor<5x2x4xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  %t = "onnx.Transpose"(%y) {perm = [2, 1, 0]} : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %t : tensor<*xf32>
}

// -----

// Negative: neither branch gives the rank: a model that never works stays one.
// CHECK-LABEL: @neither
// CHECK-NOT:     onnx.Constant dense<{{true|false}}>
func.func @neither(%x: tensor<5x2xf32>, %z: tensor<2xf32>, %c: tensor<i1>) -> tensor<*xf32> {
  %y = "onnx.If"(%c) ({
    onnx.Yield %x : tensor<5x2xf32>
  }, {
    onnx.Yield %z : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  %t = "onnx.Transpose"(%y) {perm = [2, 1, 0]} : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %t : tensor<*xf32>
}

// -----

// Negative: the reader runs in a branch only, or its result is not read.
// CHECK-LABEL: @may_not_run
// CHECK-NOT:     onnx.Constant dense<{{true|false}}>
func.func @may_not_run(%x: tensor<5x2x4xf32>, %z: tensor<2xf32>, %c: tensor<i1>, %d: tensor<i1>) -> (tensor<*xf32>, tensor<*xf32>) {
  %y = "onnx.If"(%c) ({
    onnx.Yield %x : tensor<5x2x4xf32>
  }, {
    onnx.Yield %z : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  %w = "onnx.If"(%d) ({
    %t = "onnx.Transpose"(%y) {perm = [2, 1, 0]} : (tensor<*xf32>) -> tensor<*xf32>
    onnx.Yield %t : tensor<*xf32>
  }, {
    onnx.Yield %x : tensor<5x2x4xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  %unread = "onnx.Transpose"(%y) {perm = [2, 1, 0]} : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %y, %w : tensor<*xf32>, tensor<*xf32>
}

// -----

// Negative: a Transpose without perm, a Conv whose weights have no known rank, an LSTM's other inputs, axes that
// are not constant, and an If that is to be kept.
// CHECK-LABEL: @no_need
// CHECK-NOT:     onnx.Constant dense<{{true|false}}>
// REPORT: "kept"{{.*}} stays: it is marked to be kept
func.func @no_need(%x: tensor<5x2x4xf32>, %z: tensor<2x4xf32>, %c: tensor<i1>, %u: tensor<*xf32>, %axes: tensor<1xi64>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.If"(%c) ({
    onnx.Yield %x : tensor<5x2x4xf32>
  }, {
    onnx.Yield %z : tensor<2x4xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  %a = "onnx.Transpose"(%y) : (tensor<*xf32>) -> tensor<*xf32>
  %b = "onnx.Conv"(%y, %u, %none) : (tensor<*xf32>, tensor<*xf32>, none) -> tensor<*xf32>
  %s, %h, %e = "onnx.LSTM"(%x, %u, %u, %y, %none, %none, %none, %none) {hidden_size = 2 : si64} : (tensor<5x2x4xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none, none) -> (tensor<*xf32>, none, none)
  %v = "onnx.Unsqueeze"(%y, %axes) : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
  %t = "onnx.Transpose"(%v) {perm = [2, 1, 0]} : (tensor<*xf32>) -> tensor<*xf32>
  %k = "onnx.If"(%c) ({
    onnx.Yield %x : tensor<5x2x4xf32>
  }, {
    onnx.Yield %z : tensor<2x4xf32>
  }) {onnx_node_name = "kept", onnxloom.keep} : (tensor<i1>) -> tensor<*xf32>
  %w = "onnx.Transpose"(%k) {perm = [2, 1, 0]} : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %a, %b, %s, %t, %w : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}

// -----

// Negative: no reader needs a rank, and that of a branch is not known.
// CHECK-LABEL: @no_rank_needed
// CHECK-NOT:     onnx.Constant dense<{{true|false}}>
// REPORT: If -> tensor<*xf32> stays: no reader of a result needs a rank that one branch only gives
func.func @no_rank_needed(%x: tensor<5x2x4xf32>, %u: tensor<*xf32>, %c: tensor<i1>) -> tensor<*xf32> {
  %y = "onnx.If"(%c) ({
    onnx.Yield %u : tensor<*xf32>
  }, {
    onnx.Yield %x : tensor<5x2x4xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  onnx.Return %y : tensor<*xf32>
}
