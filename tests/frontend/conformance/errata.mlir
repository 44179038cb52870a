// ----- E2 P
func @f(%C: tensor<100x50xf32>) {
  "tf.Print"(%C){message: "mul result"}
                  : (tensor<100x50xf32>) -> (tensor<100x50xf32>)
  return
}
// ----- E2 V Unclosed
func @f(%C: tensor<100x50xf32>) {
  "tf.Print"(%C){message: "mul result"}
                  : (tensor<100x50xf32§) -> (tensor<100x50xf32>)
  return
}
// ----- E3 PX
func @f(%A: memref<4xf32>) {
  affine.for %i = 0 to 4 {
    store 0 to %A[%i] : memref<4xf32>
  }
  return
}
//= after(f, numbers(4)) == 0
// ----- E4 P
func @f(%src: memref<40 x 8 x f32>, %dst: memref<16 x 4 x f32, 2>) {
  %size = constant 32 : index
  %tag = alloc() : memref<1 x i32, (d0) -> (d0), 4>
  %idx = constant 0 : index
  dma_start %src[%idx, %idx], %dst[%idx, %idx], %size, %tag[%idx] :
     memref<40 x 8 x f32>, memref<16 x 4 x f32, 2>, memref<1 x i32, (d0) -> (d0), 4>
  dma_wait %tag[%idx], %size : memref<1 x i32, (d0) -> (d0), 4>
  return
}
// ----- E4 V LayoutMismatch
func @f(%src: memref<40 x 8 x f32, §(d0) -> (d0), 0>) {
  return
}
// ----- E4 R109 R110 X
func @f(%src: memref<40 x 8 x f32>, %dst: memref<16 x 4 x f32>) {
  %size = constant 32 : index
  %tag = alloc() : memref<1 x i32>
  %idx = constant 0 : index
  dma_start %src[%idx, %idx], %dst[%idx, %idx], %size, %tag[%idx] :
     memref<40 x 8 x f32>, memref<16 x 4 x f32>, memref<1 x i32>
  dma_wait %tag[%idx], %size : memref<1 x i32>
  return
}
//= after(f, numbers(40, 8), zeros(16, 4)).ravel()[:32] == numbers(40, 8).ravel()[:32]
//= after(f, numbers(40, 8), zeros(16, 4)).ravel()[32:] == 0
// ----- E5 P
func @f(%src: memref<64xf32>, %dst: memref<64xf32, 2>, %n: index, %tag: memref<1xi32>) {
  %i = constant 0 : index
  dma_start %src[%i], %dst[%i], %n, %tag[%i], %n, %n : memref<64xf32>, memref<64xf32, 2>, memref<1xi32>
  return
}
// ----- E6 P
func @f(%n: index, %o: index) {
  %0 = alloc (%n)[%o] : <16x?xf32, (d0, d1)[s0] -> (d0 + s0, d1)>
  return
}
//> memref.alloc(%n)[%o] : memref<16x?xf32,
// ----- E7 P
#tiled = (d0, d1) -> (d0 floordiv 4, d1, d0 mod 4) size (10, 20, 4)
func private @f(memref<40x20xf32, #tiled>)
//> affine_map<(d0, d1) -> (d0 floordiv 4, d1, d0 mod 4)>
// ----- E7 V InvalidAffine
#tiled = (d0, d1) -> (d0 floordiv 4, d1, d0 mod 4) size §(10, 20)
func private @f(memref<40x20xf32, #tiled>)
// ----- E8 V UnexpectedToken
#map = (i, j)§, [M, N] -> (j, i)
// ----- E9 P
func @accelerator_compute()
// ----- E9 V UnexpectedToken
func §$@accelerator_compute()
// ----- E10 P
%new_value = "accelerator.do_something"() : () -> (i64)
// ----- E10 V ResultCountMismatch
§%new_value = "accelerator.do_something"() : () -> ()
// ----- E11 P
func @f(%v: vector<4xi64>) {
  %x = "std.cmpi"(%v, %v){predicate: 0} : (vector<4xi64>, vector<4xi64>) -> vector<4xi1>
  return
}
//> arith.cmpi eq, %v, %v : vector<4xi64>
// ----- E11 V Unclosed
func @f(%v: vector<4xi64>) {
  %x = "std.cmpi"(%v, %v){predicate: 0} : (vector<4xi64>, vector<4xi64> §-> vector<4xi1>
  return
}
// ----- E12 P
func @f() {
  %x = "std.constant"(){value: 42} : i32
  return
}
//> arith.constant 42 : i32
// ----- E13 P
func @f(%A: memref<4x1024xf32>, %x: f32, %i: index) {
  %0 = constant 32 : index
  store %x, %A[%i, 1023] : memref<4x1024xf32>
  return
}
//> memref.store %x, %A[%i, %
// ----- E14 P
#padded = (d0) -> (d0 div 128, d0 mod 128)
func private @f(memref<256xf32, #padded>)
//> affine_map<(d0) -> (d0 floordiv 128, d0 mod 128)>
//~ OldSpelling
// ----- E15 P
func.func private @f(memref<2x3xf32, strided<[6, 2]>>)
// ----- E15 V UnexpectedToken
func.func private @f(memref<2x§3, strided<[6, 2]>>)
// ----- E16 P
func.func private @f(memref<*xf32>)
// ----- E16 V UnexpectedToken
func.func private @f(memref<§*f32>)
// ----- E17 V LiteralTypeMismatch
"t.t"() {a = §42 : f32} : () -> ()
// ----- E18 P
"t.t"() {a = #dialect<"attribute">} : () -> ()
// ----- E18 V UnknownType
"t.t"() {a = §dialect<"attribute">} : () -> ()
// ----- E19 P
"t.t"() : () -> () loc("f":1:2)
"t.t"() : () -> () loc("f":1)
"t.t"() : () -> () loc("f":1:2 to :4)
"t.t"() : () -> () loc("f":1:2 to 3:4)
// ----- E20 P
"t.t"() : () -> () loc("name")
"t.t"() : () -> () loc(callsite("a" at "b"))
// ----- E21 P
%one = "t.t"() : () -> i32
%two:2 = "t.t"() : () -> (i32, i32)
// ----- E22 P
func.func @f(%v: index) {
  cf.br ^bb2(%v : index)
^bb2(%w: index):
  return
}
// ----- E23 P
func private @f(memref<42x16xf32, offset: 33, strides: [1, 64]>)
//> memref<42x16xf32, strided<[1, 64], offset: 33>>
// ----- E23 X
func.func @f(%A: memref<42x16xf32, strided<[1, 64], offset: 33>>) {
  %one = arith.constant 1.0 : f32
  affine.for %i = 0 to 42 {
    affine.for %j = 0 to 16 {
      affine.store %one, %A[%i, %j] : memref<42x16xf32, strided<[1, 64], offset: 33>>
    }
  }
  return
}
//= after(f, strided(zeros(1035), 33, (42, 16), (1, 64))) == 1
//= fails("WrongStride", f, strided(zeros(1035), 33, (16, 42), (64, 1)).T.copy())
// ----- E24 X
#padded = (d0, d1) -> (d0, (d1 + 2) floordiv 2, (d1 + 2) mod 2)
func @f(%A: memref<16x64xf32>, %B: memref<16x64xf32>) {
  %t = alloc() : memref<16x64xf32, #padded>
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 64 {
      %0 = affine.load %A[%i, %j] : memref<16x64xf32>
      affine.store %0, %t[%i, %j] : memref<16x64xf32, #padded>
    }
  }
  affine.for %k = 0 to 16 {
    affine.for %l = 0 to 64 {
      %1 = affine.load %t[%k, %l] : memref<16x64xf32, #padded>
      affine.store %1, %B[%k, %l] : memref<16x64xf32>
    }
  }
  return
}
//= after(f, numbers(16, 64), zeros(16, 64)) == numbers(16, 64)
// ----- E25 P
func @f(%A: memref<?x?xf32>, %i: index, %x: f32) {
  linalg.store %x, %A[%i, %i] : memref<?x?xf32>
  return
}
// ----- E25 V ValueTypeMismatch
func @f(%A: memref<?x?xf32>, %i: index, %x: f32) {
  linalg.store %x, §%A[%i, %i] : memref<?x?x?xf32>
  return
}
// ----- E26 P
func @at(%i: index, %a: f32, %b: f32) -> f32 {
  return %a : f32
}
#trait = {fun = @at, n_views = [1, 1], iterator_types = ["parallel"],
          indexing_maps = [(i) -> (i), (i) -> (i)]}
func @f(%A: memref<4xf32>, %B: memref<4xf32>) {
  linalg.indexed_generic #trait %A, %B : memref<4xf32>, memref<4xf32>
  return
}
// ----- E27 P
func @g(%a: f32, %b: f32) -> f32 {
  return %a : f32
}
#trait = {fun = @g, n_views = [1, 1], iterator_types = ["parallel", "parallel"],
          indexing_maps = [(i, j) -> (i, j), (i, j) -> (i, j)]}
func @f(%A: memref<?x?xf32, offset: ?, strides: [?, 1]>) {
  linalg.generic #trait %A, %A {other.attribute} :
    memref<?x?xf32, offset: ?, strides: [?, 1]>, memref<?x?xf32, offset: ?, strides: [?, 1]>
  return
}
//> other.attribute
// ----- E28 P
func @f(%A: memref<?x?x4xf32>) {
  %0 = linalg.reshape %A [(i, j, k) -> (i, j), (i, j, k) -> (k)] :
    memref<?x?x4xf32> into memref<?x4xf32>
  return
}
//> memref.collapse_shape %A [[0, 1], [2]]
// ----- E28 V WrongStructure
func @f(%A: memref<?x?x4xf32>) {
  %0 = §linalg.reshape %A [(i, j) -> (i), (i, j) -> (j)] :
    memref<?x?x4xf32> into memref<?x4xf32>
  return
}
// ----- E29 P
func @f(%0: index, %1: index, %2: index) {
  %3 = linalg.range %0:%1:%2 : !linalg.range
  return
}
// ----- E31 P
@@domain = (d0)[S0, S1] : (d0 % S0 == 0, S1 - d0 - 1 >= 0)
mlfunc @f(%n: index, %m: index) {
  for %i = 0 to %n {
    if @@domain(%i)[%n, %m] {
      "t.t"() : () -> ()
    }
  }
  return
}
//> affine_set<(d0)[s0, s1] : (d0 mod s0 == 0, s1 - d0 - 1 >= 0)>
// ----- E31 V InvalidAffine
#domain = (d0)[S0] : (d0 - §S1 >= 0)
// ----- E32 P
#intset = (i, j)[N] : (i >= 0, -i + N - 1 >= 0, j >= 0)
func @f(%i: index) {
  affine.if #intset(%i, %i)[%i] {
  }
  return
}
// ----- E32 V UnexpectedToken
#intset = (i, j)[N] : §i >= 0, -i + N - 1 >= 0
// ----- E33 P
"t.graph"() ({
	%1 = "op1"(%2) : (i32) -> i32
	%2 = "op2"(%1) : (i32) -> i32
}) : () -> ()
// ----- E33 V UnexpectedToken
func.func @f() {
	%1 = arith.constant 1 : i32	 §%%
	return
}
