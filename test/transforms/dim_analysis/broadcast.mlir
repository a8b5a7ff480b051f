// RUN: onnxloom-opt %s -p 'shape-inference,print-dims' | filecheck %s

// Dims of one name are one dim; different symbols may each be 1, so their broadcast is neither.
// CHECK-LABEL: func.func @symbols
// CHECK: "onnx.Add"{{.*}}symbolic_shape = ["(n)"]
// CHECK: "onnx.Add"{{.*}}symbolic_shape = ["(bcast(m, n))"]
// CHECK: "onnx.Add"{{.*}}symbolic_shape = ["(bcast(m, n))"]
// CHECK: "onnx.Add"{{.*}}symbolic_shape = ["(4)"]{{.*}} -> tensor<4xf32>
func.func @symbols(%x: tensor<?xf32> {onnx.dim_params = "0:n"}, %y: tensor<?xf32> {onnx.dim_params = "0:n"}, %z: tensor<?xf32> {onnx.dim_params = "0:m"}, %c: tensor<4xf32>) {
  %0 = "onnx.Add"(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<*xf32>
  %1 = "onnx.Add"(%x, %z) : (tensor<?xf32>, tensor<?xf32>) -> tensor<*xf32>
  %2 = "onnx.Add"(%z, %1) : (tensor<?xf32>, tensor<*xf32>) -> tensor<*xf32>
  %3 = "onnx.Add"(%x, %c) : (tensor<?xf32>, tensor<4xf32>) -> tensor<*xf32>
  onnx.Return
}

// Dims called "?" (what some exporters write everywhere) and dims without a name are all different.
// CHECK-LABEL: func.func @nameless
// CHECK-SAME: symbolic_shape = ["(?[[A:[0-9]+]], ?[[B:[0-9]+]])", "(?[[C:[0-9]+]])"]
// CHECK: "onnx.Add"{{.*}}symbolic_shape = ["(?[[A]], bcast(?[[B]], ?[[C]]))"]
func.func @nameless(%x: tensor<?x?xf32> {onnx.dim_params = "0:?,1:?"}, %y: tensor<?xf32>) {
  %0 = "onnx.Add"(%x, %y) : (tensor<?x?xf32>, tensor<?xf32>) -> tensor<*xf32>
  onnx.Return
}

// Scalars, empty tensors, ranks that differ, and a variadic op with one input.
// CHECK-LABEL: func.func @corner_shapes
// CHECK: "onnx.Mul"{{.*}} -> tensor<f32>
// CHECK: "onnx.Mul"{{.*}} -> tensor<0x3xf32>
// CHECK: "onnx.Mul"{{.*}} -> tensor<1x0x3xf32>
// CHECK: "onnx.Max"{{.*}} -> tensor<0x3xf32>
// CHECK: "onnx.Concat"{{.*}} -> tensor<0x3xf32>
// CHECK: "onnx.Where"{{.*}} -> tensor<0x3xf64>
func.func @corner_shapes(%s: tensor<f32>, %e: tensor<0x3xf32>, %r: tensor<1x1x3xf32>, %b: tensor<1xi1>, %d: tensor<f64>, %f: tensor<0x3xf64>) {
  %0 = "onnx.Mul"(%s, %s) : (tensor<f32>, tensor<f32>) -> tensor<*xf32>
  %1 = "onnx.Mul"(%e, %s) : (tensor<0x3xf32>, tensor<f32>) -> tensor<*xf32>
  %2 = "onnx.Mul"(%e, %r) : (tensor<0x3xf32>, tensor<1x1x3xf32>) -> tensor<*xf32>
  %3 = "onnx.Max"(%e) : (tensor<0x3xf32>) -> tensor<*xf32>
  %4 = "onnx.Concat"(%e) <{axis = 0 : si64}> : (tensor<0x3xf32>) -> tensor<*xf32>
  %5 = "onnx.Where"(%b, %d, %f) : (tensor<1xi1>, tensor<f64>, tensor<0x3xf64>) -> tensor<*xf64>
  onnx.Return
}

// MatMul: vectors, broadcast batches.
// CHECK-LABEL: func.func @matmul
// CHECK: "onnx.MatMul"{{.*}}symbolic_shape = ["(b, h, n, 5)"]
// CHECK: "onnx.MatMul"{{.*}}symbolic_shape = ["(b, h, n)"]
func.func @matmul(%x: tensor<?x?x?x4xf32> {onnx.dim_params = "0:b,1:h,2:n"}, %y: tensor<1x4x5xf32>, %v: tensor<4xf32>) {
  %0 = "onnx.MatMul"(%x, %y) : (tensor<?x?x?x4xf32>, tensor<1x4x5xf32>) -> tensor<*xf32>
  %1 = "onnx.MatMul"(%x, %v) : (tensor<?x?x?x4xf32>, tensor<4xf32>) -> tensor<*xf32>
  onnx.Return
}
