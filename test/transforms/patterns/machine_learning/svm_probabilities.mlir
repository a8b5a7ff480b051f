// RUN: onnxloom-opt %s -p 'rewrite-patterns{patterns="SVMProbabilities"}' | filecheck %s

// Positive: labels that are strings are chosen by number, and what follows is an op of its own.
// CHECK-LABEL: @strings
// CHECK:       %[[BEST:.*]], %[[P:.*]] = "onnx.SVMClassifier"(%x) <{classlabels_ints = [0 : i64, 1 : i64]
// CHECK-SAME:  -> (tensor<?xi64>, tensor<?x2xf32>)
// CHECK:       %[[LABEL:.*]] = "onnx.Gather"(%{{.*}}, %[[BEST]])
// CHECK:       %[[Z:.*]] = "onnx.Softmax"(%[[P]])
// CHECK:       onnx.Return %[[LABEL]], %[[Z]]
func.func @strings(%x: tensor<?x1xf32>) -> (tensor<?x!onnx.String>, tensor<?x2xf32>) {
  %y, %z = "onnx.SVMClassifier"(%x) <{classlabels_strings = ["a", "b"], coefficients = [0.5 : f32, -1.0 : f32], kernel_type = "LINEAR", post_transform = "SOFTMAX", prob_a = [-1.0 : f32], prob_b = [0.0 : f32], rho = [0.25 : f32], support_vectors = [1.0 : f32, 2.0 : f32], vectors_per_class = [1 : si64, 1 : si64]}> : (tensor<?x1xf32>) -> (tensor<?x!onnx.String>, tensor<?x2xf32>)
  onnx.Return %y, %z : tensor<?x!onnx.String>, tensor<?x2xf32>
}

// Positive: integers are made f32.
// CHECK-LABEL: @integers
// CHECK:       %[[X:.*]] = "onnx.Cast"(%x)
// CHECK:       "onnx.SVMClassifier"(%[[X]])
func.func @integers(%x: tensor<?x1xi64>) -> (tensor<?xi64>, tensor<?x2xf32>) {
  %y, %z = "onnx.SVMClassifier"(%x) <{classlabels_ints = [7 : si64, 3 : si64], coefficients = [0.5 : f32, -1.0 : f32], kernel_type = "LINEAR", post_transform = "NONE", prob_a = [-1.0 : f32], prob_b = [0.0 : f32], rho = [0.25 : f32], support_vectors = [1.0 : f32, 2.0 : f32], vectors_per_class = [1 : si64, 1 : si64]}> : (tensor<?x1xi64>) -> (tensor<?xi64>, tensor<?x2xf32>)
  onnx.Return %y, %z : tensor<?xi64>, tensor<?x2xf32>
}

// Negative: a kernel does it as it is.
// CHECK-LABEL: @bare
// CHECK-NEXT:  "onnx.SVMClassifier"(%x) <{classlabels_ints = [7 : i64, 3 : i64]
// CHECK-NEXT:  onnx.Return
func.func @bare(%x: tensor<?x1xf32>) -> (tensor<?xi64>, tensor<?x2xf32>) {
  %y, %z = "onnx.SVMClassifier"(%x) <{classlabels_ints = [7 : si64, 3 : si64], coefficients = [0.5 : f32, -1.0 : f32], kernel_type = "LINEAR", post_transform = "NONE", prob_a = [-1.0 : f32], prob_b = [0.0 : f32], rho = [0.25 : f32], support_vectors = [1.0 : f32, 2.0 : f32], vectors_per_class = [1 : si64, 1 : si64]}> : (tensor<?x1xf32>) -> (tensor<?xi64>, tensor<?x2xf32>)
  onnx.Return %y, %z : tensor<?xi64>, tensor<?x2xf32>
}
