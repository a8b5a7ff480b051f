// Errors are one sentence that names op, node and operand.
// RUN: onnxloom-opt %s --split-input-file --verify-diagnostics

func.func @wrong_element_type(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xi1>) {
  %none = "onnx.NoValue"() {value} : () -> none
  // expected-error@+1 {{onnx.Conv (node "c1"): operand W has type tensor<4x3x3x3xi1>; expected a tensor of bf16, f16, f32 or f64}}
  %0 = "onnx.Conv"(%x, %w, %none) {onnx_node_name = "c1"} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xi1>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @two_element_types(%x: tensor<2xf32>, %y: tensor<2xf64>) {
  // expected-error@+1 {{onnx.Add: operand B has type tensor<2xf64>; expected element type f32 like the others of type T}}
  %0 = "onnx.Add"(%x, %y) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @missing_operand(%x: tensor<2xf32>) {
  // expected-error@+1 {{onnx.Gemm: has 1 operands; expected 3: A, B, C}}
  %0 = "onnx.Gemm"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @wrong_attribute(%x: tensor<2xf32>) {
  // expected-error@+1 {{onnx.Softmax: attribute axis is "last"; expected an si64 integer}}
  %0 = "onnx.Softmax"(%x) {axis = "last"} : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @missing_attribute(%x: tensor<2xf32>) {
  // expected-error@+1 {{onnx.Concat: attribute axis is missing; expected an si64 integer}}
  %0 = "onnx.Concat"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  onnx.Return
}

// -----

func.func @unknown_attribute(%x: tensor<2xf32>) {
  // expected-error@+1 {{onnx.Relu: attribute alpha is not one of this op; expected one of: none}}
  %0 = "onnx.Relu"(%x) <{alpha = 1.0 : f32}> : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}
