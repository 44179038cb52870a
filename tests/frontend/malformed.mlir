// missing parenthesis | P004 | '('
func.func @f(%a: i32 §-> i32 {
}
// -----
// missing brace | P004 | '{'
func.func @f() {
  return§
// -----
// string runs on | P002 | quote
func.func @f() attributes {a = §"x} {
}
// -----
// strange character | P003 | invalid
func.func @f() {
  return §☃
}
// -----
// no operation | P001 | an operation
func.func @f() {
  %x = §)
}
// -----
// missing symbol | P001 | '@'
func.func §$@f() {
}
// -----
// missing colon | P001 | ':'
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  %0 = arith.addf %x, %x §f32
  return
}
// -----
// missing angle | P004 | '<'
func.func @f(%a: tensor<4xf32§) {
}
// -----
// unknown type | P008 | 'f32'
func.func @f(%a: §f33) {
}
// -----
// unknown alias | P009 | !alia
func.func @f(%a: §!alia) {
}
// -----
// unknown attribute alias | P009 | #map0
#map0 = affine_map<(d0) -> (d0)>
func.func @f(%i: index) {
  %0 = affine.apply §#map1(%i)
  return
}
// -----
// alias twice | P010 | already
!a = i32
§!a = i64
// -----
// duplicate key | P011 | twice
func.func @f() attributes {a, §a} {
}
// -----
// memref without x | P001 | memref<*xf32>
func.func @f(%a: memref<§*f32>) {
}
// -----
// memref without element | P001 | type
func.func @f(%a: memref<2x§3, 1>) {
}
// -----
// zero vector | P024 | positive
func.func @f(%a: vector<§0xf32>) {
}
// -----
// tensor in complex | P024 | float
func.func @f(%a: complex<§index>) {
}
// -----
// unknown operation | P005 | arith.addf
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  %0 = §arith.adf %x, %x : f32
}
// -----
// unknown dialect | P005 | allow unregistered
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  §foo.bar %x : f32
}
// -----
// unknown generic | P005 | 'foo'
func.func @f() {
  §"foo"() : () -> ()
}
// -----
// undefined value | P006 | %x
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  %0 = arith.addf %x, §%y : f32
  return
}
// -----
// undefined without type | P006 | %z
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  func.return §%z : f32
}
// -----
// defined twice | P007 | %x
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  §%x = arith.constant 1 : i32
  return
}
// -----
// argument twice | P007 | %a
func.func @f(%a: i32, §%a: i32) {
  return
}
// -----
// undefined block | P017 | ^bb7
func.func @f() {
  cf.br §^bb7
}
// -----
// block twice | P018 | ^a
func.func @f() {
  cf.br ^a
^a:
  cf.br ^b
^b:
  return
§^a:
  return
}
// -----
// wrong written type | P014 | f32
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  %0 = arith.addf §%x, %x : f64
  return
}
// -----
// type count | P015 | 2 operand
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  return §%x, %x : f32
}
// -----
// result count | P016 | 1 result
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  §%0:2 = arith.addf %x, %x : f32
  return
}
// -----
// named nothing | P016 | 0 result(s)
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  §%0 = func.return
}
// -----
// integer for float | P013 | 42.0
func.func @f() {
  %0 = arith.constant §42 : f32
}
// -----
// float for integer | P013 | i32
func.func @f() {
  %0 = arith.constant §4.5 : i32
}
// -----
// too big | P012 | 300
func.func @f() {
  %0 = arith.constant §300 : i8
}
// -----
// ragged dense | P023 | row
func.func @f() {
  %0 = arith.constant dense<§[[1, 2], [3]]> : tensor<2x2xi32>
}
// -----
// dense shape | P021 | shape 3
func.func @f() {
  %0 = arith.constant dense<§[1, 2, 3]> : tensor<2xi32>
}
// -----
// two dimensions multiplied | P022 | constant or a symbol
#m = affine_map<(i, j) -> (i §* j)>
// -----
// undeclared in map | P022 | 'k'
#m = affine_map<(i) -> (§k)>
// -----
// stray comma | P001 | comma
#m = (i, j)§, [M, N] -> (i)
// -----
// map arity | V012 | 2 dimension
#m = affine_map<(i, j) -> (i)>
func.func @f(%n: index) {
  %0 = affine.apply #m§(%n)
  return
}
// -----
// negative step | P026 | positive
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  affine.for %i = 0 to 4 step §-1 {
  }
  return
}
// -----
// data dependent bound | V011 | scf.for
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  scf.for %i = %c0 to %n step %n {
    §affine.for %j = 0 to %i {
    }
  }
  return
}
// -----
// loop variable as symbol | V011 | symbol
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  affine.for %i = 0 to 4 {
    %0 = §affine.load %A[symbol(%i), %i] : memref<4x?xf32>
  }
  return
}
// -----
// missing index | V013 | rank 2
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  %0 = §affine.load %A[%n] : memref<4x?xf32>
  return
}
// -----
// missing plain index | V013 | rank 2
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  %0 = §memref.load %A[%n] : memref<4x?xf32>
  return
}
// -----
// missing min | P026 | 'min'
#m = affine_map<(i) -> (i, 4)>
func.func @f(%n: index) {
  affine.for %i = 0 to §#m(%n) {
  }
  return
}
// -----
// no terminator | V004 | return
func.func @f() {
  %0 = §arith.constant 1 : i32
}
// -----
// after the return | V005 | last
func.func @f() {
  §return
  return
}
// -----
// empty body | V027 | return
func.func @f() §{
}
// -----
// wrong return | V010 | i64
func.func @f(%a: i32) -> i64 {
  return §%a : i32
}
// -----
// unknown callee | V007 | @g
func.func @f() {
  call §@g() : () -> ()
  return
}
// -----
// wrong call | V009 | (i32) -> ()
func.func @f(%a: i32) {
  §call @f() : () -> ()
  return
}
// -----
// function twice | V008 | @f
func.func @f() {
  return
}
func.func §@f() {
  return
}
// -----
// use before definition | V006 | dominate
func.func @f(%a: i32) {
  %0 = arith.addi §%1, %a : i32
  %1 = arith.addi %a, %a : i32
  return
}
// -----
// not dominated | V006 | %x
func.func @f(%c: i1) {
  cf.cond_br %c, ^a, ^b
^a:
  %x = arith.constant 1 : i32
  cf.br ^b
^b:
  func.call @g(§%x) : (i32) -> ()
  return
}
func.func private @g(i32)
// -----
// escape from a region | P006 | %x
func.func @f(%c: i1) {
  scf.if %c {
    %x = arith.constant 1 : i32
  }
  %0 = arith.addi §%x, %x : i32
  return
}
// -----
// branch to entry | V019 | entry
func.func @f() {
^a:
  cf.br §^a
}
// -----
// branch arguments | V018 | (i32)
func.func @f(%a: i32) {
  cf.br §^b(%a : i32)
^b:
  return
}
// -----
// yield types | V017 | f32
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  %0 = affine.for %i = 0 to 4 iter_args(%s = %x) -> (f32) {
    affine.yield §%i : index
  }
  return
}
// -----
// yield outside | V023 | affine.for
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  §affine.yield
}
// -----
// integer operation on floats | V021 | integer
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  %0 = arith.addi §%x, %x : f32
  return
}
// -----
// bad cast | V026 | static extents
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  %0 = §memref.cast %A : memref<4x?xf32> to memref<5x?xf32>
  return
}
// -----
// alloc sizes | V002 | '?'
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  %0 = §memref.alloc() : memref<?xf32>
  return
}
// -----
// missing attribute | V014 | value
func.func @f() {
  %0 = §"arith.constant"() : () -> i32
  return
}
// -----
// operand count | V002 | 2 operand
func.func @f(%a: i32) {
  %0 = §"arith.addi"(%a) : (i32) -> i32
  return
}
// -----
// predicate | P001 | olt
func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {
  %c0 = arith.constant 0 : index
  %0 = arith.cmpf §lt, %x, %x : f32
  return
}
// -----
// matmul shapes | V016 | extent 8
func.func @f(%a: memref<4x8xf32>, %b: memref<9x4xf32>, %c: memref<4x4xf32>) {
  §linalg.matmul ins(%a, %b : memref<4x8xf32>, memref<9x4xf32>) outs(%c : memref<4x4xf32>)
  return
}
// -----
// generic maps | V016 | 2 dimensions
func.func @f(%a: memref<4xf32>) {
  §linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>], iterator_types = ["parallel"]} outs(%a : memref<4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %o : f32
  }
  return
}
