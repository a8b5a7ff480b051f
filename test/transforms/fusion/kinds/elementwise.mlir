// RUN: onnxloom-opt %s -p 'fuse-ops{kinds="onnx.elementwise"}' --split-input-file | filecheck %s

// Positive: a chain with a broadcast operand and a constant, which is cloned inside.
func.func @chain(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<4x8xf32> {
  %c = onnx.Constant dense<0.5> : tensor<f32>
  %0 = "onnx.Mul"(%x, %y) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.Add"(%0, %c) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = "onnx.Relu"(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %2 : tensor<4x8xf32>
}
// CHECK-LABEL: @chain
// CHECK-NEXT: %[[r:.*]] = "onnx.FusedOp"(%x, %y) <{kind = "onnx.elementwise"}> ({
// CHECK-NEXT: ^{{.*}}(%{{.*}}: tensor<4x8xf32>, %{{.*}}: tensor<8xf32>):
// CHECK-NEXT: onnx.Constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: "onnx.Mul"
// CHECK-NEXT: "onnx.Add"
// CHECK-NEXT: "onnx.Relu"
// CHECK-NEXT: "onnx.Yield"
// CHECK-NEXT: }) {loop_rank = 2 : si64, op_count = 3 : si64} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: onnx.Return %[[r]]

// -----

// Positive: an intermediate with a second reader outside is a second result.
func.func @two_results(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = "onnx.Neg"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.Exp"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "onnx.Softmax"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}
// CHECK-LABEL: @two_results
// CHECK-NEXT: %[[n:.*]], %[[e:.*]] = "onnx.FusedOp"(%x)
// CHECK: "onnx.Yield"(%{{.*}}, %{{.*}})
// CHECK-NEXT: -> (tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK-NEXT: "onnx.Softmax"(%[[n]])
// CHECK-NEXT: onnx.Return %[[e]]

// -----

// Positive: an intermediate that is a result of the graph is yielded, not fused away.
func.func @intermediate_is_output(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = "onnx.Sqrt"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = "onnx.Neg"(%0) : (tensor<3xf32>) -> tensor<3xf32>
  onnx.Return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
// CHECK-LABEL: @intermediate_is_output
// CHECK-NEXT: %[[a:.*]], %[[b:.*]] = "onnx.FusedOp"(%x)
// CHECK: onnx.Return %[[a]], %[[b]]

// -----

// Positive: an intermediate captured by a subgraph is a result, and the subgraph reads that result.
func.func @captured(%x: tensor<3xf32>, %c: tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = "onnx.Sqrt"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = "onnx.Neg"(%0) : (tensor<3xf32>) -> tensor<3xf32>
  %2 = "onnx.If"(%c) ({
    %3 = "onnx.Softmax"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    "onnx.Yield"(%3) : (tensor<3xf32>) -> ()
  }, {
    "onnx.Yield"(%0) : (tensor<3xf32>) -> ()
  }) : (tensor<i1>) -> tensor<3xf32>
  onnx.Return %1, %2 : tensor<3xf32>, tensor<3xf32>
}
// CHECK-LABEL: @captured
// CHECK-NEXT: %[[a:.*]], %[[b:.*]] = "onnx.FusedOp"(%x)
// CHECK: "onnx.If"
// CHECK: "onnx.Softmax"(%[[a]])
// CHECK: "onnx.Yield"(%[[a]])
// CHECK: onnx.Return %[[b]]

// -----

// Positive: chains inside the branches of an If; a captured value is an input of the fused op.
func.func @inside_branch(%x: tensor<3xf32>, %c: tensor<i1>) -> tensor<3xf32> {
  %0 = "onnx.If"(%c) ({
    %1 = "onnx.Sqrt"(%x) : (tensor<3xf32>) -> tensor<3xf32>
    %2 = "onnx.Neg"(%1) : (tensor<3xf32>) -> tensor<3xf32>
    "onnx.Yield"(%2) : (tensor<3xf32>) -> ()
  }, {
    "onnx.Yield"(%x) : (tensor<3xf32>) -> ()
  }) : (tensor<i1>) -> tensor<3xf32>
  onnx.Return %0 : tensor<3xf32>
}
// CHECK-LABEL: @inside_branch
// CHECK-NEXT: "onnx.If"
// CHECK-NEXT: "onnx.FusedOp"(%x)

// -----

// Positive: an operand made between two ops of the chain, and an unrelated op between them.
func.func @made_between(%x: tensor<4x4xf32>, %z: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = "onnx.Neg"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "onnx.Softmax"(%z) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "onnx.Softmax"(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = "onnx.Add"(%0, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  onnx.Return %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>
}
// CHECK-LABEL: @made_between
// CHECK-NEXT: %[[s:.*]] = "onnx.Softmax"(%z)
// CHECK-NEXT: "onnx.Softmax"(%[[s]])
// CHECK-NEXT: "onnx.FusedOp"(%x, %[[s]])

// -----

// Negative: the second op reads what was made from the first outside the chain: there is no place for
// a fused op that is both before and after the Softmax.
func.func @no_place(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "onnx.Neg"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "onnx.Softmax"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "onnx.Add"(%0, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  onnx.Return %2 : tensor<4x4xf32>
}
// CHECK-LABEL: @no_place
// CHECK-NOT: onnx.FusedOp

// -----

// Positive: the chain on each side of such a place is fused by itself.
func.func @two_chains(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "onnx.Neg"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "onnx.Exp"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "onnx.Softmax"(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = "onnx.Add"(%1, %2) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = "onnx.Relu"(%3) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  onnx.Return %4 : tensor<4x4xf32>
}
// CHECK-LABEL: @two_chains
// CHECK-NEXT: %[[a:.*]] = "onnx.FusedOp"(%x)
// CHECK: %[[s:.*]] = "onnx.Softmax"(%[[a]])
// CHECK-NEXT: "onnx.FusedOp"(%[[a]], %[[s]])

// -----

// Positive: a diamond and a second head that only the chain reads.
func.func @two_heads(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "onnx.Sin"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = "onnx.Cos"(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = "onnx.Mul"(%0, %1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = "onnx.Add"(%2, %0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  onnx.Return %3 : tensor<8xf32>
}
// CHECK-LABEL: @two_heads
// CHECK-NEXT: "onnx.FusedOp"(%x, %y)
// CHECK: op_count = 4 : si64
// CHECK-NEXT: onnx.Return

// -----

// Positive: equal by the names of their dims. The intermediate is a result, so it must have the shape of
// the loop whatever is passed in: that is a dim condition.
func.func @same_symbol(%x: tensor<?x8xf32> {onnx.dim_params = "0:n"}, %y: tensor<?x8xf32> {onnx.dim_params = "0:n"}) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = "onnx.Neg"(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = "onnx.Add"(%0, %y) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  onnx.Return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}
// CHECK-LABEL: @same_symbol
// CHECK-NEXT: "onnx.FusedOp"(%x, %y)
// CHECK: dim_conditions = {{\[\[}}1 : i64, 0 : i64, 0 : i64, 0 : i64]]

// -----

// Positive: the second head is taken in by the Mul that reads it, so it comes after x's Neg in the body
// although it stands first; conditions count inputs in the order of the body.
func.func @conditions_count_inputs_of_the_body(
    %x: tensor<?x8xf32> {onnx.dim_params = "0:n"}, %y: tensor<?x8xf32> {onnx.dim_params = "0:n"},
    %z: tensor<?x8xf32> {onnx.dim_params = "0:n"}) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = "onnx.Neg"(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = "onnx.Exp"(%y) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = "onnx.Add"(%0, %z) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %3 = "onnx.Mul"(%2, %1) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  onnx.Return %2, %3 : tensor<?x8xf32>, tensor<?x8xf32>
}
// CHECK-LABEL: @conditions_count_inputs_of_the_body
// CHECK-NEXT: "onnx.FusedOp"(%x, %z, %y)
// CHECK: dim_conditions = {{\[\[}}2 : i64, 0 : i64, 0 : i64, 0 : i64]]

// -----

// Negative: nothing says that the dims are equal, so the intermediate may be smaller than the sum.
func.func @may_be_smaller(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = "onnx.Neg"(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = "onnx.Add"(%0, %y) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  onnx.Return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}
// CHECK-LABEL: @may_be_smaller
// CHECK-NOT: onnx.FusedOp

// -----

// Positive: the same, but the intermediate is not a result: whatever the dims are, it is computed for
// the elements of the sum. No condition.
func.func @inner_may_be_smaller(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = "onnx.Neg"(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = "onnx.Add"(%0, %y) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  onnx.Return %1 : tensor<?x8xf32>
}
// CHECK-LABEL: @inner_may_be_smaller
// CHECK-NEXT: "onnx.FusedOp"(%x, %y)
// CHECK-NOT: dim_conditions
// CHECK: onnx.Return

// -----

// Not beneficial: an exponential per channel would be computed again for every pixel.
func.func @expensive_smaller(%x: tensor<64x64x64xf32>, %s: tensor<64x1x1xf32>) -> tensor<64x64x64xf32> {
  %0 = "onnx.Exp"(%s) : (tensor<64x1x1xf32>) -> tensor<64x1x1xf32>
  %1 = "onnx.Mul"(%x, %0) : (tensor<64x64x64xf32>, tensor<64x1x1xf32>) -> tensor<64x64x64xf32>
  onnx.Return %1 : tensor<64x64x64xf32>
}
// CHECK-LABEL: @expensive_smaller
// CHECK-NOT: onnx.FusedOp

// -----

// Positive: a cheap op on a smaller tensor, in a loop small enough that a launch costs more.
func.func @cheap_smaller(%x: tensor<4x4xf32>, %s: tensor<4xf32>) -> tensor<4x4xf32> {
  %0 = "onnx.Neg"(%s) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.Mul"(%x, %0) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  onnx.Return %1 : tensor<4x4xf32>
}
// CHECK-LABEL: @cheap_smaller
// CHECK-NEXT: "onnx.FusedOp"(%s, %x)

// -----

// Negative: a result of the graph that is smaller than the loop.
func.func @smaller_result(%x: tensor<4x4xf32>, %s: tensor<4xf32>) -> (tensor<4xf32>, tensor<4x4xf32>) {
  %0 = "onnx.Neg"(%s) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.Mul"(%x, %0) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  onnx.Return %0, %1 : tensor<4xf32>, tensor<4x4xf32>
}
// CHECK-LABEL: @smaller_result
// CHECK-NOT: onnx.FusedOp

// -----

// Not beneficial: one op alone.
func.func @alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %0 : tensor<4xf32>
}
// CHECK-LABEL: @alone
// CHECK-NOT: onnx.FusedOp

// -----

// Not beneficial: shape arithmetic is evaluated before any kernel runs.
func.func @shape_arithmetic(%x: tensor<?x4xf32>) -> tensor<2xi64> {
  %c = onnx.Constant dense<2> : tensor<i64>
  %0 = "onnx.Shape"(%x) : (tensor<?x4xf32>) -> tensor<2xi64>
  %1 = "onnx.Mul"(%0, %c) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %2 = "onnx.Add"(%1, %c) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  onnx.Return %2 : tensor<2xi64>
}
// CHECK-LABEL: @shape_arithmetic
// CHECK-NOT: onnx.FusedOp

// -----

// Negative: the rank is not known.
func.func @unranked(%x: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Neg"(%x) : (tensor<*xf32>) -> tensor<*xf32>
  %1 = "onnx.Exp"(%0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}
// CHECK-LABEL: @unranked
// CHECK-NOT: onnx.FusedOp

// -----

// Negative: no kernel holds texts.
func.func @no_kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "onnx.Cast"(%x) {to = !onnx.String} : (tensor<4xf32>) -> tensor<4x!onnx.String>
  %1 = "onnx.Cast"(%0) {to = f32} : (tensor<4x!onnx.String>) -> tensor<4xf32>
  onnx.Return %1 : tensor<4xf32>
}
// CHECK-LABEL: @no_kernel
// CHECK-NOT: onnx.FusedOp

// -----

// Positive: casts, a choice, a clip with an absent bound, and types that change on the way.
func.func @types(%x: tensor<2x3xi32>, %y: tensor<3xf16>) -> tensor<2x3xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %top = onnx.Constant dense<6.0> : tensor<f32>
  %0 = "onnx.Cast"(%x) {to = f32} : (tensor<2x3xi32>) -> tensor<2x3xf32>
  %1 = "onnx.Cast"(%y) {to = f32} : (tensor<3xf16>) -> tensor<3xf32>
  %2 = "onnx.Greater"(%0, %1) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %3 = "onnx.Where"(%2, %0, %1) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %4 = "onnx.Clip"(%3, %none, %top) : (tensor<2x3xf32>, none, tensor<f32>) -> tensor<2x3xf32>
  onnx.Return %4 : tensor<2x3xf32>
}
// CHECK-LABEL: @types
// CHECK-NEXT: "onnx.FusedOp"(%x, %y)
// CHECK: "onnx.NoValue"
// CHECK: op_count = 5 : si64
// CHECK-NEXT: onnx.Return

// -----

// Positive: scalars and empty tensors are shapes like any other.
func.func @rank_zero_and_empty(%x: tensor<f32>, %y: tensor<0x4xf32>) -> (tensor<f32>, tensor<0x4xf32>) {
  %0 = "onnx.Neg"(%x) : (tensor<f32>) -> tensor<f32>
  %1 = "onnx.Exp"(%0) : (tensor<f32>) -> tensor<f32>
  %2 = "onnx.Neg"(%y) : (tensor<0x4xf32>) -> tensor<0x4xf32>
  %3 = "onnx.Exp"(%2) : (tensor<0x4xf32>) -> tensor<0x4xf32>
  onnx.Return %1, %3 : tensor<f32>, tensor<0x4xf32>
}
// CHECK-LABEL: @rank_zero_and_empty
// CHECK-NEXT: "onnx.FusedOp"(%x)
// CHECK: loop_rank = 0 : si64
// CHECK-NEXT: "onnx.FusedOp"(%y)
// CHECK: loop_rank = 2 : si64

// -----

// Negative: a fused op's body is left alone; its reader outside has nothing to fuse with.
func.func @inside_fused_op(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "onnx.FusedOp"(%x) <{kind = "other.kind"}> ({
  ^bb0(%a: tensor<3xf32>):
    %1 = "onnx.Sqrt"(%a) : (tensor<3xf32>) -> tensor<3xf32>
    %2 = "onnx.Neg"(%1) : (tensor<3xf32>) -> tensor<3xf32>
    "onnx.Yield"(%2) : (tensor<3xf32>) -> ()
  }) : (tensor<3xf32>) -> tensor<3xf32>
  %3 = "onnx.Neg"(%0) : (tensor<3xf32>) -> tensor<3xf32>
  onnx.Return %3 : tensor<3xf32>
}
// CHECK-LABEL: @inside_fused_op
// CHECK: kind = "other.kind"
// CHECK-NOT: onnx.elementwise

// -----

// Positive: a scale per channel lies along axis 1, not along the last one.
func.func @per_axis(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>, %z: tensor<3xi8>) -> tensor<2x3x4xf32> {
  %0 = "onnx.QuantizeLinear"(%x, %s, %z) {axis = 1 : si64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xi8>) -> tensor<2x3x4xi8>
  %1 = "onnx.DequantizeLinear"(%0, %s, %z) {axis = 1 : si64} : (tensor<2x3x4xi8>, tensor<3xf32>, tensor<3xi8>) -> tensor<2x3x4xf32>
  onnx.Return %1 : tensor<2x3x4xf32>
}
// CHECK-LABEL: @per_axis
// CHECK-NEXT: "onnx.FusedOp"(%x, %s, %z)

// -----

// Positive: two results of which only one reads the scale: along its axis it adds nothing to the loop.
func.func @per_axis_and_plain(%x: tensor<2x3x?xf32>, %s: tensor<3xf32>, %z: tensor<3xi8>) -> (tensor<2x3x?xf32>, tensor<2x3x?xi8>) {
  %0 = "onnx.Neg"(%x) : (tensor<2x3x?xf32>) -> tensor<2x3x?xf32>
  %1 = "onnx.QuantizeLinear"(%0, %s, %z) {axis = 1 : si64} : (tensor<2x3x?xf32>, tensor<3xf32>, tensor<3xi8>) -> tensor<2x3x?xi8>
  onnx.Return %0, %1 : tensor<2x3x?xf32>, tensor<2x3x?xi8>
}
// CHECK-LABEL: @per_axis_and_plain
// CHECK-NEXT: "onnx.FusedOp"(%x, %s, %z)
// CHECK-NOT: dim_conditions
// CHECK: onnx.Return

// -----

// Negative: one op reads the scale along axis 1, the other along axis 2.
func.func @two_axes(%x: tensor<2x3x3xf32>, %s: tensor<3xf32>, %z: tensor<3xi8>) -> tensor<2x3x3xf32> {
  %0 = "onnx.QuantizeLinear"(%x, %s, %z) {axis = 1 : si64} : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xi8>) -> tensor<2x3x3xi8>
  %1 = "onnx.DequantizeLinear"(%0, %s, %z) {axis = 2 : si64} : (tensor<2x3x3xi8>, tensor<3xf32>, tensor<3xi8>) -> tensor<2x3x3xf32>
  onnx.Return %1 : tensor<2x3x3xf32>
}
// CHECK-LABEL: @two_axes
// CHECK-NOT: onnx.FusedOp

// -----

// Positive: of the second operand of CastLike only the type counts.
func.func @cast_like(%x: tensor<4xf32>, %t: tensor<2x2xi32>) -> tensor<4xi32> {
  %0 = "onnx.Round"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.CastLike"(%0, %t) : (tensor<4xf32>, tensor<2x2xi32>) -> tensor<4xi32>
  onnx.Return %1 : tensor<4xi32>
}
// CHECK-LABEL: @cast_like
// CHECK-NEXT: "onnx.FusedOp"(%x, %t)
// CHECK: loop_rank = 1 : si64

// -----

// Positive: Dropout outside of training does nothing.
func.func @inert_dropout(%x: tensor<4xf32>) -> tensor<4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1, %mask = "onnx.Dropout"(%0, %none, %none) : (tensor<4xf32>, none, none) -> (tensor<4xf32>, none)
  %2 = "onnx.Exp"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %2 : tensor<4xf32>
}
// CHECK-LABEL: @inert_dropout
// CHECK: "onnx.FusedOp"(%x)
// CHECK: op_count = 3 : si64

// -----

// Negative: Dropout while training is random.
func.func @training_dropout(%x: tensor<4xf32>) -> tensor<4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %train = onnx.Constant dense<true> : tensor<i1>
  %0 = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1, %mask = "onnx.Dropout"(%0, %none, %train) : (tensor<4xf32>, none, tensor<i1>) -> (tensor<4xf32>, none)
  %2 = "onnx.Exp"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %2 : tensor<4xf32>
}
// CHECK-LABEL: @training_dropout
// CHECK-NOT: onnx.FusedOp
