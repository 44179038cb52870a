// ----- memref.alloc memref.alloca memref.load memref.store
(%a: memref<4xf32>)
%m = memref.alloca() : memref<4xf32>
%h = memref.alloc() : memref<4xf32>
affine.for %i = 0 to 4 {
  %x = memref.load %a[%i] : memref<4xf32>
  memref.store %x, %m[%i] : memref<4xf32>
  memref.store %x, %h[%i] : memref<4xf32>
}
affine.for %i = 0 to 4 {
  %x = memref.load %m[%i] : memref<4xf32>
  %y = memref.load %h[%i] : memref<4xf32>
  %z = arith.addf %x, %y : f32
  memref.store %z, %a[%i] : memref<4xf32>
}

// ----- memref.dealloc memref.copy
(%a: memref<4xf32>, %b: memref<4xf32>)
%m = memref.alloc() : memref<4xf32>
memref.copy %a, %m : memref<4xf32> to memref<4xf32>
memref.copy %m, %b : memref<4xf32> to memref<4xf32>
memref.dealloc %m : memref<4xf32>

// ----- memref.realloc
(%a: memref<4xf32>)
%i = arith.constant 3 : index
%x = memref.load %a[%i] : memref<4xf32>
%m = memref.alloc() : memref<4xf32>
memref.store %x, %m[%i] : memref<4xf32>
%n = memref.realloc %m : memref<4xf32> to memref<8xf32>
%y = memref.load %n[%i] : memref<8xf32>
%z = arith.addf %y, %y : f32
memref.store %z, %a[%i] : memref<4xf32>
memref.dealloc %n : memref<8xf32>

// ----- memref.alloca_scope memref.alloca_scope.return
(%x: f32) -> f32
%r = memref.alloca_scope -> (f32) {
  %m = memref.alloca() : memref<f32>
  memref.store %x, %m[] : memref<f32>
  %y = memref.load %m[] : memref<f32>
  memref.alloca_scope.return %y : f32
}

// ----- memref.cast
(%a: memref<4xf32>, %b: memref<4xf32>)
%m = memref.cast %a : memref<4xf32> to memref<?xf32>
affine.for %i = 0 to 4 {
  %x = affine.load %m[%i] : memref<?xf32>
  affine.store %x, %b[%i] : memref<4xf32>
}

// ----- memref.dim
(%a: memref<?xf32>, %n: index) -> index
%zero = arith.constant 0 : index
%r = memref.dim %a, %zero : memref<?xf32>

// ----- memref.rank
(%a: memref<?x?xf32>) -> index
%r = memref.rank %a : memref<?x?xf32>

// ----- memref.subview
(%a: memref<4x4xf32>, %b: memref<2x2xf32>)
%m = memref.subview %a[1, 0] [2, 2] [1, 2] : memref<4x4xf32> to memref<2x2xf32, strided<[4, 2], offset: 4>>
memref.copy %m, %b : memref<2x2xf32, strided<[4, 2], offset: 4>> to memref<2x2xf32>

// ----- memref.reinterpret_cast
(%a: memref<4x4xf32>, %b: memref<2x2xf32>)
%m = memref.reinterpret_cast %a to offset: [5], sizes: [2, 2], strides: [4, 1] : memref<4x4xf32> to memref<2x2xf32, strided<[4, 1], offset: 5>>
memref.copy %m, %b : memref<2x2xf32, strided<[4, 1], offset: 5>> to memref<2x2xf32>

// ----- memref.expand_shape
(%a: memref<4xf32>, %b: memref<2x2xf32>)
%m = memref.expand_shape %a [[0, 1]] output_shape [2, 2] : memref<4xf32> into memref<2x2xf32>
memref.copy %m, %b : memref<2x2xf32> to memref<2x2xf32>

// ----- memref.collapse_shape
(%a: memref<2x2xf32>, %b: memref<4xf32>)
%m = memref.collapse_shape %a [[0, 1]] : memref<2x2xf32> into memref<4xf32>
memref.copy %m, %b : memref<4xf32> to memref<4xf32>

// ----- memref.reshape
(%a: memref<4xf32>, %b: memref<2x2xf32>)
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%two = arith.constant 2 : index
%s = memref.alloca() : memref<2xindex>
memref.store %two, %s[%zero] : memref<2xindex>
memref.store %two, %s[%one] : memref<2xindex>
%m = memref.reshape %a(%s) : (memref<4xf32>, memref<2xindex>) -> memref<2x2xf32>
memref.copy %m, %b : memref<2x2xf32> to memref<2x2xf32>

// ----- memref.view
(%b: memref<4xf32>)
%four = arith.constant 4 : index
%bytes = memref.alloc() : memref<32xi8>
%m = memref.view %bytes[%four][] : memref<32xi8> to memref<4xf32>
memref.copy %b, %m : memref<4xf32> to memref<4xf32>
affine.for %i = 0 to 4 {
  %x = affine.load %m[%i] : memref<4xf32>
  %y = arith.addf %x, %x : f32
  affine.store %y, %b[%i] : memref<4xf32>
}

// ----- memref.transpose
(%a: memref<2x3xf32>, %b: memref<3x2xf32>)
%m = memref.transpose %a (i, j) -> (j, i) : memref<2x3xf32> to memref<3x2xf32, strided<[1, 3]>>
memref.copy %m, %b : memref<3x2xf32, strided<[1, 3]>> to memref<3x2xf32>

// ----- memref.assume_alignment
(%a: memref<4xf32>, %b: memref<4xf32>)
%m = memref.assume_alignment %a, 4 : memref<4xf32>
memref.copy %m, %b : memref<4xf32> to memref<4xf32>

// ----- memref.distinct_objects
(%a: memref<4xf32>, %b: memref<4xf32>)
%m, %n = memref.distinct_objects %a, %b : memref<4xf32>, memref<4xf32>
memref.copy %m, %n : memref<4xf32> to memref<4xf32>

// ----- memref.memory_space_cast
(%a: memref<4xf32>, %b: memref<4xf32>)
%m = memref.memory_space_cast %a : memref<4xf32> to memref<4xf32, 1>
affine.for %i = 0 to 4 {
  %x = affine.load %m[%i] : memref<4xf32, 1>
  affine.store %x, %b[%i] : memref<4xf32>
}

// ----- memref.extract_strided_metadata
(%a: memref<4x3xf32>) -> index
%m, %o, %n:2, %s:2 = memref.extract_strided_metadata %a : memref<4x3xf32> -> memref<f32>, index, index, index, index, index
%r = arith.addi %n#0, %s#0 : index

// ----- memref.extract_aligned_pointer_as_index
(%a: memref<4xf32>) -> index
%p = memref.extract_aligned_pointer_as_index %a : memref<4xf32> -> index
%four = arith.constant 4 : index
%r = arith.remui %p, %four : index

// ----- memref.global memref.get_global
memref.global "private" constant @g : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
func.func @f(%b: memref<4xf32>) {
  %m = memref.get_global @g : memref<4xf32>
  memref.copy %m, %b : memref<4xf32> to memref<4xf32>
  return
}

// ----- memref.atomic_rmw
(%a: memref<4xf32>, %s: memref<1xf32>)
%zero = arith.constant 0 : index
affine.parallel (%i) = (0) to (4) {
  %x = affine.load %a[%i] : memref<4xf32>
  %y = memref.atomic_rmw addf %x, %s[%zero] : (f32, memref<1xf32>) -> f32
}

// ----- memref.generic_atomic_rmw memref.atomic_yield
(%s: memref<4xi32>)
%two = arith.constant 2 : i32
affine.for %i = 0 to 4 {
  %y = memref.generic_atomic_rmw %s[%i] : memref<4xi32> {
  ^bb0(%now: i32):
    %z = arith.muli %now, %two : i32
    memref.atomic_yield %z : i32
  }
}

// ----- memref.prefetch
(%a: memref<4xf32>)
affine.for %i = 0 to 4 {
  memref.prefetch %a[%i], read, locality<3>, data : memref<4xf32>
  %x = memref.load %a[%i] : memref<4xf32>
  %y = arith.addf %x, %x : f32
  memref.store %y, %a[%i] : memref<4xf32>
}

// ----- memref.dma_start memref.dma_wait
(%a: memref<8xf32>, %b: memref<8xf32>)
%zero = arith.constant 0 : index
%n = arith.constant 8 : index
%tag = memref.alloc() : memref<1xi32>
memref.dma_start %a[%zero], %b[%zero], %n, %tag[%zero] : memref<8xf32>, memref<8xf32>, memref<1xi32>
memref.dma_wait %tag[%zero], %n : memref<1xi32>
memref.dealloc %tag : memref<1xi32>
