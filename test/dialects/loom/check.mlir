// RUN: onnxloom-opt %s --split-input-file --verify-diagnostics

// Positive: a status of three words right behind its launch, and one that is a size.
"loom.kernel"() <{sym_name = "k", access = ["read", "write"]}> ({
^bb0(%in: memref<?xi64>, %status: memref<?xi64>, %n: index):
  %0 = arith.constant 0 : index
  %v = memref.load %in[%0] : memref<?xi64>
  memref.store %v, %status[%0] : memref<?xi64>
  "loom.end"() : () -> ()
}) : () -> ()
"loom.program"() <{sym_name = "good", arg_names = ["x"], result_names = ["y"]}> ({
^bb0(%x: tensor<4xi64>):
  %n = arith.constant 4 : index
  "loom.check"(%n) <{message = "is {0}"}> : (index) -> ()
  %e = tensor.empty() : tensor<3xi64>
  %s = "loom.launch"(%x, %e, %n) <{kernel = @k, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<4xi64>, tensor<3xi64>, index) -> tensor<3xi64>
  "loom.check"(%s) <{message = "{1} of {2}, {{literally}}"}> : (tensor<3xi64>) -> ()
  "loom.return"(%x) : (tensor<4xi64>) -> ()
}) : () -> ()

// -----

// Negative: a status nothing computes.
"loom.program"() <{sym_name = "argument", arg_names = ["x"], result_names = ["y"]}> ({
^bb0(%x: tensor<3xi64>):
  // expected-error@+1 {{loom.check: the op before it must be the launch that fills the status}}
  "loom.check"(%x) <{message = "bad"}> : (tensor<3xi64>) -> ()
  "loom.return"(%x) : (tensor<3xi64>) -> ()
}) : () -> ()

// -----

// Negative: words of another type.
"loom.program"() <{sym_name = "floats", arg_names = ["x"], result_names = ["y"]}> ({
^bb0(%x: tensor<3xf32>):
  // expected-error@+1 {{loom.check: a status is an index or a tensor<Nxi64>, not tensor<3xf32>}}
  "loom.check"(%x) <{message = "bad"}> : (tensor<3xf32>) -> ()
  "loom.return"(%x) : (tensor<3xf32>) -> ()
}) : () -> ()

// -----

// Negative: a message that reads more words than there are.
"loom.program"() <{sym_name = "words", arg_names = ["x"], result_names = ["y"]}> ({
^bb0(%x: tensor<3xi64>):
  %n = arith.constant 4 : index
  // expected-error@+1 {{loom.check: the message reads {1} of 1 status words}}
  "loom.check"(%n) <{message = "{0} and {1}"}> : (index) -> ()
  "loom.return"(%x) : (tensor<3xi64>) -> ()
}) : () -> ()

// -----

// Negative: something else reads the status too.
"loom.program"() <{sym_name = "shared", arg_names = ["x"], result_names = ["y"]}> ({
^bb0(%x: tensor<4xi64>):
  %n = arith.constant 4 : index
  %e = tensor.empty() : tensor<1xi64>
  %s = "loom.launch"(%x, %e, %n) <{kernel = @k, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<4xi64>, tensor<1xi64>, index) -> tensor<1xi64>
  // expected-error@+1 {{loom.check: nothing else may read the status}}
  "loom.check"(%s) <{message = "bad"}> : (tensor<1xi64>) -> ()
  "loom.return"(%s) : (tensor<1xi64>) -> ()
}) : () -> ()
