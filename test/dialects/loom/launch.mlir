// RUN: onnxloom-opt %s --split-input-file --verify-diagnostics

// Positive: a launch that gives the kernel what it takes, signs aside.
"loom.kernel"() <{sym_name = "k", access = ["read", "write"]}> ({
^bb0(%in: memref<?xi8>, %out: memref<?xi8>, %n: index):
  %0 = arith.constant 0 : index
  %v = memref.load %in[%0] : memref<?xi8>
  memref.store %v, %out[%0] : memref<?xi8>
  "loom.end"() : () -> ()
}) : () -> ()
"loom.program"() <{sym_name = "good", arg_names = ["x"], result_names = ["y"]}> ({
^bb0(%x: tensor<4xui8>):
  %n = arith.constant 4 : index
  %e = tensor.empty() : tensor<4xi8>
  %y = "loom.launch"(%x, %e, %n) <{kernel = @k, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<4xui8>, tensor<4xi8>, index) -> tensor<4xi8>
  "loom.return"(%y) : (tensor<4xi8>) -> ()
}) : () -> ()

// -----

// Negative: a size too few.
"loom.kernel"() <{sym_name = "k", access = ["read", "write"]}> ({
^bb0(%in: memref<?xf32>, %out: memref<?xf32>, %n: index):
  %v = memref.load %in[%n] : memref<?xf32>
  memref.store %v, %out[%n] : memref<?xf32>
  "loom.end"() : () -> ()
}) : () -> ()
// expected-error@+1 {{loom.program @sizes: kernel k takes 1 input and 1 size, got 1 and 0}}
"loom.program"() <{sym_name = "sizes", arg_names = ["x"], result_names = ["y"]}> ({
^bb0(%x: tensor<4xf32>):
  %e = tensor.empty() : tensor<4xf32>
  %y = "loom.launch"(%x, %e) <{kernel = @k, operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "loom.return"(%y) : (tensor<4xf32>) -> ()
}) : () -> ()

// -----

// Negative: no destination.
"loom.kernel"() <{sym_name = "k", access = ["read", "write"]}> ({
^bb0(%in: memref<?xf32>, %out: memref<?xf32>, %n: index):
  %v = memref.load %in[%n] : memref<?xf32>
  memref.store %v, %out[%n] : memref<?xf32>
  "loom.end"() : () -> ()
}) : () -> ()
// expected-error@+1 {{loom.program @outs: kernel k takes 1 input, 1 output and 1 size, got 1, 0 and 1}}
"loom.program"() <{sym_name = "outs", arg_names = ["x"], result_names = ["y"]}> ({
^bb0(%x: tensor<4xf32>):
  %n = arith.constant 4 : index
  "loom.launch"(%x, %n) <{kernel = @k, operandSegmentSizes = array<i32: 1, 0, 1>}> : (tensor<4xf32>, index) -> ()
  "loom.return"(%x) : (tensor<4xf32>) -> ()
}) : () -> ()

// -----

// Negative: elements of another size, in a region of the program.
"loom.kernel"() <{sym_name = "k", access = ["read", "write"]}> ({
^bb0(%in: memref<?xf32>, %out: memref<?xf64>):
  %n = arith.constant 0 : index
  %v = memref.load %in[%n] : memref<?xf32>
  %w = arith.extf %v : f32 to f64
  memref.store %w, %out[%n] : memref<?xf64>
  "loom.end"() : () -> ()
}) : () -> ()
// expected-error@+1 {{loom.program @elements: kernel k: output 0 has elements of type f32; the kernel's are f64}}
"loom.program"() <{sym_name = "elements", arg_names = ["x", "c"], result_names = ["y"]}> ({
^bb0(%x: tensor<1xf32>, %c: tensor<i1>):
  %y = "loom.if"(%c) ({
    %e = tensor.empty() : tensor<1xf32>
    %z = "loom.launch"(%x, %e) <{kernel = @k, operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    "loom.yield"(%z) : (tensor<1xf32>) -> ()
  }, {
    "loom.yield"(%x) : (tensor<1xf32>) -> ()
  }) : (tensor<i1>) -> tensor<1xf32>
  "loom.return"(%y) : (tensor<1xf32>) -> ()
}) : () -> ()

// -----

// Negative: a kernel that is not there.
// expected-error@+1 {{loom.program @missing: loom.launch names kernel @nowhere, which the module lacks}}
"loom.program"() <{sym_name = "missing", arg_names = ["x"], result_names = ["y"]}> ({
^bb0(%x: tensor<4xf32>):
  %e = tensor.empty() : tensor<4xf32>
  %y = "loom.launch"(%x, %e) <{kernel = @nowhere, operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "loom.return"(%y) : (tensor<4xf32>) -> ()
}) : () -> ()

// -----

// Negative: an output that is never stored to.
// expected-error@+1 {{loom.kernel @idle: argument 1 has access 'write', but nothing is stored to it}}
"loom.kernel"() <{sym_name = "idle", access = ["read", "write"]}> ({
^bb0(%in: memref<?xf32>, %out: memref<?xf32>):
  "loom.end"() : () -> ()
}) : () -> ()

// -----

// Negative: memory that would be taken over from an input that is not there.
"loom.program"() <{sym_name = "inplace", arg_names = ["x"], result_names = ["y"]}> ({
^bb0(%x: tensor<4xf32>):
  %e = tensor.empty() : tensor<4xf32>
  // expected-error@+1 {{inplace names an input that is not there}}
  %y = "loom.launch"(%x, %e) <{kernel = @k, inplace = [[1 : i64]], operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "loom.return"(%y) : (tensor<4xf32>) -> ()
}) : () -> ()
