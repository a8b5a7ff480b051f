// RUN: onnxloom-opt %s -p 'fuse-ops{kinds="onnx.pointwise_depthwise"}' --split-input-file | filecheck %s
// RUN: onnxloom-opt %s -p 'fuse-ops{kinds="onnx.pointwise_depthwise"},unfuse-ops' --split-input-file | filecheck %s --check-prefix=UNFUSED

// Positive: windows slide over the lines that they need.
func.func @expanded(%x: tensor<1x64x64x16xf32>) -> tensor<1x64x64x96xf32> {
%w0 = onnx.Constant dense<0.5> : tensor<96x16x1x1xf32>
%b0 = onnx.Constant dense<0.25> : tensor<96xf32>
%a0 = "onnx.Transpose"(%x) {perm = [0 : si64, 3 : si64, 1 : si64, 2 : si64]} : (tensor<1x64x64x16xf32>) -> tensor<1x16x64x64xf32>
%c0 = "onnx.Conv"(%a0, %w0, %b0) {} : (tensor<1x16x64x64xf32>, tensor<96x16x1x1xf32>, tensor<96xf32>) -> tensor<1x96x64x64xf32>
%t0 = "onnx.Transpose"(%c0) {perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]} : (tensor<1x96x64x64xf32>) -> tensor<1x64x64x96xf32>
%y0 = "onnx.Relu"(%t0) : (tensor<1x64x64x96xf32>) -> tensor<1x64x64x96xf32>
%w1 = onnx.Constant dense<0.5> : tensor<96x1x3x3xf32>
%b1 = onnx.Constant dense<0.25> : tensor<96xf32>
%a1 = "onnx.Transpose"(%y0) {perm = [0 : si64, 3 : si64, 1 : si64, 2 : si64]} : (tensor<1x64x64x96xf32>) -> tensor<1x96x64x64xf32>
%c1 = "onnx.Conv"(%a1, %w1, %b1) {group = 96 : si64, pads = [1 : si64, 1 : si64, 1 : si64, 1 : si64]} : (tensor<1x96x64x64xf32>, tensor<96x1x3x3xf32>, tensor<96xf32>) -> tensor<1x96x64x64xf32>
%t1 = "onnx.Transpose"(%c1) {perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]} : (tensor<1x96x64x64xf32>) -> tensor<1x64x64x96xf32>
%y1 = "onnx.Relu"(%t1) : (tensor<1x64x64x96xf32>) -> tensor<1x64x64x96xf32>
onnx.Return %y1 : tensor<1x64x64x96xf32>
}
// CHECK-LABEL: @expanded
// CHECK: "onnx.FusedOp"(%x{{.*}}) <{kind = "onnx.pointwise_depthwise"}>
// CHECK: "onnx.Transpose"
// CHECK-NEXT: "onnx.Conv"
// CHECK-NEXT: "onnx.Transpose"
// CHECK: "onnx.Transpose"
// CHECK-NEXT: "onnx.Conv"
// CHECK-NEXT: "onnx.Transpose"
// CHECK: "onnx.Yield"
// CHECK: op_counts = [4 : i64, 4 : i64]
// CHECK-NOT: onnx.FusedOp
// UNFUSED-LABEL: @expanded
// UNFUSED-NOT: onnx.FusedOp
// UNFUSED-COUNT-2: "onnx.Conv"

// -----

// Not beneficial: what lies between stays in the cache.
func.func @small(%x: tensor<1x8x8x16xf32>) -> tensor<1x8x8x96xf32> {
%w0 = onnx.Constant dense<0.5> : tensor<96x16x1x1xf32>
%b0 = onnx.Constant dense<0.25> : tensor<96xf32>
%a0 = "onnx.Transpose"(%x) {perm = [0 : si64, 3 : si64, 1 : si64, 2 : si64]} : (tensor<1x8x8x16xf32>) -> tensor<1x16x8x8xf32>
%c0 = "onnx.Conv"(%a0, %w0, %b0) {} : (tensor<1x16x8x8xf32>, tensor<96x16x1x1xf32>, tensor<96xf32>) -> tensor<1x96x8x8xf32>
%t0 = "onnx.Transpose"(%c0) {perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]} : (tensor<1x96x8x8xf32>) -> tensor<1x8x8x96xf32>
%y0 = "onnx.Relu"(%t0) : (tensor<1x8x8x96xf32>) -> tensor<1x8x8x96xf32>
%w1 = onnx.Constant dense<0.5> : tensor<96x1x3x3xf32>
%b1 = onnx.Constant dense<0.25> : tensor<96xf32>
%a1 = "onnx.Transpose"(%y0) {perm = [0 : si64, 3 : si64, 1 : si64, 2 : si64]} : (tensor<1x8x8x96xf32>) -> tensor<1x96x8x8xf32>
%c1 = "onnx.Conv"(%a1, %w1, %b1) {group = 96 : si64, pads = [1 : si64, 1 : si64, 1 : si64, 1 : si64]} : (tensor<1x96x8x8xf32>, tensor<96x1x3x3xf32>, tensor<96xf32>) -> tensor<1x96x8x8xf32>
%t1 = "onnx.Transpose"(%c1) {perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]} : (tensor<1x96x8x8xf32>) -> tensor<1x8x8x96xf32>
%y1 = "onnx.Relu"(%t1) : (tensor<1x8x8x96xf32>) -> tensor<1x8x8x96xf32>
onnx.Return %y1 : tensor<1x8x8x96xf32>
}
// CHECK-LABEL: @small
// CHECK-NOT: onnx.FusedOp

// -----

// Negative: the expanded image is an output as well.
func.func @output(%x: tensor<1x64x64x16xf32>) -> (tensor<1x64x64x96xf32>, tensor<1x64x64x96xf32>) {
%w0 = onnx.Constant dense<0.5> : tensor<96x16x1x1xf32>
%b0 = onnx.Constant dense<0.25> : tensor<96xf32>
%a0 = "onnx.Transpose"(%x) {perm = [0 : si64, 3 : si64, 1 : si64, 2 : si64]} : (tensor<1x64x64x16xf32>) -> tensor<1x16x64x64xf32>
%c0 = "onnx.Conv"(%a0, %w0, %b0) {} : (tensor<1x16x64x64xf32>, tensor<96x16x1x1xf32>, tensor<96xf32>) -> tensor<1x96x64x64xf32>
%t0 = "onnx.Transpose"(%c0) {perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]} : (tensor<1x96x64x64xf32>) -> tensor<1x64x64x96xf32>
%y0 = "onnx.Relu"(%t0) : (tensor<1x64x64x96xf32>) -> tensor<1x64x64x96xf32>
%w1 = onnx.Constant dense<0.5> : tensor<96x1x3x3xf32>
%b1 = onnx.Constant dense<0.25> : tensor<96xf32>
%a1 = "onnx.Transpose"(%y0) {perm = [0 : si64, 3 : si64, 1 : si64, 2 : si64]} : (tensor<1x64x64x96xf32>) -> tensor<1x96x64x64xf32>
%c1 = "onnx.Conv"(%a1, %w1, %b1) {group = 96 : si64, pads = [1 : si64, 1 : si64, 1 : si64, 1 : si64]} : (tensor<1x96x64x64xf32>, tensor<96x1x3x3xf32>, tensor<96xf32>) -> tensor<1x96x64x64xf32>
%t1 = "onnx.Transpose"(%c1) {perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]} : (tensor<1x96x64x64xf32>) -> tensor<1x64x64x96xf32>
%y1 = "onnx.Relu"(%t1) : (tensor<1x64x64x96xf32>) -> tensor<1x64x64x96xf32>
onnx.Return %y1, %y0 : tensor<1x64x64x96xf32>, tensor<1x64x64x96xf32>
}
// CHECK-LABEL: @output
// CHECK-NOT: onnx.FusedOp
