// RUN: onnxloom-opt %s -p canonicalize,cse --print-ir-before=cse 2>&1 > %t | filecheck %s --check-prefix=BEFORE
// RUN: onnxloom-opt %s -p canonicalize,cse --print-ir-after-change 2>&1 > %t | filecheck %s --check-prefix=CHANGE
// RUN: onnxloom-opt %s -p canonicalize,cse --print-ir-after --time-passes --statistics 2>/dev/null | filecheck %s
// RUN: onnxloom-opt %s -p canonicalize,cse --time-passes --statistics 2>&1 | filecheck %s --check-prefix=TABLE
// RUN: not onnxloom-opt %s -p cse --print-ir-after=canonicalize 2>&1 | filecheck %s --check-prefix=ABSENT

// What is watched goes to stderr; stdout holds the result only.
// CHECK-NOT: IR after
// CHECK-NOT: all passes
// CHECK: builtin.module
// CHECK-NOT: builtin.module
// BEFORE-NOT: IR before canonicalize
// BEFORE: // IR before cse
// BEFORE-NOT: arith.constant 7
// BEFORE-COUNT-1: arith.constant 5
// CHANGE: // IR after canonicalize
// CHANGE-NOT: // IR after cse
// TABLE: {{[0-9.]+}} s  all passes
// TABLE: {{[0-9.]+}} s  canonicalize
// TABLE: canonicalize: 5 ops -> 4 ops
// TABLE: cse: 4 ops -> 4 ops
// ABSENT: error: --print-ir names pass 'canonicalize', which is not in the pipeline
func.func @f() -> i32 {
  %unused = arith.constant 7 : i32
  %x = arith.constant 5 : i32
  func.return %x : i32
}
