// RUN: onnxloom-opt %s -p fold-dimensions | filecheck %s

// Positive: of a shape that is known in part, what matters is known: the chain goes, Shape included.
// CHECK-LABEL: func.func @partly_known
// CHECK-NEXT: onnx.Constant {onnx_node_name = "add", onnxloom.folded = "fold-dimensions"} dense<65> : tensor<i64>
// CHECK-NEXT: onnx.Return
func.func @partly_known(%x: tensor<?x64xf32>) -> tensor<*xi64> {
  %s = "onnx.Shape"(%x) : (tensor<?x64xf32>) -> tensor<2xi64>
  %i = onnx.Constant dense<1> : tensor<i64>
  %g = "onnx.Gather"(%s, %i) {axis = 0 : si64} : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  %a = "onnx.Add"(%g, %i) {onnx_node_name = "add"} : (tensor<i64>, tensor<i64>) -> tensor<*xi64>
  onnx.Return %a : tensor<*xi64>
}

// Negative: the dim that matters is not known.
// CHECK-LABEL: func.func @not_known
// CHECK-NEXT: "onnx.Shape"
// CHECK: "onnx.Gather"
func.func @not_known(%x: tensor<?x64xf32>) -> tensor<i64> {
  %s = "onnx.Shape"(%x) : (tensor<?x64xf32>) -> tensor<2xi64>
  %i = onnx.Constant dense<0> : tensor<i64>
  %g = "onnx.Gather"(%s, %i) {axis = 0 : si64} : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  onnx.Return %g : tensor<i64>
}

// Positive: start and end count, from either side and beyond it; so do Size, and a division of dims.
// CHECK-LABEL: func.func @ranges
// CHECK-NEXT: dense<[4, 5]> : tensor<2xi64>
// CHECK-NEXT: dense<6> : tensor<1xi64>
// CHECK-NEXT: dense<> : tensor<0xi64>
// CHECK-NEXT: dense<360> : tensor<i64>
// CHECK-NEXT: onnx.Return
func.func @ranges(%x: tensor<?x4x5x6xf32>, %y: tensor<3x4x5x6xf32>) -> (tensor<2xi64>, tensor<1xi64>, tensor<0xi64>, tensor<i64>) {
  %0 = "onnx.Shape"(%x) {start = 1 : si64, end = -1 : si64} : (tensor<?x4x5x6xf32>) -> tensor<2xi64>
  %1 = "onnx.Shape"(%x) {start = -1 : si64, end = 9 : si64} : (tensor<?x4x5x6xf32>) -> tensor<1xi64>
  %2 = "onnx.Shape"(%x) {start = 3 : si64, end = 2 : si64} : (tensor<?x4x5x6xf32>) -> tensor<0xi64>
  %3 = "onnx.Size"(%y) : (tensor<3x4x5x6xf32>) -> tensor<i64>
  onnx.Return %0, %1, %2, %3 : tensor<2xi64>, tensor<1xi64>, tensor<0xi64>, tensor<i64>
}

// Positive: truth values of shapes, and floats on the way.
// CHECK-LABEL: func.func @through_floats
// CHECK-NEXT: dense<true> : tensor<1xi1>
// CHECK-NEXT: dense<2> : tensor<1xi64>
// CHECK-NEXT: onnx.Return
func.func @through_floats(%x: tensor<?x5xf32>) -> (tensor<1xi1>, tensor<1xi64>) {
  %d = "onnx.Shape"(%x) {start = 1 : si64} : (tensor<?x5xf32>) -> tensor<1xi64>
  %five = onnx.Constant dense<5> : tensor<1xi64>
  %same = "onnx.Equal"(%d, %five) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi1>
  %f = "onnx.Cast"(%d) {to = 1 : si64} : (tensor<1xi64>) -> tensor<1xf32>
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %h = "onnx.Mul"(%f, %half) : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
  %r = "onnx.Floor"(%h) : (tensor<1xf32>) -> tensor<1xf32>
  %n = "onnx.Cast"(%r) {to = 7 : si64} : (tensor<1xf32>) -> tensor<1xi64>
  onnx.Return %same, %n : tensor<1xi1>, tensor<1xi64>
}

// Positive: bodies see the shapes of what they capture. What is known of one result of an If folds, it
// stays for the other.
// CHECK-LABEL: func.func @bodies
// CHECK-NEXT: %[[BOTH:.*]] = onnx.Constant {{.*}}dense<3> : tensor<1xi64>
// CHECK-NEXT: "onnx.If"
// CHECK-NEXT: onnx.Constant {{.*}}dense<3> : tensor<1xi64>
// CHECK: onnx.Constant {{.*}}dense<3> : tensor<1xi64>
// CHECK: onnx.Return %[[BOTH]], %{{[0-9]+}}
func.func @bodies(%c: tensor<i1>, %x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<1xi64>, tensor<3xf32>) {
  %0, %1 = "onnx.If"(%c) ({
    %s = "onnx.Shape"(%x) : (tensor<3xf32>) -> tensor<1xi64>
    onnx.Yield %s, %x : tensor<1xi64>, tensor<3xf32>
  }, {
    %s = "onnx.Shape"(%y) : (tensor<3xf32>) -> tensor<1xi64>
    onnx.Yield %s, %y : tensor<1xi64>, tensor<3xf32>
  }) : (tensor<i1>) -> (tensor<1xi64>, tensor<3xf32>)
  onnx.Return %0, %1 : tensor<1xi64>, tensor<3xf32>
}

// Negative: opted out, kept; a float tensor is not this pass's, whatever is known of it;
// nothing is known of many elements; a declared type that says otherwise is not overruled here.
// CHECK-LABEL: func.func @stay
// CHECK: "onnx.Shape"(%x) {onnxloom.do_not_fold}
// CHECK: "onnx.Size"(%x) {onnxloom.keep}
// CHECK: "onnx.Cast"
// CHECK: "onnx.Cast"(%many)
// CHECK: "onnx.Shape"{{.*}} -> tensor<2xi64>
func.func @stay(%x: tensor<3xf32>, %many: tensor<20xf32>) -> (tensor<1xi64>, tensor<i64>, tensor<1xf32>, tensor<20xi64>, tensor<2xi64>) {
  %0 = "onnx.Shape"(%x) {onnxloom.do_not_fold} : (tensor<3xf32>) -> tensor<1xi64>
  %1 = "onnx.Size"(%x) {onnxloom.keep} : (tensor<3xf32>) -> tensor<i64>
  %2 = "onnx.Shape"(%x) : (tensor<3xf32>) -> tensor<1xi64>
  %3 = "onnx.Cast"(%2) {to = 1 : si64} : (tensor<1xi64>) -> tensor<1xf32>
  %4 = "onnx.Cast"(%many) {to = 7 : si64} : (tensor<20xf32>) -> tensor<20xi64>
  %5 = "onnx.Shape"(%x) : (tensor<3xf32>) -> tensor<2xi64>
  onnx.Return %0, %1, %3, %4, %5 : tensor<1xi64>, tensor<i64>, tensor<1xf32>, tensor<20xi64>, tensor<2xi64>
}
