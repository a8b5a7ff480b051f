// RUN: onnxloom-opt %s --split-input-file -p convert-onnx-to-loom | filecheck %s

// The number of elements is counted by one kernel and read as a size, with which another one is launched.
func.func @places(%a: tensor<?x?xf32>) -> tensor<2x?xi64> {
  %0 = "onnx.NonZero"(%a) : (tensor<?x?xf32>) -> tensor<2x?xi64>
  "onnx.Return"(%0) : (tensor<2x?xi64>) -> ()
}
// CHECK-LABEL: sym_name = "places"
// CHECK:      %{{.*}} = "loom.launch"({{.*}}) <{kernel = @count_chosen
// CHECK:      [[COUNT:%.*]] = "loom.extract"({{.*}}) <{position = 0 : i64}>
// CHECK:      [[OUT:%.*]] = tensor.empty([[COUNT]]) : tensor<2x?xi64>
// CHECK:      "loom.launch"({{.*}}, [[OUT]], {{.*}}, [[COUNT]]) <{kernel = @chosen_places

// -----

// A condition is counted up to the end of the axis; slices are picked by the places that it chooses.
func.func @compressed(%a: tensor<?x?xf32>, %c: tensor<?xi1>) -> tensor<?x?xf32> {
  %0 = "onnx.Compress"(%a, %c) <{axis = 1 : si64}> : (tensor<?x?xf32>, tensor<?xi1>) -> tensor<?x?xf32>
  "onnx.Return"(%0) : (tensor<?x?xf32>) -> ()
}
// CHECK-LABEL: sym_name = "compressed"
// CHECK:      arith.minsi
// CHECK:      kernel = @count_chosen
// CHECK:      kernel = @chosen_places
// CHECK:      kernel = @pick_slices

// -----

// Tables of the length of the axis become results by views of what was found.
func.func @unique(%a: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) {
  %0, %1, %2, %3 = "onnx.Unique"(%a) : (tensor<?xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>)
  "onnx.Return"(%0, %1, %2, %3) : (tensor<?xf32>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> ()
}
// CHECK-LABEL: sym_name = "unique"
// CHECK:      [[ITEMS:%.*]], [[FIRST:%.*]], [[GROUP:%.*]], [[NUMBER:%.*]], {{%.*}} = "loom.launch"
// CHECK-SAME: kernel = @unique_
// CHECK:      [[FOUND:%.*]] = "loom.extract"
// CHECK:      [[VALUES:%.*]] = "loom.launch"({{.*}}) <{kernel = @pick_slices
// CHECK:      [[A:%.*]] = "loom.view"([[FIRST]], {{%.*}}, [[FOUND]])
// CHECK:      [[B:%.*]] = "loom.view"([[NUMBER]], {{%.*}}, [[FOUND]])
// CHECK:      "loom.return"([[VALUES]], [[A]], [[GROUP]], [[B]])

// -----

// Bounds without an end are refused before the number is read.
func.func @numbers(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>) -> tensor<?xf32> {
  %0 = "onnx.Range"(%a, %b, %c) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  "onnx.Return"(%0) : (tensor<?xf32>) -> ()
}
// CHECK-LABEL: sym_name = "numbers"
// CHECK:      kernel = @range_count
// CHECK-NEXT: "loom.check"
// CHECK:      "loom.extract"
// CHECK:      kernel = @range_

// -----

// Data are copied, in place where nothing else reads them, and updated; the indices are checked.
func.func @scattered(%a: tensor<?x4xf32>, %i: tensor<?x1xi64>, %u: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = "onnx.ScatterND"(%a, %i, %u) : (tensor<?x4xf32>, tensor<?x1xi64>, tensor<?x4xf32>) -> tensor<?x4xf32>
  "onnx.Return"(%0) : (tensor<?x4xf32>) -> ()
}
// CHECK-LABEL: sym_name = "scattered"
// CHECK:      [[COPY:%.*]] = "loom.launch"({{.*}}) <{kernel = @duplicate{{.*}}, inplace = {{.*}}0 : i64
// CHECK:      "loom.launch"({{.*}}, [[COPY]], {{.*}}) <{kernel = @scatter_nd
// CHECK-NEXT: "loom.check"

// -----

// Elements that are only moved share a kernel by their width; those that are joined do not.
func.func @joined(%a: tensor<4xf32>, %b: tensor<4xi32>, %i: tensor<2xi64>, %u: tensor<2xf32>, %v: tensor<2xi32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<4xf32>) {
  %0 = "onnx.ScatterElements"(%a, %i, %u) : (tensor<4xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<4xf32>
  %1 = "onnx.ScatterElements"(%b, %i, %v) : (tensor<4xi32>, tensor<2xi64>, tensor<2xi32>) -> tensor<4xi32>
  %2 = "onnx.ScatterElements"(%a, %i, %u) <{reduction = "add"}> : (tensor<4xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<4xf32>
  "onnx.Return"(%0, %1, %2) : (tensor<4xf32>, tensor<4xi32>, tensor<4xf32>) -> ()
}
// CHECK-LABEL: sym_name = "joined"
// CHECK:      kernel = @[[MOVES:scatter_elements_[0-9a-f]+]]
// CHECK:      kernel = @[[MOVES]],
// CHECK-NOT:  kernel = @[[MOVES]],
// CHECK:      kernel = @scatter_elements_

// -----

// The best are kept in memory of each worker; k is a size.
func.func @best(%a: tensor<?x?xf32>, %k: tensor<1xi64>) -> (tensor<?x?xf32>, tensor<?x?xi64>) {
  %0, %1 = "onnx.TopK"(%a, %k) : (tensor<?x?xf32>, tensor<1xi64>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
  "onnx.Return"(%0, %1) : (tensor<?x?xf32>, tensor<?x?xi64>) -> ()
}
// CHECK-LABEL: sym_name = "top_k
// CHECK:      "loom.worker"
// CHECK:      loom.tasks
// CHECK:      sym_name = "best"
// CHECK:      [[K:%.*]] = "loom.extract"
// CHECK:      "loom.check"
// CHECK:      "loom.workers"
// CHECK:      kernel = @top_k

// -----

// Each class of each batch entry is a task; what was kept is counted and gathered.
func.func @boxes(%b: tensor<?x?x4xf32>, %s: tensor<?x?x?xf32>, %m: tensor<1xi64>) -> tensor<?x3xi64> {
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.NonMaxSuppression"(%b, %s, %m, %n, %n) : (tensor<?x?x4xf32>, tensor<?x?x?xf32>, tensor<1xi64>, none, none) -> tensor<?x3xi64>
  "onnx.Return"(%0) : (tensor<?x3xi64>) -> ()
}
// CHECK-LABEL: sym_name = "boxes"
// CHECK:      kernel = @box_corners
// CHECK:      kernel = @non_max_suppression
// CHECK:      kernel = @total
// CHECK:      [[TOTAL:%.*]] = "loom.extract"
// CHECK:      tensor.empty([[TOTAL]]) : tensor<?x3xi64>
// CHECK:      kernel = @selected_boxes

// -----

// MaxPool looks for places only where something reads them.
func.func @pooled(%a: tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>, tensor<1x2x4x4xf32>) {
  %0, %1 = "onnx.MaxPool"(%a) <{kernel_shape = [2 : si64, 2 : si64], strides = [2 : si64, 2 : si64]}> : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  %2, %3 = "onnx.MaxPool"(%a) <{kernel_shape = [2 : si64, 2 : si64], strides = [2 : si64, 2 : si64]}> : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  "onnx.Return"(%0, %1, %2) : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>, tensor<1x2x4x4xf32>) -> ()
}
// CHECK-LABEL: sym_name = "pooled"
// CHECK:      kernel = @max_pool_places
// CHECK-NOT:  kernel = @max_pool_places
// CHECK:      kernel = @max_pool
