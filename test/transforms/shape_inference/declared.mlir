// RUN: onnxloom-opt %s -p shape-inference | filecheck %s

// A declared dim that is more precise than the inferred one stays; a wrong one gives way.
// CHECK-LABEL: func.func @precise
// CHECK: "onnx.Relu"{{.*}} -> tensor<4x3xf32>
// CHECK: "onnx.Relu"{{.*}} -> tensor<4x3xf32>
// CHECK: "onnx.Transpose"{{.*}} -> tensor<3x4xf32>
// CHECK: "onnx.Custom"{{.*}} -> tensor<7x?xf32>
func.func @precise(%x: tensor<?x3xf32>) {
  %0 = "onnx.Relu"(%x) : (tensor<?x3xf32>) -> tensor<4x?xf32>
  %1 = "onnx.Relu"(%0) : (tensor<4x?xf32>) -> tensor<4x5xf32>
  %2 = "onnx.Transpose"(%1) : (tensor<4x5xf32>) -> tensor<*xf32>
  %3 = "onnx.Custom"(%2) <{function_name = "MyOp", domain_name = "my.domain"}> : (tensor<*xf32>) -> tensor<7x?xf32>
  onnx.Return
}

// Results of functions take the types of what they return.
// CHECK-LABEL: func.func @signature(%x: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<2x3xi1>)
func.func @signature(%x: tensor<2x3xf32>) -> (tensor<*xf32>, tensor<*xi1>) {
  %0 = "onnx.Transpose"(%x) : (tensor<2x3xf32>) -> tensor<*xf32>
  %1 = "onnx.IsNaN"(%x) : (tensor<2x3xf32>) -> tensor<*xi1>
  onnx.Return %0, %1 : tensor<*xf32>, tensor<*xi1>
}

// An op of another domain with a rule, one without, and one that only the standard's own inference knows.
// CHECK-LABEL: func.func @other_rules
// CHECK: "onnx.Custom"{{.*}} -> tensor<?x5xf32>
// CHECK: "onnx.Custom"{{.*}} -> tensor<*xf32>
// CHECK: "onnx.HannWindow"{{.*}} -> tensor<16xf32>
func.func @other_rules(%x: tensor<?x4xf32>, %w: tensor<4x5xi8>, %s: tensor<f32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Custom"(%x, %w, %s, %none, %none) <{function_name = "DynamicQuantizeMatMul", domain_name = "com.microsoft"}> : (tensor<?x4xf32>, tensor<4x5xi8>, tensor<f32>, none, none) -> tensor<*xf32>
  %1 = "onnx.Custom"(%x) <{function_name = "DynamicQuantizeMatMul", domain_name = "my.domain"}> : (tensor<?x4xf32>) -> tensor<*xf32>
  %n = onnx.Constant dense<16> : tensor<i64>
  %2 = "onnx.HannWindow"(%n) : (tensor<i64>) -> tensor<*xf32>
  onnx.Return
}

// Encodings of declared types survive.
// CHECK-LABEL: func.func @encoding
// CHECK: "onnx.Relu"{{.*}} -> tensor<4xf32, "packed">
func.func @encoding(%x: tensor<4xf32>) {
  %0 = "onnx.Relu"(%x) : (tensor<4xf32>) -> tensor<?xf32, "packed">
  onnx.Return
}
