// The host side: allocation, loops around kernels, calls, scalars, globals, results.
memref.global "private" constant @weights : memref<3xf32> = dense<[0.25, 0.5, 0.25]>
func.func private @smooth_k0(%x: memref<?xf32>, %w: memref<3xf32>, %y: memref<?xf32>) attributes {gcg.kernel = "cpu"} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  affine.parallel (%i) = (1) to (symbol(%n) - 1) {
    %zero = arith.constant 0.0 : f32
    %s = affine.for %k = 0 to 3 iter_args(%acc = %zero) -> (f32) {
      %a = affine.load %x[%i + %k - 1] : memref<?xf32>
      %b = affine.load %w[%k] : memref<3xf32>
      %p = arith.mulf %a, %b : f32
      %t = arith.addf %acc, %p : f32
      affine.yield %t : f32
    }
    affine.store %s, %y[%i] : memref<?xf32>
  }
  return
}
func.func private @scale(%f: f32, %n: i32) -> (f32, i32) {
  %three = arith.constant 3 : i32
  %m = arith.muli %n, %three : i32
  %g = arith.divf %f, %f : f32
  return %g, %m : f32, i32
}
func.func @smooth(%x: memref<?xf32>, %steps: index, %f: f32) -> (memref<?xf32>, f32, i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %w = memref.get_global @weights : memref<3xf32>
  %a = memref.alloc(%n) : memref<?xf32>
  %b = memref.alloc(%n) : memref<?xf32>
  memref.copy %x, %a : memref<?xf32> to memref<?xf32>
  memref.copy %x, %b : memref<?xf32> to memref<?xf32>
  %r:2 = scf.for %t = %c0 to %steps step %c1 iter_args(%from = %a, %to = %b) -> (memref<?xf32>, memref<?xf32>) {
    func.call @smooth_k0(%from, %w, %to) : (memref<?xf32>, memref<3xf32>, memref<?xf32>) -> ()
    scf.yield %to, %from : memref<?xf32>, memref<?xf32>
  }
  %i = arith.index_cast %steps : index to i32
  %g:2 = func.call @scale(%f, %i) : (f32, i32) -> (f32, i32)
  %first = memref.load %r#0[%c0] : memref<?xf32>
  %big = arith.cmpf ogt, %first, %f : f32
  %h = scf.if %big -> (f32) {
    scf.yield %first : f32
  } else {
    scf.yield %g#0 : f32
  }
  memref.dealloc %r#1 : memref<?xf32>
  return %r#0, %h, %g#1 : memref<?xf32>, f32, i32
}
