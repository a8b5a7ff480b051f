// RUN: onnxloom-opt %s -p 'shape-inference,print-dims' | filecheck %s

// A tensor cut in two and joined is as long as it was; cuts of cuts are one cut.
// CHECK-LABEL: func.func @cut_and_join
// CHECK: "onnx.Slice"{{.*}}symbolic_shape = ["(min(seq, 1))"]
// CHECK: "onnx.Slice"{{.*}}symbolic_shape = ["(max(seq-1, 0))"]
// CHECK: "onnx.Concat"{{.*}}symbolic_shape = ["(seq)"]
// CHECK: "onnx.Slice"{{.*}}symbolic_shape = ["(max(seq-3, 0))"]
func.func @cut_and_join(%x: tensor<?xf32> {onnx.dim_params = "0:seq"}) {
  %zero = onnx.Constant dense<0> : tensor<1xi64>
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %minus2 = onnx.Constant dense<-2> : tensor<1xi64>
  %end = onnx.Constant dense<9223372036854775807> : tensor<1xi64>
  %a = "onnx.Slice"(%x, %zero, %one, %zero, %one) : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  %b = "onnx.Slice"(%x, %one, %end, %zero, %one) : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  %c = "onnx.Concat"(%a, %b) <{axis = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  %d = "onnx.Slice"(%b, %zero, %minus2, %zero, %one) : (tensor<*xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  onnx.Return
}

// Negative steps to the very start keep every element; a static slice is clamped to what there is.
// CHECK-LABEL: func.func @backwards
// CHECK: "onnx.Slice"{{.*}}symbolic_shape = ["(seq, 5)"]
// CHECK: "onnx.Slice"{{.*}} -> tensor<?x3xf32>
func.func @backwards(%x: tensor<?x5xf32> {onnx.dim_params = "0:seq"}) {
  %a0 = onnx.Constant dense<0> : tensor<1xi64>
  %a1 = onnx.Constant dense<1> : tensor<1xi64>
  %minus1 = onnx.Constant dense<-1> : tensor<1xi64>
  %least = onnx.Constant dense<-9223372036854775807> : tensor<1xi64>
  %two = onnx.Constant dense<2> : tensor<1xi64>
  %big = onnx.Constant dense<100> : tensor<1xi64>
  %a = "onnx.Slice"(%x, %minus1, %least, %a0, %minus1) : (tensor<?x5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  %b = "onnx.Slice"(%x, %two, %big, %a1, %a1) : (tensor<?x5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  onnx.Return
}

// A bound of unknown sign tells nothing: it may count from either end.
// CHECK-LABEL: func.func @unknown_bound
// CHECK: "onnx.Slice"{{.*}}symbolic_shape = ["(?{{[0-9]+}})"]
func.func @unknown_bound(%x: tensor<9xf32>, %n: tensor<1xi64>) {
  %zero = onnx.Constant dense<0> : tensor<1xi64>
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %a = "onnx.Slice"(%x, %zero, %n, %zero, %one) : (tensor<9xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  onnx.Return
}

// Uneven Split: the last part takes the rest.
// CHECK-LABEL: func.func @uneven_split
// CHECK: "onnx.Split"{{.*}} -> (tensor<3xf32>, tensor<3xf32>, tensor<1xf32>)
// CHECK: "onnx.Split"{{.*}}symbolic_shape = ["(((n+1)//2))", "(n-((n+1)//2))"]
func.func @uneven_split(%x: tensor<7xf32>, %y: tensor<?xf32> {onnx.dim_params = "0:n"}) {
  %none = "onnx.NoValue"() {value} : () -> none
  %a, %b, %c = "onnx.Split"(%x, %none) <{num_outputs = 3 : si64}> : (tensor<7xf32>, none) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  %d, %e = "onnx.Split"(%y, %none) <{num_outputs = 2 : si64}> : (tensor<?xf32>, none) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return
}

// Two strided convolutions are one with both strides; ceil_mode drops a window that starts outside.
// CHECK-LABEL: func.func @windows
// CHECK: "onnx.Conv"{{.*}}symbolic_shape = ["(n, 8, ((h+1)//2))"]
// CHECK: "onnx.Conv"{{.*}}symbolic_shape = ["(n, 8, ((h+3)//4))"]
// CHECK: "onnx.MaxPool"{{.*}} -> (tensor<1x8x3xf32>, none)
// CHECK: "onnx.ConvTranspose"{{.*}}symbolic_shape = ["(n, 8, h*2+1)"]
func.func @windows(%x: tensor<?x8x?xf32> {onnx.dim_params = "0:n,2:h"}, %w: tensor<8x8x3xf32>, %y: tensor<1x8x5xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %a = "onnx.Conv"(%x, %w, %none) <{pads = [1, 1], strides = [2]}> : (tensor<?x8x?xf32>, tensor<8x8x3xf32>, none) -> tensor<*xf32>
  %b = "onnx.Conv"(%a, %w, %none) <{pads = [1, 1], strides = [2]}> : (tensor<*xf32>, tensor<8x8x3xf32>, none) -> tensor<*xf32>
  %c, %d = "onnx.MaxPool"(%y) <{kernel_shape = [1], strides = [2], ceil_mode = 1 : si64}> : (tensor<1x8x5xf32>) -> (tensor<*xf32>, none)
  %e = "onnx.ConvTranspose"(%x, %w, %none) <{strides = [2]}> : (tensor<?x8x?xf32>, tensor<8x8x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// Positive: a window of a pool that is too long by less than a stride has one place. That of a convolution has
// not; there is no such window where the stride is 1, or where the borders make one element enough.
// CHECK-LABEL: func.func @clipped_windows
// CHECK: "onnx.MaxPool"{{.*}}symbolic_shape = ["(n, 8, max((h//2)-1, 0)+1)"
// CHECK: "onnx.AveragePool"{{.*}}symbolic_shape = ["(n, 8, max(((h+1)//3)-1, 0)+1)"
// CHECK: "onnx.LpPool"{{.*}}symbolic_shape = ["(n, 8, ((h+1)//2))"
// CHECK: "onnx.LpPool"{{.*}}symbolic_shape = ["(n, 8, h-2)"
// CHECK: "onnx.MaxPool"{{.*}} -> (tensor<1x8x1xf32>, none)
// CHECK: "onnx.Conv"{{.*}}symbolic_shape = ["(n, 8, ((h+1)//2)-1)"
func.func @clipped_windows(%x: tensor<?x8x?xf32> {onnx.dim_params = "0:n,2:h"}, %w: tensor<8x8x3xf32>, %y: tensor<1x8x2xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %a, %b = "onnx.MaxPool"(%x) <{kernel_shape = [2], strides = [2]}> : (tensor<?x8x?xf32>) -> (tensor<*xf32>, none)
  %c = "onnx.AveragePool"(%x) <{kernel_shape = [4], strides = [3], pads = [1, 1]}> : (tensor<?x8x?xf32>) -> tensor<*xf32>
  %d = "onnx.LpPool"(%x) <{kernel_shape = [3], strides = [2], pads = [1, 1]}> : (tensor<?x8x?xf32>) -> tensor<*xf32>
  %e = "onnx.LpPool"(%x) <{kernel_shape = [3]}> : (tensor<?x8x?xf32>) -> tensor<*xf32>
  %f, %g = "onnx.MaxPool"(%y) <{kernel_shape = [4], strides = [3]}> : (tensor<1x8x2xf32>) -> (tensor<*xf32>, none)
  %h = "onnx.Conv"(%x, %w, %none) <{strides = [2]}> : (tensor<?x8x?xf32>, tensor<8x8x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}
