// ----- R140 V
func.func @f(%n: index) {
  affine.for %i = 0 to %n {
  }
  return
}
//= "affine." not in passed("lower-if-and-for")
//= fails("AffineControlFlow", passed, "lower-affine-apply")
// ----- R140 X
func.func @f(%n: index, %A: memref<10xi32>) {
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  affine.for %i = 1 to min affine_map<()[s0] -> (s0, 10)>()[%n] step 2 {
    affine.if affine_set<(d0) : (d0 mod 3 == 0)>(%i) {
      affine.store %one, %A[%i] : memref<10xi32>
    } else {
      affine.store %two, %A[%i] : memref<10xi32>
    }
  }
  return
}
//= after(after_pass("lower-if-and-for").f, 20, zeros(10, dtype="i4")) == [0, 2, 0, 1, 0, 2, 0, 2, 0, 1]
// ----- R141 V
func.func @f(%n: index) {
  affine.for %i = 0 to %n {
    %0 = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
    "t.use"(%0) : (index) -> ()
  }
  return
}
//= fails("AffineControlFlow", passed, "lower-affine-apply")
// ----- R141 X
#three = affine_map<(d0)[s0] -> (d0 mod 3 + s0 * 100)>
func.func @f(%a: index, %b: index) -> (index, index, index) {
  %0 = affine.apply #three(%a)[%b]
  %1 = affine.apply affine_map<(d0) -> (d0 floordiv 4)>(%a)
  %2 = affine.apply affine_map<(d0) -> (d0 ceildiv 4)>(%a)
  return %0, %1, %2 : index, index, index
}
//= "affine" not in passed("lower-affine-apply")
//= tuple(after_pass("lower-affine-apply").f(-7, 2)) == (202, -2, -1)
//= tuple(after_pass("lower-affine-apply").f(7, -1)) == (-99, 1, 2)
// ----- R142 P
mlfunc @test_subi_zero_ml(%arg0: i32) -> i32 {
  %y = subi %arg0, %arg0 : i32
  return %y : i32
}
//= "arith.constant 0 : i32" in passed("canonicalize") and "arith.subi" not in passed("canonicalize")
// ----- R142 X
func @test_subi_zero_cfg(%arg0: i32) -> i32 {
  %y = subi %arg0, %arg0 : i32
  return %y : i32
}
//= after_pass("canonicalize").test_subi_zero_cfg(4) == 0
// ----- R143 A
func @store_may_execute_before_load(%c: f32) {
  %m1 = alloc() : memref<10xf32>
  %m2 = alloc() : memref<10xf32>
  affine.for %i = 0 to 10 {
    %v = affine.load %m1[%i] : memref<10xf32>
    affine.store %c, %m2[%i] : memref<10xf32>
  }
  return
}
//= loops("store_may_execute_before_load") == "i parallel"
//= "memref<10xf32>" in passed("memref-dependence-check")
// ----- R144 X
func.func @f(%A: memref<2x3x4xf32>, %B: memref<3x4x2xf32>) {
  linalg.copy(%A, %B) {inputPermutation = affine_map<(i, j, k) -> (i, k, j)>,
                       outputPermutation = affine_map<(i, j, k) -> (k, j, i)>}
    : memref<2x3x4xf32>, memref<3x4x2xf32>
  return
}
//= passed("generalize, linalg-to-affine").count("affine.for") == 3
//= after(f, numbers(2, 3, 4), zeros(3, 4, 2)) == numbers(2, 3, 4).transpose(1, 2, 0)
// ----- R144 A
func.func @f(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>) {
  linalg.matmul(%A, %B, %C) : memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>
  return
}
//= loops("f").count("parallel") == 2 and loops("f").count("reduction") == 1
// ----- R145 XA
func.func @f(%a: tensor<3x4xf32>, %b: tensor<4x2xf32>, %c: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<3x4xf32>, tensor<4x2xf32>) outs(%c : tensor<3x2xf32>)
    -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
//= f(numbers(3, 4), numbers(4, 2), np.ones((3, 2), "f4")) == numbers(3, 4) @ numbers(4, 2) + 1
//= after(f, numbers(3, 4), numbers(4, 2), np.ones((3, 2), "f4")) == 1
//= loops("f").count("reduction") == 1
// ----- R146 XA
func.func @f(%A: memref<6xf32>, %B: memref<2x3xf32>) {
  %0 = memref.expand_shape %A [[0, 1]] output_shape [2, 3] : memref<6xf32> into memref<2x3xf32>
  linalg.copy ins(%0 : memref<2x3xf32>) outs(%B : memref<2x3xf32>)
  return
}
//= after(f, numbers(6), zeros(2, 3)) == numbers(6).reshape(2, 3)
//= loops("f").count("parallel") == 2
