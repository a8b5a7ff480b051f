// Every way a constant is written.
func.func @constants() -> tensor<6xf32> {
  %0 = onnx.Constant dense<[0x7F800000, 0xFF800000, 0x7FC00001, 0xFFA00000, -0.0, 1.0e-45]> : tensor<6xf32>
  %1 = "onnx.Constant"() {value = dense<[[1, -2], [3, 0x7F]]> : tensor<2x2xi8>} : () -> tensor<2x2xi8>
  %2 = "onnx.Constant"() <{value = dense<true> : tensor<4xi1>}> : () -> tensor<4xi1>
  %3 = onnx.Constant {value_floats = [1.0 : f32, 2.5 : f32]} : tensor<2xf32>
  %4 = "onnx.Constant"() {value_int = 7 : si64} : () -> tensor<i64>
  %5 = onnx.Constant {onnx_node_name = "ids"} dense<["", "a\22b", "na\C3\AFve", "\FF\00"]> : tensor<4x!onnx.String>
  %6 = onnx.Constant {value_strings = ["x", "y"]} : tensor<2x!onnx.String>
  %7 = onnx.Constant dense<"0x0000803F000000C0"> : tensor<2xf32>
  %8 = onnx.Constant dense<> : tensor<0x3xf32>
  %9 = onnx.Constant dense<(1.0, -0.0)> : tensor<2xcomplex<f32>>
  %10 = onnx.Constant dense<[(1.0, 2.0), (0x7FF8000000000000, 0xFFF0000000000000)]> : tensor<2xcomplex<f64>>
  %11 = onnx.Constant sparse<[[0, 1], [2, 0]], [4.0, 5.0]> : tensor<3x2xf32>
  %12 = onnx.Constant dense_disposable<#12:"0x0000803F00000040"> : tensor<2xf32>
  %13 = "onnx.Constant"() {value = #onnx.dense_disposable<3:"0x0100"> : tensor<1xi16>} : () -> tensor<1xi16>
  %14 = onnx.Constant dense_resource<blob> : tensor<3xf32>
  %15 = onnx.Constant dense_resource<absent> : tensor<1000x1000xf32>
  %16 = onnx.Constant dense<-1.5> : tensor<1000x1000xf16>
  %17 = onnx.Constant dense<[1, 15]> : tensor<2xui4>
  %18 = onnx.Constant dense<[-8, 7]> : tensor<2xi4>
  %19 = onnx.Constant dense<[0x7F, 0xFF, 1.0]> : tensor<3xf8E4M3FN>
  %20 = onnx.Constant dense<[0x7C, 0xFC, 0x7E, -0.0]> : tensor<4xf8E5M2>
  %21 = onnx.Constant dense<[0x7F80, 0xFFC1, 1.0]> : tensor<3xbf16>
  %22 = onnx.Constant dense<18446744073709551615> : tensor<1xui64>
  %23 = onnx.Constant dense<"0x0F"> : tensor<5xi1>
  %24 = onnx.Constant {value = dense<-1> : tensor<1xi64>} : tensor<*xi64>
  %25 = onnx.Constant dense<[1.0, // one
                            2.0]> : tensor<2xf64>
  onnx.Return %0 : tensor<6xf32>
}

{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F0000004000004040"
    }
  }
#-}
