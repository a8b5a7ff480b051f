// RUN: onnxloom-opt %s --split-input-file | filecheck %s
// RUN: not onnxloom-opt %s --split-input-file -p canonicalize,nothing 2>&1 | filecheck %s --check-prefix=UNKNOWN

// Pieces are processed one by one, and the output can be split again.
// CHECK: func.func @first
// CHECK: // -----
// CHECK: func.func @second
// UNKNOWN: error: unknown pass 'nothing'
func.func @first() {
  "func.return"() : () -> ()
}

// -----

func.func @second() {
  "func.return"() : () -> ()
}
