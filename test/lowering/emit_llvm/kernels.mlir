// One typed body and one entry per kernel, which are told the task; accesses of parallel loops are members
// of access groups.
// RUN: onnxloom-opt %s -t 'llvm{expand_math=false}' | filecheck %s

// CHECK:      define internal void @"add_rows.body"(float* %"x", float* %"y", i64 %"rows", i64 %"columns", i64 {{.*}}, i64 {{.*}}, i64 {{.*}})
// CHECK:      getelementptr inbounds float, float* %"x", i64
// CHECK-NEXT: load float, {{.*}} !llvm.access.group ![[BOTH:[0-9]+]]
// CHECK:      store float {{.*}} !llvm.access.group ![[BOTH]]
// CHECK:      br label {{.*}}, !llvm.loop
// CHECK:      br label {{.*}}, !llvm.loop
// CHECK:      define void @"add_rows"(i64* %".1", i64 %".2", i64 %".3", i64 %".4")
// CHECK:      call void @"add_rows.body"
"loom.kernel"() <{sym_name = "add_rows", access = ["read", "readwrite"]}> ({
^bb0(%x: memref<?xf32>, %y: memref<?xf32>, %rows: index, %columns: index):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %rows step %c1 {
    %base = arith.muli %i, %columns : index
    scf.for %j = %c0 to %columns step %c1 {
      %at = arith.addi %base, %j : index
      %v = memref.load %x[%at] : memref<?xf32>
      %w = memref.load %y[%at] : memref<?xf32>
      %s = arith.addf %v, %w : f32
      memref.store %s, %y[%at] : memref<?xf32>
    } {loom.parallel}
  } {loom.parallel}
  "loom.end"() : () -> ()
}) : () -> ()

// A scratch buffer is shared by the iterations of a loop around it: no access group for that loop.
// CHECK:      define internal void @"through_scratch.body"
// CHECK:      alloca [8 x float], align 64
// CHECK:      load float, float* %{{.*}}, !llvm.access.group
// CHECK-NEXT: getelementptr
// CHECK-NEXT: store float %"{{[.0-9]+}}", float* %"{{[.0-9]+}}"{{$}}
// CHECK:      store float {{.*}} !llvm.access.group
"loom.kernel"() <{sym_name = "through_scratch", access = ["read", "write"]}> ({
^bb0(%x: memref<?xf32>, %y: memref<?xf32>, %n: index):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %scratch = memref.alloca() : memref<8xf32>
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %scratch[%c0] : memref<8xf32>
    %w = memref.load %scratch[%c0] : memref<8xf32>
    memref.store %w, %y[%i] : memref<?xf32>
  } {loom.parallel}
  "loom.end"() : () -> ()
}) : () -> ()

// Sums may be reordered where marked; no flag assumes away NaN, infinity or -0.0.
// CHECK:      define internal void @"dot.body"
// CHECK:      fmul reassoc contract float
// CHECK-NEXT: fadd reassoc contract float
// CHECK:      !"llvm.loop.parallel_accesses"
"loom.kernel"() <{sym_name = "dot", access = ["read", "write"]}> ({
^bb0(%x: memref<?xf32>, %y: memref<?xf32>, %n: index):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
    %v = memref.load %x[%i] : memref<?xf32>
    %p = arith.mulf %v, %v fastmath<fast> : f32
    %t = arith.addf %s, %p {loom.reassociate} : f32
    scf.yield %t : f32
  }
  memref.store %sum, %y[%c0] : memref<?xf32>
  "loom.end"() : () -> ()
}) : () -> ()
