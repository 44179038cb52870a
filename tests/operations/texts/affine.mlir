// ----- affine.for affine.load affine.store
(%a: memref<4xf32>, %b: memref<4xf32>)
affine.for %i = 0 to 4 {
  %x = affine.load %a[%i] : memref<4xf32>
  affine.store %x, %b[%i] : memref<4xf32>
}

// ----- affine.if affine.yield
(%a: memref<4xf32>)
%s = arith.constant 2.0 : f32
affine.for %i = 0 to 4 {
  %x = affine.load %a[%i] : memref<4xf32>
  %y = affine.if affine_set<(d0) : (d0 - 2 >= 0)>(%i) -> f32 {
    affine.yield %s : f32
  } else {
    affine.yield %x : f32
  }
  affine.store %y, %a[%i] : memref<4xf32>
}

// ----- affine.parallel
(%a: memref<4x3xf32>)
%s = arith.constant 2.0 : f32
affine.parallel (%i, %j) = (0, 0) to (4, 3) {
  affine.store %s, %a[%i, %j] : memref<4x3xf32>
}

// ----- affine.apply affine.min affine.max
(%a: memref<4xindex>)
affine.for %i = 0 to 4 {
  %x = $op affine_map<(d0) -> (d0 * 2 - 3)>(%i)
  affine.store %x, %a[%i] : memref<4xindex>
}

// ----- affine.delinearize_index
(%a: memref<12xindex>)
affine.for %i = 0 to 12 {
  %x:2 = affine.delinearize_index %i into (4, 3) : index, index
  affine.store %x#1, %a[%i] : memref<12xindex>
}

// ----- affine.linearize_index
(%a: memref<4x3xindex>)
affine.for %i = 0 to 4 {
  affine.for %j = 0 to 3 {
    %x = affine.linearize_index [%i, %j] by (4, 3) : index
    affine.store %x, %a[%i, %j] : memref<4x3xindex>
  }
}

// ----- affine.vector_load affine.vector_store
(%a: memref<8xf32>, %b: memref<8xf32>)
affine.for %i = 0 to 8 step 4 {
  %x = affine.vector_load %a[%i] : memref<8xf32>, vector<4xf32>
  affine.vector_store %x, %b[%i] : memref<8xf32>, vector<4xf32>
}

// ----- affine.prefetch
(%a: memref<8xf32>)
affine.for %i = 0 to 8 {
  affine.prefetch %a[%i], read, locality<3>, data : memref<8xf32>
  %x = affine.load %a[%i] : memref<8xf32>
  %y = arith.addf %x, %x : f32
  affine.store %y, %a[%i] : memref<8xf32>
}

// ----- affine.dma_start affine.dma_wait
(%a: memref<8xf32>, %b: memref<8xf32>)
%zero = arith.constant 0 : index
%n = arith.constant 8 : index
%tag = memref.alloc() : memref<1xi32>
affine.dma_start %a[%zero], %b[%zero], %tag[%zero], %n : memref<8xf32>, memref<8xf32>, memref<1xi32>
affine.dma_wait %tag[%zero], %n : memref<1xi32>
memref.dealloc %tag : memref<1xi32>
