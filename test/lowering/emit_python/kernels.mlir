// Plain Python that can be pasted anywhere: imports, used helpers only, one function per kernel.
// RUN: onnxloom-opt %s -t numba | filecheck %s

// CHECK:      import math
// CHECK:      import numpy as np
// CHECK-NEXT: from numba import njit
// CHECK-NOT:  f16_to_f32
// CHECK:      @njit
// CHECK-NEXT: def f32_to_bf16(x):
// CHECK:      @njit(error_model="numpy")
// CHECK-NEXT: def scaled_exp(x, y, n):
// CHECK:        x: f32 buffer, read
// CHECK:        y: bf16 buffer, write
// CHECK:        for i in range(n):
// CHECK-NEXT:     value = x[i]
// CHECK-NEXT:     y[i] = f32_to_bf16(math.exp(value * np.float32(0.5)))
"loom.kernel"() <{sym_name = "scaled_exp", access = ["read", "write"]}> ({
^bb0(%x: memref<?xf32>, %y: memref<?xbf16>, %n: index):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %half = arith.constant 0.5 : f32
  scf.for %i = %c0 to %n step %c1 {
    %value = memref.load %x[%i] : memref<?xf32>
    %scaled = arith.mulf %value, %half : f32
    %e = math.exp %scaled : f32
    %narrow = arith.truncf %e : f32 to bf16
    memref.store %narrow, %y[%i] : memref<?xbf16>
  } {loom.parallel}
  "loom.end"() : () -> ()
}) : () -> ()

// A carried value is a variable; a short expression is written where it is used.
// CHECK:      def row_sums(x, y, rows, columns):
// CHECK:        for i in range(rows):
// CHECK-NEXT:     s = np.float32(0.0)
// CHECK-NEXT:     for j in range(columns):
// CHECK-NEXT:       v = x[(i * columns) + j]
// CHECK-NEXT:       s = s + v
// CHECK-NEXT:     y[i] = s
"loom.kernel"() <{sym_name = "row_sums", access = ["read", "write"]}> ({
^bb0(%x: memref<?xf32>, %y: memref<?xf32>, %rows: index, %columns: index):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %rows step %c1 {
    %sum = scf.for %j = %c0 to %columns step %c1 iter_args(%s = %zero) -> (f32) {
      %base = arith.muli %i, %columns : index
      %at = arith.addi %base, %j : index
      %v = memref.load %x[%at] : memref<?xf32>
      %t = arith.addf %s, %v : f32
      scf.yield %t : f32
    }
    memref.store %sum, %y[%i] : memref<?xf32>
  } {loom.parallel}
  "loom.end"() : () -> ()
}) : () -> ()
