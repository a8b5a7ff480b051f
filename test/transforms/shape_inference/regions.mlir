// RUN: onnxloom-opt %s -p 'shape-inference,print-dims' | filecheck %s

// Branches of one shape keep it, dims that differ are open, ranks that differ leave the rank open.
// CHECK-LABEL: func.func @branches
// CHECK: "onnx.If"
// CHECK: }) {onnx.symbolic_shape = ["(n, ?{{[0-9]+}})", "*"]} : (tensor<i1>) -> (tensor<?x?xf32>, tensor<*xf32>)
func.func @branches(%c: tensor<i1>, %x: tensor<?x3xf32> {onnx.dim_params = "0:n"}, %y: tensor<?x4xf32> {onnx.dim_params = "0:n"}, %v: tensor<5xf32>) {
  %0, %1 = "onnx.If"(%c) ({
    %a = "onnx.Relu"(%x) : (tensor<?x3xf32>) -> tensor<*xf32>
    "onnx.Yield"(%a, %v) : (tensor<*xf32>, tensor<5xf32>) -> ()
  }, {
    %a = "onnx.Relu"(%y) : (tensor<?x4xf32>) -> tensor<*xf32>
    "onnx.Yield"(%a, %a) : (tensor<*xf32>, tensor<*xf32>) -> ()
  }) : (tensor<i1>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return
}

// A condition computed from shapes chooses the branch; the other one may even be impossible.
// (The first region is the then branch.)
// CHECK-LABEL: func.func @known_condition
// CHECK: }) {onnx.symbolic_shape = ["(3, n)"]} : (tensor<i1>) -> tensor<3x?xf32>
func.func @known_condition(%x: tensor<?x3xf32> {onnx.dim_params = "0:n"}, %v: tensor<5xf32>) {
  %s = "onnx.Shape"(%x) <{start = 1 : si64}> : (tensor<?x3xf32>) -> tensor<1xi64>
  %three = onnx.Constant dense<3> : tensor<i64>
  %axis = onnx.Constant dense<0> : tensor<1xi64>
  %n = "onnx.Squeeze"(%s, %axis) : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
  %c = "onnx.Equal"(%n, %three) : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %0 = "onnx.If"(%c) ({
    %a = "onnx.Transpose"(%x) : (tensor<?x3xf32>) -> tensor<*xf32>
    "onnx.Yield"(%a) : (tensor<*xf32>) -> ()
  }, {
    %a = "onnx.Add"(%x, %v) : (tensor<?x3xf32>, tensor<5xf32>) -> tensor<*xf32>
    "onnx.Yield"(%a) : (tensor<*xf32>) -> ()
  }) : (tensor<i1>) -> tensor<*xf32>
  onnx.Return
}

// A carried dim that grows is open from the first iteration on; one that stays is kept. Scan outputs
// are as many as iterations, when nothing ends the loop early.
// CHECK-LABEL: func.func @loop
// CHECK: ^bb0(%{{.*}}: tensor<i64>, %{{.*}}: tensor<i1>, %{{.*}}: tensor<?x3xf32>, %{{.*}}: tensor<2x3xf32>):
// CHECK: "onnx.Concat"{{.*}}: (tensor<?x3xf32>, tensor<2x3xf32>) -> tensor<?x3xf32>
// CHECK: }) {onnx.symbolic_shape = ["(?{{[0-9]+}}, 3)", "(2, 3)", "(6, ?{{[0-9]+}}, 3)"]} : {{.*}} -> (tensor<?x3xf32>, tensor<2x3xf32>, tensor<6x?x3xf32>)
func.func @loop(%x: tensor<2x3xf32>) {
  %m = onnx.Constant dense<6> : tensor<i64>
  %t = onnx.Constant dense<1> : tensor<i1>
  %0, %1, %2 = "onnx.Loop"(%m, %t, %x, %x) ({
  ^bb0(%i: tensor<i64>, %c: tensor<i1>, %a: tensor<*xf32>, %b: tensor<*xf32>):
    %d = "onnx.Concat"(%a, %b) <{axis = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    "onnx.Yield"(%c, %d, %b, %d) : (tensor<i1>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> ()
  }) : (tensor<i64>, tensor<i1>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  onnx.Return
}

// A declared dim of the body's argument that only holds in the first iteration gives way.
// CHECK-LABEL: func.func @false_declaration
// CHECK: ^bb0({{.*}}, %{{.*}}: tensor<?xf32>):
func.func @false_declaration(%m: tensor<i64>, %t: tensor<i1>, %x: tensor<2xf32>) {
  %0 = "onnx.Loop"(%m, %t, %x) ({
  ^bb0(%i: tensor<i64>, %c: tensor<i1>, %a: tensor<2xf32>):
    %d = "onnx.Concat"(%a, %x) <{axis = 0 : si64}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<*xf32>
    "onnx.Yield"(%c, %d) : (tensor<i1>, tensor<*xf32>) -> ()
  }) : (tensor<i64>, tensor<i1>, tensor<2xf32>) -> tensor<*xf32>
  onnx.Return
}

// Scan: the body sees one slice; outputs are stacked along their own axis.
// CHECK-LABEL: func.func @scan
// CHECK: ^bb0(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>):
// CHECK: }) {onnx.symbolic_shape = ["(4)", "(4, n)"]} : {{.*}} -> (tensor<4xf32>, tensor<4x?xf32>)
func.func @scan(%x: tensor<4x?xf32> {onnx.dim_params = "1:n"}, %s: tensor<4xf32>) {
  %0, %1 = "onnx.Scan"(%s, %x) <{num_scan_inputs = 1 : si64, scan_input_axes = [1], scan_output_axes = [1]}> ({
  ^bb0(%a: tensor<*xf32>, %b: tensor<*xf32>):
    %c = "onnx.Add"(%a, %b) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    "onnx.Yield"(%c, %c) : (tensor<*xf32>, tensor<*xf32>) -> ()
  }) : (tensor<4xf32>, tensor<4x?xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return
}

// Fused ops: arguments take the types of the inputs, results those of the yielded values.
// CHECK-LABEL: func.func @fused
// CHECK: ^bb0(%{{.*}}: tensor<?x8xf32>, %{{.*}}: tensor<8xf32>):
// CHECK: }) {onnx.symbolic_shape = ["(n, 8)"]} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
func.func @fused(%x: tensor<?x8xf32> {onnx.dim_params = "0:n"}, %v: tensor<8xf32>) {
  %0 = "onnx.FusedOp"(%x, %v) <{kind = "onnx.elementwise"}> ({
  ^bb0(%a: tensor<?x8xf32>, %b: tensor<8xf32>):
    %c = "onnx.Add"(%a, %b) : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<*xf32>
    "onnx.Yield"(%c) : (tensor<*xf32>) -> ()
  }) : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<*xf32>
  onnx.Return
}

// Carried elements that every iteration leaves as they are stay known, floats too; others do not.
// CHECK-LABEL: func.func @carried_elements
// CHECK: "onnx.Loop"
// CHECK: }) {onnx.symbolic_shape = ["()", "()", "()"], onnx.known_values = ["[0.5]", "", "[?{{[0-9]+}}]"]}
func.func @carried_elements(%m: tensor<i64>, %t: tensor<i1>) {
  %a = onnx.Constant dense<0.5> : tensor<f32>
  %b = onnx.Constant dense<1.5> : tensor<f32>
  %i = onnx.Constant dense<3> : tensor<i64>
  %0, %1, %2 = "onnx.Loop"(%m, %t, %a, %b, %i) ({
  ^bb0(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<f32>, %y: tensor<f32>, %j: tensor<i64>):
    %p = "onnx.Add"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %q = "onnx.Add"(%j, %i) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    "onnx.Yield"(%c, %x, %p, %q) : (tensor<i1>, tensor<f32>, tensor<f32>, tensor<i64>) -> ()
  }) : (tensor<i64>, tensor<i1>, tensor<f32>, tensor<f32>, tensor<i64>) -> (tensor<f32>, tensor<f32>, tensor<i64>)
  onnx.Return
}
