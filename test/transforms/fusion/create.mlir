// RUN: onnxloom-opt %s -p fuse-ops | filecheck %s --check-prefix=ALL
// RUN: onnxloom-opt %s -p 'fuse-ops{disable-fused-op=true}' | filecheck %s --check-prefix=OFF
// RUN: onnxloom-opt %s -p 'fuse-ops{disable="onnx.matmul_epilogue,onnx.reduction"}' | filecheck %s --check-prefix=ELEMENTWISE
// RUN: onnxloom-opt %s -p 'fuse-ops{kinds="onnx.matmul_epilogue"}' | filecheck %s --check-prefix=MATMUL
// RUN: onnxloom-opt %s -p 'fuse-ops{kinds="onnx.matmul_epilogue,onnx.elementwise"}' | filecheck %s --check-prefix=ALL
// RUN: onnxloom-opt %s -p 'fuse-ops,fuse-ops' | filecheck %s --check-prefix=ALL
// RUN: onnxloom-opt %s -p 'fuse-ops,unfuse-ops' | filecheck %s --check-prefix=OFF
// RUN: onnxloom-opt %s -p 'fuse-ops,unfuse-ops{kinds="onnx.elementwise"}' | filecheck %s --check-prefix=MATMUL
// RUN: onnxloom-opt %s -p 'fuse-ops,unfuse-ops{kinds="onnx.elementwise, onnx.matmul_epilogue"}' | filecheck %s --check-prefix=OFF

// Two kinds want the Add and the Neg: the product takes them, being tried first; the elementwise chain
// is what comes after. Each switch changes what is fused, and never the names of the results.
func.func @switches(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.Add"(%0, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "onnx.Neg"(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = "onnx.Softmax"(%2) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = "onnx.Exp"(%3) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = "onnx.Abs"(%4) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %5 : tensor<4x8xf32>
}

// ALL: kind = "onnx.matmul_epilogue"
// ALL: op_count = 3
// ALL-NEXT: onnx.Softmax
// ALL-NEXT: kind = "onnx.elementwise"
// ALL: op_count = 2
// ALL-NOT: onnx.FusedOp

// OFF-NOT: onnx.FusedOp
// OFF: onnx.MatMul
// OFF-NEXT: onnx.Add
// OFF-NEXT: onnx.Neg
// OFF-NEXT: onnx.Softmax
// OFF-NEXT: onnx.Exp
// OFF-NEXT: onnx.Abs
// OFF-NEXT: onnx.Return
// OFF-NOT: onnx.FusedOp

// ELEMENTWISE: onnx.MatMul
// ELEMENTWISE-NEXT: kind = "onnx.elementwise"
// ELEMENTWISE: "onnx.Add"
// ELEMENTWISE-NEXT: "onnx.Neg"
// ELEMENTWISE: onnx.Softmax
// ELEMENTWISE-NEXT: kind = "onnx.elementwise"
// ELEMENTWISE-NOT: onnx.matmul_epilogue

// MATMUL: kind = "onnx.matmul_epilogue"
// MATMUL: onnx.Softmax
// MATMUL-NEXT: onnx.Exp
// MATMUL-NEXT: onnx.Abs
// MATMUL-NOT: onnx.elementwise
