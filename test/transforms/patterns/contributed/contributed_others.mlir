// RUN: onnxloom-opt %s -p 'rewrite-patterns{stage=contributed_ops}' | filecheck %s

// An input of the result's own parameters is joined as it is.
// CHECK-LABEL: @concat
// CHECK: "onnx.DequantizeLinear"
// CHECK: "onnx.QuantizeLinear"
// CHECK: "onnx.Concat"
// CHECK: onnx.Return
func.func @concat(%s: tensor<f32>, %z: tensor<ui8>, %a: tensor<2xui8>, %b: tensor<3xui8>, %t: tensor<f32>) -> (tensor<5xui8>) {
  %y0 = "onnx.Custom"(%s, %z, %a, %s, %z, %b, %t, %z) <{domain_name = "com.microsoft", function_name = "QLinearConcat"}> {axis = 0 : si64} : (tensor<f32>, tensor<ui8>, tensor<2xui8>, tensor<f32>, tensor<ui8>, tensor<3xui8>, tensor<f32>, tensor<ui8>) -> (tensor<5xui8>)
  onnx.Return %y0 : tensor<5xui8>
}

// CHECK-LABEL: @expand_dims
// CHECK: "onnx.Unsqueeze"
// CHECK: onnx.Return
func.func @expand_dims(%x: tensor<4xf32>) -> (tensor<1x4xf32>) {
  %i = onnx.Constant dense<0> : tensor<i32>
  %y0 = "onnx.Custom"(%x, %i) <{domain_name = "com.microsoft", function_name = "ExpandDims"}> : (tensor<4xf32>, tensor<i32>) -> (tensor<1x4xf32>)
  onnx.Return %y0 : tensor<1x4xf32>
}

// Weights are made while the model is compiled.
// CHECK-LABEL: @bnb4
// CHECK: "onnx.MatMul"
// CHECK: onnx.Return
func.func @bnb4(%a: tensor<2x16xf32>) -> (tensor<2x1xf32>) {
  %b = onnx.Constant dense<7> : tensor<8xui8>
  %s = onnx.Constant dense<2.0> : tensor<1xf32>
  %y0 = "onnx.Custom"(%a, %b, %s) <{domain_name = "com.microsoft", function_name = "MatMulBnb4"}> {K = 16 : si64, N = 1 : si64, block_size = 16 : si64, quant_type = 1 : si64} : (tensor<2x16xf32>, tensor<8xui8>, tensor<1xf32>) -> (tensor<2x1xf32>)
  onnx.Return %y0 : tensor<2x1xf32>
}

// Each side is dequantized with its own parameters.
// CHECK-LABEL: @where
// CHECK: "onnx.DequantizeLinear"
// CHECK: "onnx.DequantizeLinear"
// CHECK: "onnx.Where"
// CHECK: "onnx.QuantizeLinear"
// CHECK: onnx.Return
func.func @where(%c: tensor<2xi1>, %x: tensor<2xui8>, %s: tensor<f32>, %z: tensor<ui8>, %y: tensor<2xui8>, %t: tensor<f32>, %w: tensor<ui8>, %r: tensor<f32>, %v: tensor<ui8>) -> (tensor<2xui8>) {
  %y0 = "onnx.Custom"(%c, %x, %s, %z, %y, %t, %w, %r, %v) <{domain_name = "com.microsoft", function_name = "QLinearWhere"}> : (tensor<2xi1>, tensor<2xui8>, tensor<f32>, tensor<ui8>, tensor<2xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> (tensor<2xui8>)
  onnx.Return %y0 : tensor<2xui8>
}

// CHECK-LABEL: @reduce_mean
// CHECK: "onnx.DequantizeLinear"
// CHECK: "onnx.ReduceMean"
// CHECK: "onnx.QuantizeLinear"
// CHECK: onnx.Return
func.func @reduce_mean(%x: tensor<2x3xui8>, %s: tensor<f32>, %z: tensor<ui8>, %t: tensor<f32>, %w: tensor<ui8>) -> (tensor<2xui8>) {
  %y0 = "onnx.Custom"(%x, %s, %z, %t, %w) <{domain_name = "com.microsoft", function_name = "QLinearReduceMean"}> {axes = [1 : si64], keepdims = 0 : si64} : (tensor<2x3xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> (tensor<2xui8>)
  onnx.Return %y0 : tensor<2xui8>
}

// Channels that come last go first, and back.
// CHECK-LABEL: @conv
// CHECK: "onnx.Transpose"
// CHECK: "onnx.QLinearConv"
// CHECK: "onnx.Transpose"
// CHECK: onnx.Return
func.func @conv(%x: tensor<1x8x8x3xui8>, %s: tensor<f32>, %z: tensor<ui8>, %w: tensor<4x3x3x3xui8>, %t: tensor<f32>, %v: tensor<ui8>, %r: tensor<f32>, %q: tensor<ui8>) -> (tensor<1x6x6x4xui8>) {
  %y0 = "onnx.Custom"(%x, %s, %z, %w, %t, %v, %r, %q) <{domain_name = "com.microsoft", function_name = "QLinearConv"}> {channels_last = 1 : si64} : (tensor<1x8x8x3xui8>, tensor<f32>, tensor<ui8>, tensor<4x3x3x3xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> (tensor<1x6x6x4xui8>)
  onnx.Return %y0 : tensor<1x6x6x4xui8>
}

// CHECK-LABEL: @trilu
// CHECK: "onnx.Trilu"
// CHECK: onnx.Return
func.func @trilu(%x: tensor<3x3xf32>) -> (tensor<3x3xf32>) {
  %y0 = "onnx.Custom"(%x) <{domain_name = "com.microsoft", function_name = "Trilu"}> {upper = 0 : si64} : (tensor<3x3xf32>) -> (tensor<3x3xf32>)
  onnx.Return %y0 : tensor<3x3xf32>
}

// The places of first elements are not among its results.
// CHECK-LABEL: @unique
// CHECK: "onnx.Unique"
// CHECK: onnx.Return
func.func @unique(%x: tensor<5xf32>) -> (tensor<?xf32>, tensor<5xi64>, tensor<?xi64>) {
  %y0, %y1, %y2 = "onnx.Custom"(%x) <{domain_name = "com.microsoft", function_name = "Unique"}> : (tensor<5xf32>) -> (tensor<?xf32>, tensor<5xi64>, tensor<?xi64>)
  onnx.Return %y0, %y1, %y2 : tensor<?xf32>, tensor<5xi64>, tensor<?xi64>
}

// Indices of the standard's op are 64 bits wide.
// CHECK-LABEL: @gather_nd
// CHECK: "onnx.Cast"
// CHECK: "onnx.GatherND"
// CHECK: onnx.Return
func.func @gather_nd(%x: tensor<3x3xf32>, %i: tensor<2x1xi32>) -> (tensor<2x3xf32>) {
  %y0 = "onnx.Custom"(%x, %i) <{domain_name = "com.microsoft", function_name = "GatherND"}> : (tensor<3x3xf32>, tensor<2x1xi32>) -> (tensor<2x3xf32>)
  onnx.Return %y0 : tensor<2x3xf32>
}

// CHECK-LABEL: @integer16
// CHECK: "onnx.Cast"
// CHECK: "onnx.Cast"
// CHECK: "onnx.MatMul"
// CHECK: onnx.Return
func.func @integer16(%a: tensor<2x3xi16>, %b: tensor<3x4xi16>) -> (tensor<2x4xi32>) {
  %y0 = "onnx.Custom"(%a, %b) <{domain_name = "com.microsoft", function_name = "MatMulInteger16"}> : (tensor<2x3xi16>, tensor<3x4xi16>) -> (tensor<2x4xi32>)
  onnx.Return %y0 : tensor<2x4xi32>
}

// CHECK-LABEL: @cdist
// CHECK: "onnx.Unsqueeze"
// CHECK: "onnx.Unsqueeze"
// CHECK: "onnx.Sub"
// CHECK: "onnx.ReduceSumSquare"
// CHECK: "onnx.Sqrt"
// CHECK: onnx.Return
func.func @cdist(%a: tensor<2x3xf32>, %b: tensor<4x3xf32>) -> (tensor<2x4xf32>) {
  %y0 = "onnx.Custom"(%a, %b) <{domain_name = "com.microsoft", function_name = "CDist"}> {metric = "euclidean"} : (tensor<2x3xf32>, tensor<4x3xf32>) -> (tensor<2x4xf32>)
  onnx.Return %y0 : tensor<2x4xf32>
}

// Modes have other names in the standard.
// CHECK-LABEL: @grid_sample
// CHECK: "onnx.GridSample"
// CHECK: onnx.Return
func.func @grid_sample(%x: tensor<1x1x4x4xf32>, %g: tensor<1x2x2x2xf32>) -> (tensor<1x1x2x2xf32>) {
  %y0 = "onnx.Custom"(%x, %g) <{domain_name = "com.microsoft", function_name = "GridSample"}> : (tensor<1x1x4x4xf32>, tensor<1x2x2x2xf32>) -> (tensor<1x1x2x2xf32>)
  onnx.Return %y0 : tensor<1x1x2x2xf32>
}

// CHECK-LABEL: @silu
// CHECK: "onnx.Mul"
// CHECK: "onnx.Sigmoid"
// CHECK: "onnx.Mul"
// CHECK: onnx.Return
func.func @silu(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  %y0 = "onnx.Custom"(%x) <{domain_name = "com.microsoft", function_name = "ScaledSiLU"}> {alpha = 2.0 : f32} : (tensor<4xf32>) -> (tensor<4xf32>)
  onnx.Return %y0 : tensor<4xf32>
}

// Rows of several heads are taken apart and joined again.
// CHECK-LABEL: @gated_rms_norm
// CHECK: "onnx.Reshape"
// CHECK: "onnx.RMSNormalization"
// CHECK: "onnx.Shape"
// CHECK: "onnx.Reshape"
// CHECK: "onnx.Sigmoid"
// CHECK: "onnx.Mul"
// CHECK: "onnx.Mul"
// CHECK: onnx.Return
func.func @gated_rms_norm(%x: tensor<2x8xf32>, %s: tensor<4xf32>, %g: tensor<2x8xf32>) -> (tensor<2x8xf32>) {
  %y0 = "onnx.Custom"(%x, %s, %g) <{domain_name = "com.microsoft", function_name = "GatedRMSNorm"}> : (tensor<2x8xf32>, tensor<4xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  onnx.Return %y0 : tensor<2x8xf32>
}

// CHECK-LABEL: @sample
// CHECK: "onnx.Identity"
// CHECK: onnx.Return
func.func @sample(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  %y0 = "onnx.Custom"(%x) <{domain_name = "com.microsoft", function_name = "SampleOp"}> : (tensor<4xf32>) -> (tensor<4xf32>)
  onnx.Return %y0 : tensor<4xf32>
}

// Bytes hold two numbers each.
// CHECK-LABEL: @gather_blocks
// CHECK: "onnx.Gather"
// CHECK: "onnx.BitwiseAnd"
// CHECK: "onnx.Unsqueeze"
// CHECK: "onnx.BitShift"
// CHECK: "onnx.Unsqueeze"
// CHECK: "onnx.Concat"
// CHECK: "onnx.Shape"
// CHECK: "onnx.Concat"
// CHECK: "onnx.Reshape"
// CHECK: "onnx.Cast"
// CHECK: "onnx.Sub"
// CHECK: "onnx.Gather"
// CHECK: "onnx.Cast"
// CHECK: "onnx.Gather"
// CHECK: "onnx.Mul"
// CHECK: onnx.Return
func.func @gather_blocks(%d: tensor<4x8xui8>, %i: tensor<2xi64>, %s: tensor<4x1xf32>) -> (tensor<2x16xf32>) {
  %y0 = "onnx.Custom"(%d, %i, %s) <{domain_name = "com.microsoft", function_name = "GatherBlockQuantized"}> {bits = 4 : si64, block_size = 16 : si64} : (tensor<4x8xui8>, tensor<2xi64>, tensor<4x1xf32>) -> (tensor<2x16xf32>)
  onnx.Return %y0 : tensor<2x16xf32>
}

// A list of one number has no dims.
// CHECK-LABEL: @range
// CHECK: "onnx.Reshape"
// CHECK: "onnx.Range"
// CHECK: onnx.Return
func.func @range(%a: tensor<1xf32>, %b: tensor<f32>) -> (tensor<?xf32>) {
  %y0 = "onnx.Custom"(%a, %b) <{domain_name = "com.microsoft", function_name = "Range"}> : (tensor<1xf32>, tensor<f32>) -> (tensor<?xf32>)
  onnx.Return %y0 : tensor<?xf32>
}

// Pads in a row, and a list of one value.
// CHECK-LABEL: @pad
// CHECK: "onnx.Reshape"
// CHECK: "onnx.Reshape"
// CHECK: "onnx.Pad"
// CHECK: onnx.Return
func.func @pad(%x: tensor<4xf32>, %p: tensor<1x2xi64>, %v: tensor<1xf32>) -> (tensor<?xf32>) {
  %y0 = "onnx.Custom"(%x, %p, %v) <{domain_name = "com.microsoft", function_name = "Pad"}> {mode = "constant"} : (tensor<4xf32>, tensor<1x2xi64>, tensor<1xf32>) -> (tensor<?xf32>)
  onnx.Return %y0 : tensor<?xf32>
}

// Sums of 8-bit products are scaled before the bias is added.
// CHECK-LABEL: @qattention
// CHECK: "onnx.MatMulInteger"
// CHECK: "onnx.Cast"
// CHECK: "onnx.Mul"
// CHECK: "onnx.Mul"
// CHECK: "onnx.Add"
// CHECK: "onnx.Split"
// CHECK: "onnx.Attention"
// CHECK: onnx.Return
func.func @qattention(%x: tensor<1x2x4xui8>, %w: tensor<4x12xui8>, %b: tensor<12xf32>, %s: tensor<f32>, %t: tensor<f32>, %z: tensor<ui8>, %v: tensor<ui8>) -> (tensor<1x2x4xf32>) {
  %m = "onnx.NoValue"() <{value}> : () -> none
  %y0 = "onnx.Custom"(%x, %w, %b, %s, %t, %m, %z, %v) <{domain_name = "com.microsoft", function_name = "QAttention"}> {num_heads = 2 : si64} : (tensor<1x2x4xui8>, tensor<4x12xui8>, tensor<12xf32>, tensor<f32>, tensor<f32>, none, tensor<ui8>, tensor<ui8>) -> (tensor<1x2x4xf32>)
  onnx.Return %y0 : tensor<1x2x4xf32>
}

// Weights that are fed have no kernel of their own.
// CHECK-LABEL: @nbits
// CHECK: "onnx.Cast"
// CHECK: "onnx.Reshape"
// CHECK: "onnx.BitwiseAnd"
// CHECK: "onnx.Unsqueeze"
// CHECK: "onnx.BitShift"
// CHECK: "onnx.Unsqueeze"
// CHECK: "onnx.Concat"
// CHECK: "onnx.Shape"
// CHECK: "onnx.Concat"
// CHECK: "onnx.Reshape"
// CHECK: "onnx.Reshape"
// CHECK: "onnx.Slice"
// CHECK: "onnx.Cast"
// CHECK: "onnx.Sub"
// CHECK: "onnx.Reshape"
// CHECK: "onnx.Cast"
// CHECK: "onnx.Gather"
// CHECK: "onnx.Mul"
// CHECK: "onnx.Transpose"
// CHECK: "onnx.MatMul"
// CHECK: "onnx.Cast"
// CHECK: onnx.Return
func.func @nbits(%a: tensor<2x16xf32>, %b: tensor<4x1x8xui8>, %s: tensor<4x1xf32>) -> (tensor<2x4xf32>) {
  %y0 = "onnx.Custom"(%a, %b, %s) <{domain_name = "com.microsoft", function_name = "MatMulNBits"}> {K = 16 : si64, N = 4 : si64, block_size = 16 : si64} : (tensor<2x16xf32>, tensor<4x1x8xui8>, tensor<4x1xf32>) -> (tensor<2x4xf32>)
  onnx.Return %y0 : tensor<2x4xf32>
}
