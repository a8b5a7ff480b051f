// RUN: onnxloom-opt %s -p adjust-dimensions | filecheck %s

// Positive: a shape that stays the same, whatever op says so.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT: onnx.Return %x, %x, %x, %x, %x
func.func @nothing(%x: tensor<?x3xf32>, %axes: tensor<0xi64>) -> (tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>) {
  %t = onnx.Constant dense<[-1, 3]> : tensor<2xi64>
  %one = onnx.Constant dense<[1, 1]> : tensor<2xi64>
  %0 = "onnx.Reshape"(%x, %t) : (tensor<?x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  %1 = "onnx.Expand"(%x, %one) : (tensor<?x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  %2 = "onnx.Squeeze"(%x, %axes) : (tensor<?x3xf32>, tensor<0xi64>) -> tensor<?x3xf32>
  %3 = "onnx.Unsqueeze"(%x, %axes) : (tensor<?x3xf32>, tensor<0xi64>) -> tensor<?x3xf32>
  %4 = "onnx.Flatten"(%x) {axis = 1 : si64} : (tensor<?x3xf32>) -> tensor<?x3xf32>
  onnx.Return %0, %1, %2, %3, %4 : tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>
}

// Positive: a computed target copies the dims that stay where they are; the one that does not is inferred.
// CHECK-LABEL: func.func @computed
// CHECK-NEXT: %[[COPY:.*]] = onnx.Constant dense<[0, 12, 64]> : tensor<3xi64>
// CHECK-NEXT: "onnx.Reshape"(%x, %[[COPY]]) {onnx_node_name = "copies"}
// CHECK-NEXT: %[[INFER:.*]] = onnx.Constant dense<[12, -1, 64]> : tensor<3xi64>
// CHECK-NEXT: "onnx.Reshape"(%x, %[[INFER]])
// CHECK-NEXT: onnx.Return
func.func @computed(%x: tensor<?x768xf32>) -> (tensor<?x12x64xf32>, tensor<12x?x64xf32>) {
  %b = "onnx.Shape"(%x) {start = 0 : si64, end = 1 : si64} : (tensor<?x768xf32>) -> tensor<1xi64>
  %n = onnx.Constant dense<12> : tensor<1xi64>
  %d = onnx.Constant dense<64> : tensor<1xi64>
  %t = "onnx.Concat"(%b, %n, %d) {axis = 0 : si64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  %0 = "onnx.Reshape"(%x, %t) {onnx_node_name = "copies"} : (tensor<?x768xf32>, tensor<3xi64>) -> tensor<?x12x64xf32>
  %u = "onnx.Concat"(%n, %b, %d) {axis = 0 : si64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  %1 = "onnx.Reshape"(%x, %u) : (tensor<?x768xf32>, tensor<3xi64>) -> tensor<12x?x64xf32>
  onnx.Return %0, %1 : tensor<?x12x64xf32>, tensor<12x?x64xf32>
}

// Positive: allowzero says nothing where no dim is 0.
// CHECK-LABEL: func.func @allowzero
// CHECK-NEXT: onnx.Constant dense<[12, -1]> : tensor<2xi64>
// CHECK-NEXT: "onnx.Reshape"{{.*}} : (tensor<?x12xf32>, tensor<2xi64>) -> tensor<12x?xf32>
func.func @allowzero(%x: tensor<?x12xf32>) -> tensor<12x?xf32> {
  %b = "onnx.Shape"(%x) {start = 0 : si64, end = 1 : si64} : (tensor<?x12xf32>) -> tensor<1xi64>
  %n = onnx.Constant dense<12> : tensor<1xi64>
  %t = "onnx.Concat"(%n, %b) {axis = 0 : si64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %0 = "onnx.Reshape"(%x, %t) {allowzero = 1 : si64} : (tensor<?x12xf32>, tensor<2xi64>) -> tensor<12x?xf32>
  onnx.Return %0 : tensor<12x?xf32>
}

// Positive: a -1 of the target's own stays beside a dim that is copied, also where the copy may be 0.
// CHECK-LABEL: func.func @own_minus_one
// CHECK-NEXT: onnx.Constant dense<[0, -1]> : tensor<2xi64>
func.func @own_minus_one(%x: tensor<?x3x4xf32>) -> tensor<?x?xf32> {
  %b = "onnx.Shape"(%x) {start = 0 : si64, end = 1 : si64} : (tensor<?x3x4xf32>) -> tensor<1xi64>
  %m = onnx.Constant dense<-1> : tensor<1xi64>
  %t = "onnx.Concat"(%b, %m) {axis = 0 : si64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %0 = "onnx.Reshape"(%x, %t) : (tensor<?x3x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
}

// Negative: two dims to infer; one to infer beside one that is copied and may be 0; a 0 that allowzero takes
// for a size; an element that no dim is known to be.
// CHECK-LABEL: func.func @stay
// CHECK: "onnx.Reshape"(%x, %two)
// CHECK: "onnx.Reshape"(%x, %beside)
// CHECK: "onnx.Reshape"(%y, %zero)
// CHECK: "onnx.Reshape"(%y, %given)
// CHECK: "onnx.Reshape"(%y, %h)
// CHECK: "onnx.Reshape"(%y, %h)
func.func @stay(%x: tensor<?x?x12xf32>, %y: tensor<?x12xf32>, %g: tensor<1xi64>, %h: tensor<?xi64>) -> (tensor<?x?x12xf32>, tensor<?x3x?x4xf32>, tensor<?x3x4xf32>, tensor<?x12xf32>, tensor<*xf32>, tensor<?x?xf32>) {
  %a = "onnx.Shape"(%x) {start = 0 : si64, end = 1 : si64} : (tensor<?x?x12xf32>) -> tensor<1xi64>
  %b = "onnx.Shape"(%x) {start = 1 : si64, end = 2 : si64} : (tensor<?x?x12xf32>) -> tensor<1xi64>
  %c = "onnx.Shape"(%y) {start = 0 : si64, end = 1 : si64} : (tensor<?x12xf32>) -> tensor<1xi64>
  %three = onnx.Constant dense<3> : tensor<1xi64>
  %four = onnx.Constant dense<4> : tensor<1xi64>
  %twelve = onnx.Constant dense<12> : tensor<1xi64>
  %two = "onnx.Concat"(%b, %a, %twelve) {axis = 0 : si64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  %1 = "onnx.Reshape"(%x, %two) : (tensor<?x?x12xf32>, tensor<3xi64>) -> tensor<?x?x12xf32>
  %beside = "onnx.Concat"(%a, %three, %b, %four) {axis = 0 : si64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xi64>
  %3 = "onnx.Reshape"(%x, %beside) : (tensor<?x?x12xf32>, tensor<4xi64>) -> tensor<?x3x?x4xf32>
  %zero = "onnx.Concat"(%c, %three, %four) {axis = 0 : si64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  %5 = "onnx.Reshape"(%y, %zero) {allowzero = 1 : si64} : (tensor<?x12xf32>, tensor<3xi64>) -> tensor<?x3x4xf32>
  %given = "onnx.Concat"(%g, %twelve) {axis = 0 : si64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %7 = "onnx.Reshape"(%y, %given) : (tensor<?x12xf32>, tensor<2xi64>) -> tensor<?x12xf32>
  %8 = "onnx.Reshape"(%y, %h) : (tensor<?x12xf32>, tensor<?xi64>) -> tensor<*xf32>
  %9 = "onnx.Reshape"(%y, %h) : (tensor<?x12xf32>, tensor<?xi64>) -> tensor<?x?xf32>
  onnx.Return %1, %3, %5, %7, %8, %9 : tensor<?x?x12xf32>, tensor<?x3x?x4xf32>, tensor<?x3x4xf32>, tensor<?x12xf32>, tensor<*xf32>, tensor<?x?xf32>
}

// Positive: Expand that only adds dims of 1 in front.
// CHECK-LABEL: func.func @expand
// CHECK-NEXT: onnx.Constant dense<[1, 1, -1, 3]> : tensor<4xi64>
// CHECK-NEXT: "onnx.Reshape"
// CHECK-NEXT: onnx.Return
func.func @expand(%x: tensor<?x3xf32>) -> tensor<1x1x?x3xf32> {
  %t = onnx.Constant dense<[1, 1, 1, 3]> : tensor<4xi64>
  %0 = "onnx.Expand"(%x, %t) : (tensor<?x3xf32>, tensor<4xi64>) -> tensor<1x1x?x3xf32>
  onnx.Return %0 : tensor<1x1x?x3xf32>
}

// Negative: Expand that repeats, in front or elsewhere; a dim that may be 1 and is expanded; dims that a
// target cannot say; a rank that is not known.
// CHECK-LABEL: func.func @expand_stays
// CHECK: "onnx.Expand"{{.*}}"repeats"
// CHECK: "onnx.Expand"{{.*}}"inside"
// CHECK: "onnx.Expand"{{.*}}"may_be_one"
// CHECK: "onnx.Expand"{{.*}}"two"
// CHECK: "onnx.Expand"{{.*}}"unranked"
// CHECK: "onnx.Expand"{{.*}}"square"
func.func @expand_stays(%x: tensor<3xf32>, %y: tensor<1x3xf32>, %z: tensor<?xf32>, %w: tensor<?x?xf32>, %v: tensor<*xf32>, %n: tensor<?x?xf32> {onnx.dim_params = "0:n,1:n"}) -> (tensor<2x3xf32>, tensor<1x2x3xf32>, tensor<1x?xf32>, tensor<1x?x?xf32>, tensor<1x3xf32>, tensor<1x?x?xf32>) {
  %a = onnx.Constant dense<[2, 3]> : tensor<2xi64>
  %b = onnx.Constant dense<[1, 2, 3]> : tensor<3xi64>
  %c = onnx.Constant dense<[1, 5]> : tensor<2xi64>
  %d = onnx.Constant dense<[1, 1, 1]> : tensor<3xi64>
  %0 = "onnx.Expand"(%x, %a) {onnx_node_name = "repeats"} : (tensor<3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %1 = "onnx.Expand"(%y, %b) {onnx_node_name = "inside"} : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<1x2x3xf32>
  %2 = "onnx.Expand"(%z, %c) {onnx_node_name = "may_be_one"} : (tensor<?xf32>, tensor<2xi64>) -> tensor<1x?xf32>
  %3 = "onnx.Expand"(%w, %d) {onnx_node_name = "two"} : (tensor<?x?xf32>, tensor<3xi64>) -> tensor<1x?x?xf32>
  %4 = "onnx.Expand"(%v, %a) {onnx_node_name = "unranked"} : (tensor<*xf32>, tensor<2xi64>) -> tensor<1x3xf32>
  %5 = "onnx.Expand"(%n, %d) {onnx_node_name = "square"} : (tensor<?x?xf32>, tensor<3xi64>) -> tensor<1x?x?xf32>
  onnx.Return %0, %1, %2, %3, %4, %5 : tensor<2x3xf32>, tensor<1x2x3xf32>, tensor<1x?xf32>, tensor<1x?x?xf32>, tensor<1x3xf32>, tensor<1x?x?xf32>
}

// Positive: Squeeze of whatever is 1, and Unsqueeze by axes that are no constant, where shapes are known.
// CHECK-LABEL: func.func @squeeze
// CHECK-NEXT: onnx.Constant dense<[3, 4]> : tensor<2xi64>
// CHECK-NEXT: "onnx.Reshape"
// CHECK-NEXT: onnx.Constant dense<[3, 1, 4]> : tensor<3xi64>
// CHECK-NEXT: "onnx.Reshape"
// CHECK-NEXT: onnx.Return
func.func @squeeze(%x: tensor<3x1x4xf32>, %y: tensor<3x4xf32>, %axes: tensor<1xi64>) -> (tensor<3x4xf32>, tensor<3x1x4xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Squeeze"(%x, %none) : (tensor<3x1x4xf32>, none) -> tensor<3x4xf32>
  %1 = "onnx.Unsqueeze"(%y, %axes) : (tensor<3x4xf32>, tensor<1xi64>) -> tensor<3x1x4xf32>
  onnx.Return %0, %1 : tensor<3x4xf32>, tensor<3x1x4xf32>
}

// Negative: axes that are constants say it as well; so does Flatten. A shape with a 0 cannot be a target.
// CHECK-LABEL: func.func @squeeze_stays
// CHECK: "onnx.Squeeze"{{.*}}"plain"
// CHECK: "onnx.Flatten"
// CHECK: "onnx.Squeeze"{{.*}}"zero"
// CHECK: "onnx.Squeeze"{{.*}}"unknown"
func.func @squeeze_stays(%x: tensor<3x1x4xf32>, %y: tensor<0x1xf32>, %z: tensor<*xf32>, %w: tensor<?xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<0xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %axes = onnx.Constant dense<1> : tensor<1xi64>
  %0 = "onnx.Squeeze"(%x, %axes) {onnx_node_name = "plain"} : (tensor<3x1x4xf32>, tensor<1xi64>) -> tensor<3x4xf32>
  %1 = "onnx.Flatten"(%x) {axis = 1 : si64} : (tensor<3x1x4xf32>) -> tensor<3x4xf32>
  %2 = "onnx.Squeeze"(%y, %none) {onnx_node_name = "zero"} : (tensor<0x1xf32>, none) -> tensor<0xf32>
  %3 = "onnx.Squeeze"(%z, %none) {onnx_node_name = "unknown"} : (tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0, %1, %2, %3 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<0xf32>, tensor<*xf32>
}

// Negative: opted out, whatever it could become.
// CHECK-LABEL: func.func @opted_out
// CHECK: "onnx.Reshape"
// CHECK: "onnx.Squeeze"
func.func @opted_out(%x: tensor<3xf32>, %y: tensor<3x1xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %t = onnx.Constant dense<3> : tensor<1xi64>
  %0 = "onnx.Reshape"(%x, %t) {onnxloom.do_not_fold} : (tensor<3xf32>, tensor<1xi64>) -> tensor<3xf32>
  %1 = "onnx.Squeeze"(%y, %none) {onnxloom.do_not_fold} : (tensor<3x1xf32>, none) -> tensor<3xf32>
  onnx.Return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
