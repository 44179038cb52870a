// an addition is of integers
func @f(%a: f32) {
  %0 = addi %a, %a : f32
//          ^ V021
  return
}

// -----

// an addition of floats is not of integers
func @f(%a: i32) {
  %0 = addf %a, %a : i32
//          ^ V021
  return
}

// -----

// both operands have one type
func @f(%a: i32, %b: i64) {
  %0 = addi %a, %b : i32
//              ^ P014
  return
}

// -----

// an addition has two operands
func @f(%a: i32) {
  %0 = addi %a : i32
//             ^ P001
  return
}

// -----

// an addition has a type
func @f(%a: i32) {
  %0 = addi %a, %a
  return
//^ P001
}

// -----

// a comparison of integers is not of floats
func @f(%a: f32) {
  %0 = cmpi "slt", %a, %a : f32
//                 ^ V021
  return
}

// -----

// a comparison of integers has one of ten predicates
func @f(%a: i32) {
  %0 = cmpi "lt", %a, %a : i32
//          ^ P001
  return
}

// -----

// a predicate in generic form is one of ten
func @f(%a: i32) {
  %0 = "std.cmpi"(%a, %a) {predicate = 10} : (i32, i32) -> i1
//     ^ V015
  return
}

// -----

// a comparison gives i1
func @f(%a: i32) {
  %0 = "std.cmpi"(%a, %a) {predicate = 1} : (i32, i32) -> i32
//     ^ V001
  return
}

// -----

// a comparison in generic form has a predicate
func @f(%a: i32) {
  %0 = "std.cmpi"(%a, %a) : (i32, i32) -> i1
//     ^ V014
  return
}

// -----

// a comparison of floats is not of integers
func @f(%a: i32) {
  %0 = cmpf "olt", %a, %a : i32
//                 ^ V021
  return
}

// -----

// a constant has its type
func @f() {
  %0 = constant 1.5 : i32
//              ^ P013
  return
}

// -----

// an integer constant of a float type is none
func @f() {
  %0 = constant 42 : f32
//              ^ P013
  return
}

// -----

// an integer constant is in range
func @f() {
  %0 = constant 300 : i8
//              ^ P012
  return
}

// -----

// a constant in generic form has a value
func @f() {
  %0 = "std.constant"() : () -> i32
//     ^ V014
  return
}

// -----

// a constant's value has the result's type
func @f() {
  %0 = "arith.constant"() {value = 1 : i64} : () -> i32
//     ^ V001
  return
}

// -----

// a constant has no operands
func @f(%a: i32) {
  %0 = "std.constant"(%a) {value = 1 : i32} : (i32) -> i32
//     ^ V002
  return
}

// -----

// a string is no constant of this dialect
func @f() {
  %0 = "arith.constant"() {value = "x"} : () -> i32
//     ^ V015
  return
}

// -----

// a choice is made by i1
func @f(%c: i32, %a: f32) {
  %0 = select %c, %a, %a : f32
//            ^ P014
  return
}

// -----

// a choice is between values of one type
func @f(%c: i1, %a: f32, %b: f64) {
  %0 = select %c, %a, %b : f32
//                    ^ P014
  return
}

// -----

// a condition of vectors has their shape
func @f(%c: vector<4xi1>, %a: vector<8xf32>) {
  %0 = select %c, %a, %a : vector<4xi1>, vector<8xf32>
//     ^ V001
  return
}

// -----

// a narrowing cast narrows
func @f(%a: i32) {
  %0 = trunci %a : i32 to i64
//     ^ V026
  return
}

// -----

// a widening cast widens
func @f(%a: i32) {
  %0 = zexti %a : i32 to i16
//     ^ V026
  return
}

// -----

// a cast keeps the shape
func @f(%a: vector<4xi32>) {
  %0 = sexti %a : vector<4xi32> to vector<8xi64>
//     ^ V026
  return
}

// -----

// a cast from integers to floats starts from an integer
func @f(%a: f32) {
  %0 = sitofp %a : f32 to f64
//            ^ V021
  return
}

// -----

// a cast of an index is from or to an index
func @f(%a: i32) {
  %0 = index_cast %a : i32 to i64
//     ^ V026
  return
}

// -----

// bits are as many on both sides
func @f(%a: i32) {
  %0 = bitcast %a : i32 to f64
//     ^ V026
  return
}

// -----

// a dimension is one of the rank
func @f(%a: tensor<4x?xf32>) {
  %0 = dim %a, 2 : tensor<4x?xf32>
//             ^ V028
  return
}

// -----

// a scalar has no dimension
func @f(%a: f32) {
  %0 = dim %a, 0 : f32
//         ^ V021
  return
}

// -----

// an element is taken at as many indices as the rank
func @f(%a: tensor<4x4xf32>, %i: index) {
  %0 = extract_element %a[%i] : tensor<4x4xf32>
//     ^ V013
  return
}

// -----

// a conditional branch has two targets
  func @f(%c: i1) {
    cond_br %c, ^a
  ^a:
//^ P001
    return
  }

// -----

// a memref is no tensor to be loaded from
func @f(%a: tensor<4xf32>) {
  %0 = tensor_load %a : tensor<4xf32>
//                 ^ V021
  return
}

// -----

// a tensor is stored into a buffer of its shape
func @f(%a: tensor<4xf32>, %m: memref<5xf32>) {
  tensor_store %a, %m : memref<5xf32>
//             ^ P014
  return
}

// -----

// a tensor cast keeps the element type
func @f(%a: tensor<4xf32>) {
  %0 = tensor_cast %a : tensor<4xf32> to tensor<4xf64>
//     ^ V026
  return
}

// -----

// a tensor cast keeps static extents
func @f(%a: tensor<4xf32>) {
  %0 = tensor_cast %a : tensor<4xf32> to tensor<5xf32>
//     ^ V026
  return
}

// -----

// a result needs a result type
func @f(%a: i64) {
  %0 = "accelerator.launch"(%a) : (i64) -> ()
//^ P016
  return
}

// -----

// the first example lacks an angle bracket
func @f(%C: tensor<100x50xf32>) {
  "tf.Print"(%C){message: "mul result"}
                  : (tensor<100x50xf32) -> (tensor<100x50xf32>)
//                                    ^ P004
  return
}
