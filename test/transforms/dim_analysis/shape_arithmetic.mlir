// RUN: onnxloom-opt %s -p 'shape-inference,print-dims' | filecheck %s

// A Reshape whose target is computed from the dims of its input gets them, and the rest exactly.
// CHECK-LABEL: func.func @split_heads
// CHECK: "onnx.Concat"{{.*}}onnx.known_values = ["[batch, seq, 12, -1]"]
// CHECK: "onnx.Reshape"{{.*}}onnx.symbolic_shape = ["(batch, seq, 12, 64)"]{{.*}} -> tensor<?x?x12x64xf32>
func.func @split_heads(%x: tensor<?x?x768xf32> {onnx.dim_params = "0:batch,1:seq"}) -> tensor<*xf32> {
  %s = "onnx.Shape"(%x) : (tensor<?x?x768xf32>) -> tensor<*xi64>
  %i0 = onnx.Constant dense<0> : tensor<i64>
  %i1 = onnx.Constant dense<1> : tensor<i64>
  %axis = onnx.Constant dense<[0]> : tensor<1xi64>
  %b = "onnx.Gather"(%s, %i0) <{axis = 0 : si64}> : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
  %n = "onnx.Gather"(%s, %i1) <{axis = 0 : si64}> : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
  %b1 = "onnx.Unsqueeze"(%b, %axis) : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
  %n1 = "onnx.Unsqueeze"(%n, %axis) : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
  %h = onnx.Constant dense<[12, -1]> : tensor<2xi64>
  %t = "onnx.Concat"(%b1, %n1, %h) <{axis = 0 : si64}> : (tensor<*xi64>, tensor<*xi64>, tensor<2xi64>) -> tensor<*xi64>
  %r = "onnx.Reshape"(%x, %t) : (tensor<?x?x768xf32>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %r : tensor<*xf32>
}

// Shape(start, end) gives those dims only; Size is their product.
// CHECK-LABEL: func.func @shape_range
// CHECK: "onnx.Shape"{{.*}}known_values = ["[n, 5]"]{{.*}} -> tensor<2xi64>
// CHECK: "onnx.Shape"{{.*}}known_values = ["[5, m]"]{{.*}} -> tensor<2xi64>
// CHECK: "onnx.Size"{{.*}}known_values = ["[m*n*5]"]{{.*}} -> tensor<i64>
func.func @shape_range(%x: tensor<?x5x?xf32> {onnx.dim_params = "0:n,2:m"}) {
  %a = "onnx.Shape"(%x) <{end = 2 : si64}> : (tensor<?x5x?xf32>) -> tensor<*xi64>
  %b = "onnx.Shape"(%x) <{start = -2 : si64}> : (tensor<?x5x?xf32>) -> tensor<*xi64>
  %c = "onnx.Size"(%x) : (tensor<?x5x?xf32>) -> tensor<*xi64>
  onnx.Return
}

// The target of an Expand that says "-1 means keep": Equal and Where over symbolic dims are decided.
// CHECK-LABEL: func.func @expand_keep
// CHECK: "onnx.Equal"{{.*}}known_values = ["[false, true]"]
// CHECK: "onnx.Where"{{.*}}known_values = ["[n, 1]"]
// CHECK: "onnx.Expand"{{.*}}symbolic_shape = ["(n, 7)"]
func.func @expand_keep(%x: tensor<?xf32> {onnx.dim_params = "0:n"}, %y: tensor<1x7xf32>) {
  %s = "onnx.Shape"(%x) : (tensor<?xf32>) -> tensor<1xi64>
  %keep = onnx.Constant dense<-1> : tensor<1xi64>
  %t = "onnx.Concat"(%s, %keep) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %minus = onnx.Constant dense<[-1, -1]> : tensor<2xi64>
  %ones = onnx.Constant dense<[1, 1]> : tensor<2xi64>
  %e = "onnx.Equal"(%t, %minus) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %w = "onnx.Where"(%e, %ones, %t) : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %r = "onnx.Expand"(%y, %w) : (tensor<1x7xf32>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return
}

// Float detours of exporters: Cast, Mul, Floor, Cast over a dim; Resize by a power of two.
// CHECK-LABEL: func.func @through_floats
// CHECK: "onnx.Cast"{{.*}}known_values = ["[float(h), float(w)]"]
// CHECK: "onnx.Mul"{{.*}}known_values = ["[(h*3)/2, (w*3)/2]"]
// CHECK: "onnx.Floor"{{.*}}known_values = ["[float(h+(h//2)), float(w+(w//2))]"]
// CHECK: "onnx.Cast"{{.*}}known_values = ["[h+(h//2), w+(w//2)]"]
// CHECK: "onnx.Resize"{{.*}}symbolic_shape = ["(1, 3, h*2, (w//2))"]
func.func @through_floats(%x: tensor<1x3x?x?xf32> {onnx.dim_params = "2:h,3:w"}) {
  %none = "onnx.NoValue"() {value} : () -> none
  %s = "onnx.Shape"(%x) <{start = 2 : si64}> : (tensor<1x3x?x?xf32>) -> tensor<2xi64>
  %f = "onnx.Cast"(%s) <{to = 1 : si64}> : (tensor<2xi64>) -> tensor<2xf32>
  %c = onnx.Constant dense<1.5> : tensor<f32>
  %m = "onnx.Mul"(%f, %c) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %g = "onnx.Floor"(%m) : (tensor<2xf32>) -> tensor<2xf32>
  %i = "onnx.Cast"(%g) <{to = 7 : si64}> : (tensor<2xf32>) -> tensor<2xi64>
  %scales = onnx.Constant dense<[1.0, 1.0, 2.0, 0.5]> : tensor<4xf32>
  %r = "onnx.Resize"(%x, %none, %scales, %none) : (tensor<1x3x?x?xf32>, none, tensor<4xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// ConstantOfShape, Range, Tile, TopK and OneHot over computed sizes.
// CHECK-LABEL: func.func @generated
// CHECK: "onnx.ConstantOfShape"{{.*}}symbolic_shape = ["(n)"]{{.*}} -> tensor<?xi64>
// CHECK: "onnx.Range"{{.*}}symbolic_shape = ["(n)"]
// CHECK: "onnx.Range"{{.*}}symbolic_shape = ["(((n+1)//2))"]
// CHECK: "onnx.Tile"{{.*}}symbolic_shape = ["(n^2)"]
// CHECK: "onnx.TopK"{{.*}}symbolic_shape = ["(n)", "(n)"]
// CHECK: "onnx.OneHot"{{.*}}symbolic_shape = ["(n, n)"]
func.func @generated(%x: tensor<?xf32> {onnx.dim_params = "0:n"}) {
  %s = "onnx.Shape"(%x) : (tensor<?xf32>) -> tensor<1xi64>
  %a = "onnx.ConstantOfShape"(%s) <{value = dense<0> : tensor<1xi64>}> : (tensor<1xi64>) -> tensor<*xi64>
  %axis = onnx.Constant dense<0> : tensor<1xi64>
  %n = "onnx.Squeeze"(%s, %axis) : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
  %zero = onnx.Constant dense<0> : tensor<i64>
  %one = onnx.Constant dense<1> : tensor<i64>
  %two = onnx.Constant dense<2> : tensor<i64>
  %b = "onnx.Range"(%zero, %n, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<*xi64>
  %c = "onnx.Range"(%zero, %n, %two) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<*xi64>
  %d = "onnx.Tile"(%x, %s) : (tensor<?xf32>, tensor<1xi64>) -> tensor<*xf32>
  %e, %f = "onnx.TopK"(%x, %s) : (tensor<?xf32>, tensor<1xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  %onoff = onnx.Constant dense<[0.0, 1.0]> : tensor<2xf32>
  %g = "onnx.OneHot"(%b, %s, %onoff) : (tensor<*xi64>, tensor<1xi64>, tensor<2xf32>) -> tensor<*xf32>
  onnx.Return
}

// Narrow integers wrap and half precision rounds: what is computed in them is not an expression of dims.
// CHECK-LABEL: func.func @narrow
// CHECK: "onnx.Add"{{.*}}known_values = ["[?{{[0-9]+}}]"]{{.*}} -> tensor<1xui8>
// CHECK: "onnx.Add"{{.*}}known_values = ["[?{{[0-9]+}}]"]{{.*}} -> tensor<1xui8>
// CHECK: "onnx.Cast"(%{{[a-z]+}}) <{to = 10 : si64}> {onnx.symbolic_shape = ["(1)"]}
func.func @narrow(%x: tensor<1xui8>, %y: tensor<?xf32>) {
  %c = onnx.Constant dense<200> : tensor<1xui8>
  %d = onnx.Constant dense<100> : tensor<1xui8>
  %0 = "onnx.Add"(%x, %c) : (tensor<1xui8>, tensor<1xui8>) -> tensor<1xui8>
  %1 = "onnx.Add"(%c, %d) : (tensor<1xui8>, tensor<1xui8>) -> tensor<1xui8>
  %s = "onnx.Shape"(%y) : (tensor<?xf32>) -> tensor<1xi64>
  %2 = "onnx.Cast"(%s) <{to = 10 : si64}> : (tensor<1xi64>) -> tensor<1xf16>
  onnx.Return
}
