// RUN: onnxloom-opt %s --load-plugin %S/rms_scale.py -p 'convert-onnx-to-loom' --split-input-file | filecheck %s

// Positive: one kernel with a sum and a scaling loop per row.
func.func @rms(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = "onnx.FusedOp"(%x) <{kind = "demo.rms_scale"}> ({
  ^bb0(%a: tensor<4x8xf32>):
    %axis = onnx.Constant dense<-1> : tensor<1xi64>
    %eps = onnx.Constant dense<0.5> : tensor<f32>
    %0 = "onnx.Mul"(%a, %a) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = "onnx.ReduceMean"(%0, %axis) : (tensor<4x8xf32>, tensor<1xi64>) -> tensor<4x1xf32>
    %2 = "onnx.Add"(%1, %eps) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
    %3 = "onnx.Sqrt"(%2) : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %4 = "onnx.Div"(%a, %3) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    "onnx.Yield"(%4) : (tensor<4x8xf32>) -> ()
  }) {epsilon = 0.5 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %r : tensor<4x8xf32>
}
// CHECK: "loom.kernel"() <{sym_name = "rms_scale_
// CHECK: scf.for
// CHECK: scf.for
// CHECK: math.sqrt
// CHECK: scf.for
// CHECK-NOT: "loom.kernel"
// CHECK: "loom.launch"
// CHECK-NOT: "loom.launch"

// -----

// Negative: the parameter is not what the body says; the body decides and runs op by op.
func.func @tampered(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = "onnx.FusedOp"(%x) <{kind = "demo.rms_scale"}> ({
  ^bb0(%a: tensor<4x8xf32>):
    %axis = onnx.Constant dense<-1> : tensor<1xi64>
    %eps = onnx.Constant dense<0.5> : tensor<f32>
    %0 = "onnx.Mul"(%a, %a) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = "onnx.ReduceMean"(%0, %axis) : (tensor<4x8xf32>, tensor<1xi64>) -> tensor<4x1xf32>
    %2 = "onnx.Add"(%1, %eps) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
    %3 = "onnx.Sqrt"(%2) : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %4 = "onnx.Div"(%a, %3) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    "onnx.Yield"(%4) : (tensor<4x8xf32>) -> ()
  }) {epsilon = 0.25 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %r : tensor<4x8xf32>
}
// CHECK: "loom.kernel"() <{sym_name = "mul_
// CHECK-NOT: rms_scale
// CHECK: "loom.program"
