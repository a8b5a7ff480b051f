// RUN: onnxloom-opt %s --split-input-file --verify-diagnostics

// A parse error, by relative line, by name of the direction, and on the same line.
func.func @offset() {
  // expected-error@+1 {{onnx.Nothing is not registered}}
  "onnx.Nothing"() : () -> ()
}

// -----

func.func @below() {
  // expected-error@below {{not registered}}
  "onnx.Nothing"() : () -> ()
}

// -----

func.func @same() {
  "onnx.Nothing"() : () -> () // expected-error {{onnx.Nothing}}
}

// -----

// An error of the verifier has the line of its op.
func.func @verifier(%x: tensor<2xf32>) {
  %y = "arith.constant"() <{value = 1 : i32}> : () -> i32
  // expected-error@+1 {{arith.addi}}
  %z = "arith.addi"(%y, %y) : (i32, i32) -> i64
  "func.return"() : () -> ()
}

// -----

// Nothing is wrong here, and nothing is expected.
func.func @fine() {
  "func.return"() : () -> ()
}
