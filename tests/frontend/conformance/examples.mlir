// ----- T1 X
//< langref-2019-21
//= close(program(handlers={"tf.Print": lambda c, message: c}).mul(numbers(100, 7), numbers(7, 50)), numbers(100, 7) @ numbers(7, 50))
//= close(multiply(numbers(100, 1), numbers(1, 50)), numbers(100, 1) @ numbers(1, 50))
// ----- T1 X
//< langref-2019-21
//= fails("ShapesDisagree", mul, numbers(100, 3), numbers(4, 50))
// ----- T1 X
//< langref-2019-21
//= multiply(numbers(100, 0), numbers(0, 50)) == 0
// ----- T2 X
//< langref-2018-to-2019.diff-37-
//= close(mul(numbers(100, 7), numbers(7, 50)), numbers(100, 7) @ numbers(7, 50))
//> func.func @mul(%A: tensor<100x?xf32>, %B: tensor<?x50xf32>) -> tensor<100x50xf32> {
//> affine.for %k = 0 to %n {
// ----- T3 X
//< langref-2019-745
//= simple(3, True) == 6
//= simple(3, False) == 12
// ----- T3 X
//< langref-2020-284
//= simple(3, True) == 6
//= simple(3, False) == 9
// ----- T4 X
//< langref-2019-843
//= select(1, 2, True) == 1
//= select(1, 2, False) == 2
// ----- T4 X
//< langref-2018-to-2019.diff-273-
//= select(1, 2, True) == 1
//= select(1, 2, False) == 2
// ----- T4 X
//< langref-2018-to-2019.diff-426+
//= select(1, 2, True) == 1
//= select(1, 2, False) == 2
// ----- T5 X
func @count(%x: i64) -> (i64, i64) attributes {fruit: "banana"} {
  return %x, %x: i64, i64
}
//= tuple(count(3)) == (3, 3)
// ----- T6 V NotDominated
func @accelerator_compute(i64, i1) -> i64 {
^bb0(%a: i64, %cond: i1):
  br_cond %cond, ^bb1, ^bb2
^bb1:
  %value = "op.convert"(%a) : (i64) -> i64
  br ^bb3(%a: i64)
^bb2:
  "accelerator.launch"() ({
    ^bb0:
      "accelerator.do_something"(§%value) : (i64) -> ()
  }) : () -> ()
  br ^bb3(%a: i64)
^bb3(%c: i64):
  return %c : i64
}
// ----- T6 V UndefinedValue
func @accelerator_compute(%a: i64) -> i64 {
  "accelerator.launch"() ({
    ^bb0:
      %new_value = "accelerator.do_something"(%a) : (i64) -> (i64)
  }) : () -> ()
  return §%new_value : i64
}
// ----- T6 P
//< langref-2019-685
// ----- T7 P
//< langref-2020-384
// ----- T7 V NotDominated
func.func @f() {
  %1 = "op1"(§%1, %3) : (i32, i32) -> (i32)
  %3 = "op2"(%1, %1) : (i32, i32) -> (i32)
  return
}
// ----- T8 XA
#layout = (d0, d1) -> (d1, d0)
func @direct(%A: memref<4x4xf32>, %B: memref<4xf32>) {
  affine.for %i = 0 to 3 {
    %1 = affine.apply (d0) -> (d0 + 1) (%i)
    %2 = load %A[%i, %1] : memref<4x4xf32>
    store %2, %B[%i] : memref<4xf32>
  }
  return
}
func @indirect(%A: memref<4xindex>, %B: memref<4xindex>) {
  affine.for %i = 0 to 4 {
    %1 = load %A[%i] : memref<4xindex>
    %2 = load %A[%1] : memref<4xindex>
    store %2, %B[%i] : memref<4xindex>
  }
  return
}
//= after(direct, numbers(4, 4), zeros(4))[:3] == numbers(4, 4).diagonal(1)
//= after(indirect, np.array([1, 2, 3, 0]), np.zeros(4, int)) == [2, 3, 0, 1]
//= loops("direct") == "i parallel"
//= bounds("direct") == []
//= loops("indirect") == "i parallel"
// ----- T9 X
func @f(%src: memref<40 x 8 x f32>, %dst: memref<2 x 4 x f32>) {
  %size = constant 32 : index
  %tag = alloc() : memref<1 x i32, (d0) -> (d0), 4>
  %idx = constant 0 : index
  dma_start %src[%idx, %idx], %dst[%idx, %idx], %size, %tag[%idx] :
     memref<40 x 8 x f32>, memref<2 x 4 x f32>, memref<1 x i32, (d0) -> (d0), 4>
  dma_wait %tag[%idx], %size : memref<1 x i32, (d0) -> (d0), 4>
  return
}
//= fails("OutOfBounds", f, zeros(40, 8), zeros(2, 4))
// ----- T10 X
#col_major = (d0, d1) -> (d1, d0)
func @f(%A: memref<2x3xf32>, %B: memref<2x3xf32, #col_major>) {
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 3 {
      %0 = load %A[%i, %j] : memref<2x3xf32>
      store %0, %B[%i, %j] : memref<2x3xf32, #col_major>
    }
  }
  return
}
//= after(f, numbers(2, 3), zeros(2, 3)).ravel() == numbers(2, 3).T.ravel()
// ----- T10 X
#tiled = (d0, d1) -> (d0 floordiv 2, d1 floordiv 3, d0 mod 2, d1 mod 3)
func @f(%A: memref<4x6xf32>, %B: memref<4x6xf32, #tiled>) {
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 6 {
      %0 = load %A[%i, %j] : memref<4x6xf32>
      store %0, %B[%i, %j] : memref<4x6xf32, #tiled>
    }
  }
  return
}
//= after(f, numbers(4, 6), zeros(4, 6)).ravel() == numbers(4, 6).reshape(2, 2, 2, 3).transpose(0, 2, 1, 3).ravel()
// ----- T11 X
func.func @f(%A: memref<?x3xf32, strided<[6, 2], offset: ?>>, %B: memref<2x3xf32>) {
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 3 {
      %0 = affine.load %A[%i, %j] : memref<?x3xf32, strided<[6, 2], offset: ?>>
      affine.store %0, %B[%i, %j] : memref<2x3xf32>
    }
  }
  return
}
//= after(f, strided(numbers(20), 5, (2, 3), (6, 2)), zeros(2, 3)) == numbers(20)[5:17].reshape(2, 6)[:, ::2]
// ----- T12 X
func @helper_2D(%A: memref<4x3xf32>, %x: f32) {
  affine.for %i = 0 to 4 {
    store %x, %A[%i, 0] : memref<4x3xf32>
  }
  return
}
func @helper_1D(%A: memref<4xf32>, %x: f32) {
  affine.for %i = 0 to 4 {
    store %x, %A[%i] : memref<4xf32>
  }
  return
}
func @helper(%A: memref<*xf32>, %x: f32) {
  %rank = rank %A : memref<*xf32>
  %one = constant 1 : index
  %c = cmpi "eq", %rank, %one : index
  cond_br %c, ^bb1, ^bb2
^bb1:
  %0 = memref_cast %A : memref<*xf32> to memref<4xf32>
  call @helper_1D(%0, %x) : (memref<4xf32>, f32) -> ()
  return
^bb2:
  %1 = memref_cast %A : memref<*xf32> to memref<4x3xf32>
  call @helper_2D(%1, %x) : (memref<4x3xf32>, f32) -> ()
  return
}
func @f(%x: f32, %A: memref<4x3xf32>) {
  %0 = memref_cast %A : memref<4x3xf32> to memref<*xf32>
  call @helper(%0, %x) : (memref<*xf32>, f32) -> ()
  return
}
//= after(f, 2.0, zeros(4, 3)).sum() == 8
// ----- T13 T14 X
//< linalg-dialect-2020-172
//= after(f, numbers(3, 4), numbers(4, 2), np.ones((3, 2), "f4")) == 1 + numbers(3, 4) @ numbers(4, 2)
// ----- T15 X
func.func @f(%A: memref<3x4xi32>) {
  %t = arith.constant sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>
  %m = bufferization.to_buffer %t : tensor<3x4xi32> to memref<3x4xi32>
  memref.copy %m, %A : memref<3x4xi32> to memref<3x4xi32>
  return
}
//= after(f, zeros(3, 4, dtype="i4")) == [[1, 0, 0, 0], [0, 0, 5, 0], [0, 0, 0, 0]]
// ----- T40 X
//< langref-2018-to-2019.diff-635-
//= after(lambda a, key, s: search(a, s, key), np.array([[1, 2, 3], [3, 1, 2]], "i4"), 3, zeros(2, dtype="i4")) == [2, 0]
// ----- T40 A
//< langref-2018-to-2019.diff-635-
//= loops("search").startswith("i parallel")
// ----- T41 X
//< langref-2018-to-2019.diff-670-
//= (seen := [], program(handlers={"pow": lambda j: j * j, "body": lambda k, l: seen.append((k, l))}).outer_nest(3), len(seen))[2] == 45
// ----- T42 X
//< langref-2018-to-2019.diff-704-
//= close(after(lambda i, k, o: conv2d(i, k, o, 2, 1, 2, 1), numbers(16, 4, 3, 3), numbers(5, 5, 3, 32), zeros(16, 2, 1, 32)), convolution(numbers(5, 5, 3, 32), np.pad(numbers(16, 4, 3, 3), ((0, 0), (2, 2), (2, 2), (0, 0))), (16, 2, 1, 32), [2, 2], [1, 1]))
// ----- T43 X
//< langref-2018-to-2019.diff-591-
//= foo(5) is None
//= after(bar, zeros(8, 5)) == 1
// ----- T44 X
//< langref-2018-to-2019.diff-346-
//= after(simple_example, numbers(4, 4), zeros(4, 4)) == numbers(4, 4)[:, ::-1]
//= loops("simple_example") == "i parallel, j parallel"
// ----- T44 X
//< langref-2018-to-2019.diff-365-
//= reduced_domain_example(zeros(10, dtype="i4"), 7, 18) is None
//= fails("IndexOutOfBounds", reduced_domain_example, zeros(10, dtype="i4"), 7, 19)
//= loops("reduced_domain_example") == "i sequential, j parallel"
// ----- T44 X
@@set = (d0, d1)[s0]: (d0 - 10 >= 0, s0 - d0 - 9 >= 0, d1 - 10 >= 0, s0 - d1 - 9 >= 0)
mlfunc @f(%N: index, %X: i32, %A: memref<30xi32>) {
  for %i = 0 to %N {
    for %j = 0 to %N {
      %0 = affine_apply (d0, d1) -> (d0 + d1) (%i, %j)
      if @@set(%i, %j)[%N] {
        store %X, %A[%0] : memref<30xi32>
      }
    }
  }
  return
}
//= np.flatnonzero(after(f, 23, 7, zeros(30, dtype="i4"))).tolist() == list(range(20, 29))
// ----- T46 X
func.func private @fill(memref<9xf32>, index) attributes {gcg.writes = [affine_map<(d0) -> (d0)>]}
func.func @f(%A: memref<9xf32>) {
  affine.for %i = 0 to 8 {
    func.call @fill(%A, %i) : (memref<9xf32>, index) -> ()
  }
  return
}
//= loops("f") == "i parallel"
//= after(program(handlers={"fill": lambda a, i: a.__setitem__(i, i * i)}).f, zeros(9)).tolist() == [0, 1, 4, 9, 16, 25, 36, 49, 0]
