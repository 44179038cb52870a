// ----- C1 P
"t.t"() {a: 1, b = {c = 2, d: 3}} : () -> ()
//> {a = 1, b = {c = 2, d = 3}}
// ----- C2 P
func private @f(memref<4x4xf32, (d0, d1) -> (d1, d0)>,
                memref<4x4xf32, offset: 2, strides: [8, 1]>,
                memref<4x4xf32, strided<[8, 1], offset: 2>>)
//> memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>, memref<4x4xf32, strided<[8, 1], offset: 2>>, memref<4x4xf32, strided<[8, 1], offset: 2>>
// ----- C3 P
func private @f(memref<4x8xf32, (d0, d1) -> (d1, d0), (d0, d1) -> (d0 * 4 + d1)>)
//> memref<4x8xf32, affine_map<(d0, d1) -> (d1 * 4 + d0)>>
// ----- C4 P
func private @f(memref<4xf32, 2>, memref<4xf32, vmem>, memref<4xf32, #t.space>, memref<4xf32, memspace3>)
//> memref<4xf32, 2>, memref<4xf32, "vmem">, memref<4xf32, #t.space>, memref<4xf32, 3>
// ----- C5 P
func @f(%a: vector<4xindex>, %b: tensor<4xindex>, %c: memref<?xindex>) {
  return
}
// ----- C6 P
func @f(%a: memref<4xmemref<4xf32>>, %b: tensor<4xcomplex<f32>>, %c: tensor<4x!t.type>) {
  return
}
// ----- C7 P
func @f(%a: vector<f32>, %b: vector<[4]x2xf32>) {
  return
}
// ----- C8 P
"t.t"() {a: dense<tensor<2xi32>, [1, 2]>, b: sparse<tensor<2xi32>, [[1]], [5]>,
         c: splat<tensor<2xi32>, 3>, d: dense<[1, 2]> : tensor<2xi32>} : () -> ()
//> a = dense<[1, 2]> : tensor<2xi32>
//> b = sparse<[[1]], 5> : tensor<2xi32>
//> c = dense<3> : tensor<2xi32>
// ----- C9 P
"t.t"() {a: opaque<"ns", tensor<2xi32>, "0xAB">, b: opaque<"ns", "0xAB"> : tensor<2xi32>} : () -> ()
//> a = opaque<"ns", "0xAB"> : tensor<2xi32>, b = opaque<"ns", "0xAB"> : tensor<2xi32>
// ----- C10 P
!old = type i32
!new = i64
func private @f(!old) -> !new
//> @f(i32) -> i64
// ----- C11 P
func @f(%c: i1) {
  br_cond %c, ^bb1, ^bb1
^bb1:
  cond_br %c, ^bb2, ^bb2
^bb2:
  return
}
//> cf.cond_br %c, ^bb1, ^bb1
//> cf.cond_br %c, ^bb2, ^bb2
// ----- C12 P
func @f(%A: memref<4xf32>, %t: tensor<4xf32>, %x: f32, %i: index) {
  store %x to %A[%i] : memref<4xf32>
  store %x, %A[%i] : memref<4xf32>
  tensor_store %t to %A : memref<4xf32>
  tensor_store %t, %A : memref<4xf32>
  return
}
// ----- C13 P
"t.t"() ({
}, {
  "t.inner"() : () -> ()
}) : () -> ()
// ----- C13 V EmptyBody
func.func @f() §{
}
// ----- C14 P
"t.use"(%0) : (i32) -> ()
%0 = "t.value"() : () -> i32
// ----- C15 P
#map = (d0) -> (d0)
func @f() {
  return
}
//> module {
// ----- C15 P
module {
  func @f() {
    return
  }
}
// ----- C16 P
func @f(%a: i32 {fruit}, %b: i1 {unitAttr}) -> i32 attributes {plain: 1} {
  return %a : i32
}
//> %a: i32 {fruit}, %b: i1 {unitAttr}
// ----- C17 P
func.func @f()
//~ MissingVisibility
// ----- C18 P
#one = {fun = @g, args_in = 1, args_out = 1, iterator_types = ["parallel"],
        indexing_maps = [(i) -> (i), (i) -> (i)]}
#two = {fun = @g, n_views = [1, 1], iterator_types = ["parallel"],
        indexing_maps = [(i) -> (i), (i) -> (i)]}
func @g(%a: f32, %b: f32) -> f32 {
  return %a : f32
}
func @f(%A: memref<4xf32>, %B: memref<4xf32>) {
  linalg.generic #one %A, %B : memref<4xf32>, memref<4xf32>
  linalg.generic #two %A, %B : memref<4xf32>, memref<4xf32>
  return
}
//> ins(%A : memref<4xf32>) outs(%B : memref<4xf32>)
// ----- C18 V Contradiction
#trait = {fun = @g, args_in = 1, args_out = 1, n_views = [2, 0], iterator_types = ["parallel"],
          indexing_maps = [(i) -> (i), (i) -> (i)]}
func @g(%a: f32, %b: f32) -> f32 {
  return %a : f32
}
func @f(%A: memref<4xf32>, %B: memref<4xf32>) {
  §linalg.generic #trait %A, %B : memref<4xf32>, memref<4xf32>
  return
}
// ----- C19 P
func @f(%A: memref<?x?xf32>, %B: memref<?x?xf32>) {
  linalg.copy(%A, %B) {inputPermutation : (i, j) -> (j, i)} : memref<?x?xf32>, memref<?x?xf32>
  linalg.copy(%A, %B) {input_permutation : (i, j) -> (j, i)} : memref<?x?xf32>, memref<?x?xf32>
  return
}
//~ OldSpelling
// ----- C20 P
#trait = {args_in = 1, args_out = 1, iterator_types = ["parallel"],
          indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
func @f(%A: memref<4xf32>, %B: memref<4xf32>) {
  linalg.generic #trait %A, %B {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } : memref<4xf32>, memref<4xf32>
  linalg.generic #trait ins(%A : memref<4xf32>) outs(%B : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
// ----- C21 P
func.func @f(%A: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %A, %c0 : memref<?xf32>
  %k = affine.apply affine_map<()[s0, s1] -> (s0 + s1)>()[%n, %m]
  affine.for %i = 0 to %k {
    %0 = affine.load %A[%i + symbol(%k) - symbol(%m)] : memref<?xf32>
  }
  return
}
// ----- C21 V NotADimension
func.func @f(%A: memref<?xf32>, %B: memref<4xindex>) {
  affine.for %i = 0 to 4 {
    %0 = affine.load %B[%i] : memref<4xindex>
    §affine.for %j = 0 to %0 {
    }
  }
  return
}
// ----- C22 P
mlfunc @f(%n: index) {
  for %i = 0 to %n {
    affine.for %j = 0 to %n {
      if (d0) : (d0 >= 0) (%i) {
        %0 = affine_apply (d0) -> (d0 + 1) (%i)
      }
    }
  }
  return
}
//> affine.for %i = 0 to %n {
//> affine.if affine_set<(d0) : (d0 >= 0)>(%i) {
//> affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
// ----- C23 P
cfgfunc @old(i32, f32) -> i32 {
bb0(%a: i32, %b: f32):
  return %a : i32
}
func @new(%a: i32, %b: f32) -> i32 {
  return %a : i32
}
//> func.func @old(%a: i32, %b: f32) -> i32 {
// ----- C23 V TypesDiffer
§cfgfunc @old(i32, f32) -> i32 {
bb0(%a: i32, %b: i32):
  return %a : i32
}
// ----- C24 P
func @f(%a: i32, %x: f32, %i: index, %A: memref<4xf32>) {
  %0 = subi %a, %a : i32
  %1 = subf %x, %x : f32
  %2 = divf %x, %x : f32
  %3 = cmpf "olt", %x, %x : f32
  %4 = remf %x, %x : f32
  %5 = sitofp %a : i32 to f32
  %6 = fptosi %x : f32 to i32
  %7 = fpext %x : f32 to f64
  %8 = trunci %a : i32 to i8
  %9 = zexti %a : i32 to i64
  %10 = sexti %a : i32 to i64
  %11 = index_cast %i : index to i32
  %12 = shift_left %a, %a : i32
  %13 = shift_right_signed %a, %a : i32
  %14 = negf %x : f32
  %15 = absf %x : f32
  %16 = exp %x : f32
  %17 = atomic_rmw "addf" %x, %A[%i] : (f32, memref<4xf32>) -> f32
  %18 = splat %x : vector<4xf32>
  assert %3, "message"
  return
}
//> arith.divf %x, %x : f32
//> arith.extsi %a : i32 to i64
//> math.exp %x : f32
// ----- C25 P
func @f(%a: i32) {
  %0 = cmpi "slt", %a, %a : i32
  %1 = cmpi slt, %a, %a : i32
  %2 = "cmpi"(%a, %a) {predicate: 2} : (i32, i32) -> i1
  return
}
//> %2 = arith.cmpi slt, %a, %a : i32
