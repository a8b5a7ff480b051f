// f32 functions become arithmetic; f64 ones and cheap ones (sqrt) stay.
// RUN: onnxloom-opt %s -p expand-math | filecheck %s

// CHECK-NOT: math.exp
// CHECK:     arith.bitcast
// CHECK:     math.fma
// CHECK-NOT: math.exp %{{.*}} : f32
// CHECK:     math.sqrt %{{.*}} : f32
// CHECK:     math.exp %{{.*}} : f64
"loom.kernel"() <{sym_name = "k", access = ["readwrite", "readwrite"]}> ({
^bb0(%x: memref<?xf32>, %y: memref<?xf64>):
  %c0 = arith.constant 0 : index
  %a = memref.load %x[%c0] : memref<?xf32>
  %b = math.exp %a : f32
  %c = math.sqrt %b : f32
  memref.store %c, %x[%c0] : memref<?xf32>
  %d = memref.load %y[%c0] : memref<?xf64>
  %e = math.exp %d : f64
  memref.store %e, %y[%c0] : memref<?xf64>
  "loom.end"() : () -> ()
}) : () -> ()
