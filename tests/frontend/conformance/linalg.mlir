// ----- R150 P
func @f(%k: memref<2x3x4xf32>, %in: memref<?x?x3xf32>, %out: memref<?x?x4xf32>) {
  linalg.conv(%k, %in, %out) {strides = [2], dilations = [1]} :
    memref<2x3x4xf32>, memref<?x?x3xf32>, memref<?x?x4xf32>
  return
}
// ----- R150 V WrongStructure
func @f(%k: memref<2x3x4xf32>, %in: memref<?x?x3xf32>, %out: memref<?x?x?x4xf32>) {
  §linalg.conv(%k, %in, %out) : memref<2x3x4xf32>, memref<?x?x3xf32>, memref<?x?x?x4xf32>
  return
}
// ----- R150 XA
func @f(%k: memref<2x3x4xf32>, %in: memref<2x9x3xf32>, %out: memref<2x4x4xf32>) {
  linalg.conv(%k, %in, %out) {strides = [2], dilations = [1]} :
    memref<2x3x4xf32>, memref<2x9x3xf32>, memref<2x4x4xf32>
  return
}
//= after(f, numbers(2, 3, 4), numbers(2, 9, 3), np.ones((2, 4, 4), "f4")) == 1 + convolution(numbers(2, 3, 4), numbers(2, 9, 3), (2, 4, 4), [2], [1])
//= loops("f").count("parallel") == 3 and loops("f").count("reduction") == 2
// ----- R150 X
func @f(%k: memref<2x3x3x2xf32>, %in: memref<2x8x9x3xf32>, %out: memref<2x6x3x2xf32>) {
  linalg.conv(%k, %in, %out) {strides = [1, 2], dilations = [2, 2]} :
    memref<2x3x3x2xf32>, memref<2x8x9x3xf32>, memref<2x6x3x2xf32>
  return
}
//= after(f, numbers(2, 3, 3, 2), numbers(2, 8, 9, 3), zeros(2, 6, 3, 2)) == convolution(numbers(2, 3, 3, 2), numbers(2, 8, 9, 3), (2, 6, 3, 2), [1, 2], [2, 2])
// ----- R150 X
func @f(%k: memref<2x1x2x1x2xf32>, %in: memref<1x3x3x3x1xf32>, %out: memref<1x2x3x2x2xf32>) {
  linalg.conv(%k, %in, %out) :
    memref<2x1x2x1x2xf32>, memref<1x3x3x3x1xf32>, memref<1x2x3x2x2xf32>
  return
}
//= after(f, numbers(2, 1, 2, 1, 2), numbers(1, 3, 3, 3, 1), zeros(1, 2, 3, 2, 2)) == convolution(numbers(2, 1, 2, 1, 2), numbers(1, 3, 3, 3, 1), (1, 2, 3, 2, 2), [1, 1, 1], [1, 1, 1])
// ----- R151 P
func @f(%A: memref<?x?x?xf32>, %B: memref<?x?x?xf32>) {
  linalg.copy(%A, %B) : memref<?x?x?xf32>, memref<?x?x?xf32>
  linalg.copy(%A, %B) {inputPermutation : (i, j, k) -> (i, k, j),
                       outputPermutation : (i, j, k) -> (k, j, i)}
    : memref<?x?x?xf32>, memref<?x?x?xf32>
  return
}
// ----- R151 V WrongStructure
func @f(%A: memref<?x?xf32>, %B: memref<?xf32>) {
  §linalg.copy(%A, %B) : memref<?x?xf32>, memref<?xf32>
  return
}
// ----- R151 XA
func @f(%A: memref<3x4xf32>, %B: memref<3x4xf32>) {
  linalg.copy(%A, %B) : memref<3x4xf32>, memref<3x4xf32>
  return
}
//= after(f, numbers(3, 4), zeros(3, 4)) == numbers(3, 4)
//= fails("OverlappingArguments", lambda a: f(a[:3], a[1:]), zeros(4, 4))
//= loops("f").count("parallel") == 2
// ----- R152 P
func @f(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<f32>) {
  linalg.dot(%a, %b, %c) : memref<?xf32>, memref<?xf32>, memref<f32>
  return
}
//> linalg.dot ins(%a, %b : memref<?xf32>, memref<?xf32>) outs(%c : memref<f32>)
// ----- R152 V WrongStructure
func @f(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) {
  §linalg.dot(%a, %b, %c) : memref<?xf32>, memref<?xf32>, memref<?xf32>
  return
}
// ----- R152 XA
func @f(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<f32>) {
  linalg.dot(%a, %b, %c) : memref<?xf32>, memref<?xf32>, memref<f32>
  return
}
//= after(f, numbers(5), numbers(5), np.ones((), "f4")) == numbers(5) @ numbers(5) + 1
//= loops("f").count("reduction") == 1
// ----- R153 P
func @f(%A: memref<?xf32>, %x: f32) {
  linalg.fill(%A, %x) : memref<?xf32>, f32
  return
}
//> linalg.fill ins(%x : f32) outs(%A : memref<?xf32>)
// ----- R153 V ValueTypeMismatch
func @f(%A: memref<?xf32>, %x: i32) {
  linalg.fill(%A, §%x) : memref<?xf32>, memref<i32>
  return
}
// ----- R153 XA
func @f(%x: f32, %A: memref<?x3xf32>) {
  linalg.fill(%A, %x) : memref<?x3xf32>, f32
  return
}
//= after(f, 2.5, zeros(2, 3)) == 2.5
//= loops("f").count("parallel") == 2
// ----- R154 R156 R167 P
func @fma(%a: f32, %b: f32, %c: f32) -> f32 {
  %d = mulf %a, %b: f32
  %e = addf %c, %d: f32
  return %e: f32
}
#matmul_accesses = [(m, n, k) -> (m, k), (m, n, k) -> (k, n), (m, n, k) -> (m, n)]
#matmul_trait = {
  doc = "C(m, n) += A(m, k) * B(k, n)",
  fun = @fma,
  indexing_maps = #matmul_accesses,
  n_views = [2, 1],
  iterator_types = ["parallel", "parallel", "reduction"]
}
func @f(%A: memref<?x?xf32, offset: ?, strides: [?, 1]>,
        %B: memref<?x?xf32, offset: ?, strides: [?, 1]>,
        %C: memref<?x?xf32, offset: ?, strides: [?, 1]>) {
  linalg.generic #matmul_trait %A, %B, %C :
    memref<?x?xf32, offset: ?, strides: [?, 1]>,
    memref<?x?xf32, offset: ?, strides: [?, 1]>,
    memref<?x?xf32, offset: ?, strides: [?, 1]>
  return
}
//> doc = "C(m, n) += A(m, k) * B(k, n)"
//> iterator_types = ["parallel", "parallel", "reduction"]
// ----- R154 V WrongStructure
func @f(%A: memref<?x?xf32>, %B: memref<?xf32>) {
  §linalg.generic {args_in = 1, args_out = 1, iterator_types = ["parallel"],
                  indexing_maps = [(i) -> (i), (i) -> (i)]} %A, %B {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } : memref<?x?xf32>, memref<?xf32>
  return
}
// ----- R154 V WrongStructure
func @f(%A: memref<?xf32>, %B: memref<?xf32>) {
  §linalg.generic {args_in = 1, args_out = 1, iterator_types = ["parallel", "parallel"],
                  indexing_maps = [(i) -> (i), (i) -> (i)]} %A, %B {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } : memref<?xf32>, memref<?xf32>
  return
}
// ----- R154 R156 V CallMismatch
func @g(%a: i32, %b: f32) -> f32 {
  return %b : f32
}
#trait = {fun = @g, args_in = 1, args_out = 1, iterator_types = ["parallel"],
          indexing_maps = [(i) -> (i), (i) -> (i)]}
func @f(%A: memref<?xf32>, %B: memref<?xf32>) {
  §linalg.generic #trait %A, %B : memref<?xf32>, memref<?xf32>
  return
}
// ----- R154 R156 R167 XA
func @fma(%a: f32, %b: f32, %c: f32) -> f32 {
  %d = mulf %a, %b: f32
  %e = addf %c, %d: f32
  return %e: f32
}
#matmul_trait = {
  fun = @fma,
  indexing_maps = [(m, n, k) -> (m, k), (m, n, k) -> (k, n), (m, n, k) -> (m, n)],
  n_views = [2, 1],
  iterator_types = ["parallel", "parallel", "reduction"]
}
func @f(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>) {
  linalg.generic #matmul_trait %A, %B, %C :
    memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>
  return
}
//= after(f, numbers(3, 4), numbers(4, 2), np.ones((3, 2), "f4")) == 1 + numbers(3, 4) @ numbers(4, 2)
//= loops("f").count("parallel") == 2 and loops("f").count("reduction") == 1
// ----- R155 P
func.func @f(%A: memref<8xf32>, %w: memref<3xf32>, %B: memref<6xf32>) {
  linalg.generic {iterator_types = ["parallel", "window"], indexing_maps = [
      affine_map<(i, w) -> (i + w)>, affine_map<(i, w) -> (w)>, affine_map<(i, w) -> (i)>]}
    ins(%A, %w : memref<8xf32>, memref<3xf32>) outs(%B : memref<6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
// ----- R155 V WrongStructure
func.func @f(%A: memref<8xf32>, %B: memref<8xf32>) {
  §linalg.generic {iterator_types = ["sideways"], indexing_maps = [
      affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
    ins(%A : memref<8xf32>) outs(%B : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
// ----- R155 XA
func.func @f(%A: memref<8xf32>, %w: memref<3xf32>, %B: memref<6xf32>) {
  linalg.generic {iterator_types = ["parallel", "window"], indexing_maps = [
      affine_map<(i, w) -> (i + w)>, affine_map<(i, w) -> (w)>, affine_map<(i, w) -> (i)>]}
    ins(%A, %w : memref<8xf32>, memref<3xf32>) outs(%B : memref<6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
//= after(f, numbers(8), numbers(3), zeros(6)) == np.correlate(numbers(8), numbers(3), "valid")
//= loops("f").count("parallel") == 1 and loops("f").count("reduction") == 1
// ----- R157 P
func @g(%a: f32, %b: f32) -> f32 {
  return %a : f32
}
#trait = {fun = @g, args_in = 1, args_out = 1, iterator_types = ["parallel"],
          library_call = "external_copy", indexing_maps = [(i) -> (i), (i) -> (i)]}
func @f(%A: memref<4xf32>, %B: memref<4xf32>) {
  linalg.generic #trait %A, %B : memref<4xf32>, memref<4xf32>
  return
}
//> library_call = "external_copy"
// ----- R157 V WrongAttribute
#trait = {args_in = 1, args_out = 1, iterator_types = ["parallel"],
          library_call = 42, indexing_maps = [(i) -> (i), (i) -> (i)]}
func @f(%A: memref<4xf32>, %B: memref<4xf32>) {
  §linalg.generic #trait %A, %B {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } : memref<4xf32>, memref<4xf32>
  return
}
// ----- R157 XA
func @g(%a: f32, %b: f32) -> f32 {
  return %a : f32
}
#trait = {fun = @g, args_in = 1, args_out = 1, iterator_types = ["parallel"],
          library_call = "external_copy", indexing_maps = [(i) -> (i), (i) -> (i)]}
func @f(%A: memref<4xf32>, %B: memref<4xf32>) {
  linalg.generic #trait %A, %B : memref<4xf32>, memref<4xf32>
  return
}
//= after(f, numbers(4), zeros(4)) == numbers(4)
//= loops("f").count("parallel") == 1
// ----- R157 X
func @g(%a: f32, %b: f32) -> f32 {
  return %a : f32
}
#trait = {fun = @g, args_in = 1, args_out = 1, iterator_types = ["parallel"],
          library_call = "external_copy", indexing_maps = [(i) -> (i), (i) -> (i)]}
func @f(%A: memref<4xf32>, %B: memref<4xf32>) {
  linalg.generic #trait %A, %B : memref<4xf32>, memref<4xf32>
  return
}
//= after(program(handlers={"external_copy": lambda a, b: b.fill(7)}).f, numbers(4), zeros(4)) == 7
// ----- R158 P
func @add(%a: f32, %b: f32, %c: f32) -> f32 {
  %0 = addf %a, %b : f32
  return %0 : f32
}
#trait = {fun = @add, args_in = 2, args_out = 1, iterator_types = ["parallel"],
          indexing_maps = [(i) -> (i), (i) -> (i), (i) -> (i)]}
func @f(%A: tensor<4xf32>, %B: memref<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic #trait %A, %B : tensor<4xf32>, memref<4xf32> -> (tensor<4xf32>)
  return %0 : tensor<4xf32>
}
// ----- R158 V WrongStructure
func @add(%a: f32, %b: f32) -> f32 {
  %0 = addf %a, %b : f32
  return %0 : f32
}
#trait = {fun = @add, args_in = 2, args_out = 1, iterator_types = ["parallel"],
          indexing_maps = [(i) -> (i), (i) -> (i), (i) -> (i)]}
func @f(%A: tensor<4xf32>, %B: memref<4xf32>) {
  §linalg.generic #trait %A, %B : tensor<4xf32>, memref<4xf32>
  return
}
// ----- R158 XA
func @add(%a: f32, %b: f32, %c: f32) -> f32 {
  %0 = addf %a, %b : f32
  return %0 : f32
}
#trait = {fun = @add, args_in = 2, args_out = 1, iterator_types = ["parallel"],
          indexing_maps = [(i) -> (i), (i) -> (i), (i) -> (i)]}
func @f(%A: tensor<4xf32>, %B: memref<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic #trait %A, %B : tensor<4xf32>, memref<4xf32> -> (tensor<4xf32>)
  return %0 : tensor<4xf32>
}
//= f(numbers(4), np.ones(4, "f4")) == numbers(4) + 1
//= "parallel" in loops("f")
// ----- R159 P
func @f(%A: memref<4xi64>) {
  linalg.indexed_generic {args_in = 0, args_out = 1, iterator_types = ["parallel"],
                          indexing_maps = [(i) -> (i)]} %A {
  ^bb0(%i: index, %a: i64):
    %0 = index_cast %i : index to i64
    linalg.yield %0 : i64
  } : memref<4xi64>
  return
}
//> linalg.index 0 : index
// ----- R159 V WrongStructure
func @f(%A: memref<4xi64>) {
  §linalg.indexed_generic {args_in = 0, args_out = 1, iterator_types = ["parallel"],
                          indexing_maps = [(i) -> (i)]} %A {
  ^bb0(%a: i64):
    linalg.yield %a : i64
  } : memref<4xi64>
  return
}
// ----- R159 XA
func @f(%A: memref<2x3xi64>) {
  linalg.indexed_generic {args_in = 0, args_out = 1, iterator_types = ["parallel", "parallel"],
                          indexing_maps = [(i, j) -> (i, j)]} %A {
  ^bb0(%i: index, %j: index, %a: i64):
    %0 = index_cast %i : index to i64
    %1 = index_cast %j : index to i64
    %2 = muli %0, %1 : i64
    %3 = addi %2, %a : i64
    linalg.yield %3 : i64
  } : memref<2x3xi64>
  return
}
//= after(f, np.ones((2, 3), "i8")) == [[1, 1, 1], [1, 2, 3]]
//= loops("f").count("parallel") == 2
// ----- R160 R162 P
func @f(%A: memref<8x9xf32>, %c1: index, %c7: index, %c2: index) {
  %0 = linalg.range %c1:%c7:%c2 : !linalg.range
  %1 = linalg.slice %A[%0, %0] : memref<8x9xf32>, !linalg.range, !linalg.range,
    memref<?x?xf32, offset: ?, strides: [?, ?]>
  %2 = linalg.slice %A[%c1, %0] : memref<8x9xf32>, index, !linalg.range,
    memref<?xf32, offset: ?, strides: [?]>
  %3 = linalg.slice %A[%c1, %c2] : memref<8x9xf32>, index, index, memref<f32, offset: ?, strides: []>
  return
}
// ----- R160 V ValueTypeMismatch
func @f(%c1: index, %x: f32) {
  %0 = linalg.range %c1:%c1:§%x : !linalg.range
  return
}
// ----- R160 P
func private @g(!linalg.range)
func @h(%r: !linalg.range, %A: memref<9xf32>) {
  %0 = linalg.slice %A[%r] : memref<9xf32>, !linalg.range, memref<?xf32, offset: ?, strides: [?]>
  return
}
//~ RangeCrossesFunction
// ----- R162 V WrongStructure
func @f(%A: memref<8x9xf32>, %c1: index) {
  %1 = §linalg.slice %A[%c1] : memref<8x9xf32>, index, memref<?xf32, offset: ?, strides: [?]>
  return
}
// ----- R160 R162 XA
func @f(%A: memref<8xf32>, %B: memref<3xf32>) {
  %c1 = constant 1 : index
  %c2 = constant 2 : index
  %c7 = constant 7 : index
  %0 = linalg.range %c1:%c7:%c2 : !linalg.range
  %1 = linalg.slice %A[%0] : memref<8xf32>, !linalg.range, memref<?xf32, offset: ?, strides: [?]>
  affine.for %i = 0 to 3 {
    %2 = load %1[%i] : memref<?xf32, offset: ?, strides: [?]>
    affine.store %2, %B[%i] : memref<3xf32>
  }
  return
}
//= after(f, numbers(8), zeros(3)) == numbers(8)[1:7:2]
//= loops("f") == "i parallel"
// ----- R162 X
func @f(%a: index, %b: index, %A: memref<6x8xf32>, %B: memref<2x3xf32>) {
  %c0 = constant 0 : index
  %c2 = constant 2 : index
  %0 = linalg.range %a:%b:%c2 : !linalg.range
  %1 = linalg.slice %A[%c2, %0] : memref<6x8xf32>, index, !linalg.range, memref<?xf32, offset: ?, strides: [?]>
  %2 = linalg.slice %A[%a, %c2] : memref<6x8xf32>, index, index, memref<f32, offset: ?, strides: []>
  affine.for %i = 0 to 3 {
    %3 = load %1[%i] : memref<?xf32, offset: ?, strides: [?]>
    affine.store %3, %B[0, %i] : memref<2x3xf32>
    %4 = load %2[] : memref<f32, offset: ?, strides: []>
    affine.store %4, %B[1, %i] : memref<2x3xf32>
  }
  return
}
//= after(f, 1, 6, numbers(6, 8), zeros(2, 3))[0] == numbers(6, 8)[2, 1:6:2]
//= after(f, 1, 6, numbers(6, 8), zeros(2, 3))[1] == numbers(6, 8)[1, 2]
// ----- R161 P
func @f(%A: memref<?x?x4xf32>, %B: memref<?x4xf32>) {
  %0 = linalg.reshape %A [(i, j, k) -> (i, j), (i, j, k) -> (k)] :
    memref<?x?x4xf32> into memref<?x4xf32>
  %1 = linalg.reshape %B [(i, j, k) -> (i, j), (i, j, k) -> (k)] :
    memref<?x4xf32> into memref<?x8x4xf32>
  return
}
//> memref.collapse_shape %A
//> memref.expand_shape %B
// ----- R161 V WrongStructure
func @f(%A: memref<6x4xf32>) {
  %0 = §linalg.reshape %A [(i, j, k) -> (i, j), (i, j, k) -> (k)] :
    memref<6x4xf32> into memref<4x2x4xf32>
  return
}
// ----- R161 V WrongStructure
func @f(%A: memref<6x4xf32>) {
  %0 = §linalg.reshape %A [(i, j, k) -> (i, k), (i, j, k) -> (j)] :
    memref<6x4xf32> into memref<3x4x2xf32>
  return
}
// ----- R161 XA
func @f(%A: memref<2x3x4xf32>, %B: memref<6x4xf32>) {
  %0 = linalg.reshape %A [(i, j, k) -> (i, j), (i, j, k) -> (k)] :
    memref<2x3x4xf32> into memref<6x4xf32>
  affine.for %i = 0 to 6 {
    affine.for %j = 0 to 4 {
      %1 = affine.load %0[%i, %j] : memref<6x4xf32>
      affine.store %1, %B[%i, %j] : memref<6x4xf32>
    }
  }
  return
}
//= after(f, numbers(2, 3, 4), zeros(6, 4)) == numbers(2, 3, 4).reshape(6, 4)
//= loops("f") == "i parallel, j parallel"
// ----- R163 P
func @f(%A: memref<?x?xf32, offset: ?, strides: [?, ?]>) {
  %0 = linalg.transpose %A (i, j) -> (j, i) : memref<?x?xf32, offset: ?, strides: [?, ?]>
  return
}
//> memref.transpose %A (d0, d1) -> (d1, d0)
// ----- R163 V InvalidAffine
func @f(%A: memref<?x?xf32>) {
  %0 = linalg.transpose %A (i, j) -> (j, j) : §memref<?x?xf32>
  return
}
// ----- R163 XA
func.func @f(%A: memref<2x3xf32>, %B: memref<3x2xf32>) {
  %0 = memref.transpose %A (i, j) -> (j, i) : memref<2x3xf32> to memref<3x2xf32, strided<[1, 3]>>
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 2 {
      %1 = affine.load %0[%i, %j] : memref<3x2xf32, strided<[1, 3]>>
      affine.store %1, %B[%i, %j] : memref<3x2xf32>
    }
  }
  return
}
//= after(f, numbers(2, 3), zeros(3, 2)) == numbers(2, 3).T
//= loops("f") == "i parallel, j parallel"
// ----- R164 PX
func.func @f(%A: memref<4xf32>, %B: memref<4xf32>, %C: memref<4xf32>) {
  linalg.generic {iterator_types = ["parallel"], indexing_maps = [
      affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
    ins(%A : memref<4xf32>) outs(%B, %C : memref<4xf32>, memref<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %a : f32
    linalg.yield %a, %0 : f32, f32
  }
  return
}
//= after(f, numbers(4), zeros(4), zeros(4)) == 2 * numbers(4)
// ----- R164 V YieldMismatch
func.func @f(%A: memref<4xf32>, %B: memref<4xf32>) {
  linalg.generic {iterator_types = ["parallel"], indexing_maps = [
      affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
    ins(%A : memref<4xf32>) outs(%B : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    §linalg.yield %a, %a : f32, f32
  }
  return
}
// ----- R165 P
func @f(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %x: memref<?xf32>, %y: memref<?xf32>) {
  linalg.matmul(%A, %B, %A) : memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>
  linalg.matvec(%A, %x, %y) : memref<?x?xf32>, memref<?xf32>, memref<?xf32>
  return
}
//> linalg.matvec ins(%A, %x : memref<?x?xf32>, memref<?xf32>) outs(%y : memref<?xf32>)
// ----- R165 V WrongStructure
func @f(%A: memref<3x4xf32>, %B: memref<5x2xf32>, %C: memref<3x2xf32>) {
  §linalg.matmul(%A, %B, %C) : memref<3x4xf32>, memref<5x2xf32>, memref<3x2xf32>
  return
}
// ----- R165 XA
func @mm(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>) {
  linalg.matmul(%A, %B, %C) : memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>
  return
}
func @mv(%A: memref<?x?xf32>, %x: memref<?xf32>, %y: memref<?xf32>) {
  linalg.matvec(%A, %x, %y) : memref<?x?xf32>, memref<?xf32>, memref<?xf32>
  return
}
//= after(mm, numbers(3, 4), numbers(4, 2), np.ones((3, 2), "f4")) == 1 + numbers(3, 4) @ numbers(4, 2)
//= after(mv, numbers(3, 4), numbers(4), np.ones(3, "f4")) == 1 + numbers(3, 4) @ numbers(4)
//= loops("mv").count("parallel") == 1 and loops("mv").count("reduction") == 1
// ----- R166 P
func @f(%A: memref<?xf32>) {
  %c0 = constant 0 : index
  %c1 = constant 1 : index
  %0 = linalg.dim %A, 0 : memref<?xf32>
  loop.for %i = %c0 to %0 step %c1 {
    %1 = linalg.load %A[%i] : memref<?xf32>
    linalg.store %1, %A[%i] : memref<?xf32>
  }
  return
}
//> scf.for %i = %c0 to %0 step %c1 {
// ----- R166 V WrongRank
func @f(%A: memref<?xf32>, %i: index) {
  %1 = §linalg.load %A[%i, %i] : memref<?xf32>
  return
}
// ----- R166 XA
func @f(%A: memref<?xf32>, %B: memref<?xf32>) {
  %c0 = constant 0 : index
  %c1 = constant 1 : index
  %0 = linalg.dim %A, 0 : memref<?xf32>
  loop.for %i = %c0 to %0 step %c1 {
    %1 = linalg.load %A[%i] : memref<?xf32>
    linalg.store %1, %B[%i] : memref<?xf32>
  }
  return
}
//= after(f, numbers(4), zeros(4)) == numbers(4)
//= loops("f") == "i parallel"
// ----- R168 P
func @g(%i: index, %j: index, %a: f32, %b: f32) -> f32 {
  "some_optional_condition"(%i, %j) : (index, index) -> ()
  %0 = addf %a, %b : f32
  return %0 : f32
}
#trait = {fun = @g, args_in = 1, args_out = 1, iterator_types = ["parallel", "parallel"],
          indexing_maps = [(i, j) -> (i, j), (i, j) -> (j, i)]}
func @f(%A: memref<?x?xf32>, %B: memref<?x?xf32>) {
  linalg.indexed_generic #trait %A, %B : memref<?x?xf32>, memref<?x?xf32>
  return
}
//> "some_optional_condition"(
// ----- R167 V CallMismatch
func @fma(%a: f32, %b: f32) -> f32 {
  return %b: f32
}
#matmul_trait = {
  fun = @fma,
  indexing_maps = [(m, n, k) -> (m, k), (m, n, k) -> (k, n), (m, n, k) -> (m, n)],
  n_views = [2, 1],
  iterator_types = ["parallel", "parallel", "reduction"]
}
func @f(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>) {
  §linalg.generic #matmul_trait %A, %B, %C :
    memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>
  return
}
// ----- R168 V
func @g(%i: index, %a: f32, %b: f32) -> f32 {
  "some_optional_condition"(%i) : (index) -> ()
  return %a : f32
}
#trait = {fun = @g, args_in = 1, args_out = 1, iterator_types = ["parallel"],
          indexing_maps = [(i) -> (i), (i) -> (i)]}
func @f(%A: memref<4xf32>, %B: memref<4xf32>) {
  linalg.indexed_generic #trait %A, %B : memref<4xf32>, memref<4xf32>
  return
}
//= fails("UnregisteredOperation", f, zeros(4), zeros(4))
// ----- R168 X
func @g(%i: index, %a: f32, %b: f32) -> f32 {
  "some_optional_condition"(%i) : (index) -> ()
  return %a : f32
}
#trait = {fun = @g, args_in = 1, args_out = 1, iterator_types = ["parallel"],
          indexing_maps = [(i) -> (i), (i) -> (i)]}
func @f(%A: memref<4xf32>, %B: memref<4xf32>) {
  linalg.indexed_generic #trait %A, %B : memref<4xf32>, memref<4xf32>
  return
}
//= after(program(handlers={"some_optional_condition": lambda i: None}).f, numbers(4), zeros(4)) == numbers(4)
// ----- R168 A
func @g(%i: index, %a: f32, %b: f32) -> f32 {
  "some_optional_condition"(%i) : (index) -> ()
  return %a : f32
}
#trait = {fun = @g, args_in = 1, args_out = 1, iterator_types = ["parallel"],
          indexing_maps = [(i) -> (i), (i) -> (i)]}
func @f(%A: memref<4xf32>, %B: memref<4xf32>) {
  linalg.indexed_generic #trait %A, %B : memref<4xf32>, memref<4xf32>
  return
}
//= "parallel" not in loops("f")
