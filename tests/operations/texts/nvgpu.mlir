// ----- nvgpu.device_async_copy nvgpu.device_async_create_group nvgpu.device_async_wait
(%a: memref<128xf32>, %b: memref<128xf32>)
%one = arith.constant 1 : index
%four = arith.constant 4 : index
%n = arith.constant 32 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) workgroup(%s : memref<128xf32, 3>) {
  %i = arith.muli %tx, %four : index
  %c = nvgpu.device_async_copy %a[%i], %s[%i], 4 : memref<128xf32> to memref<128xf32, 3>
  %g = nvgpu.device_async_create_group %c
  nvgpu.device_async_wait %g
  gpu.barrier
  %x = memref.load %s[%tx] : memref<128xf32, 3>
  memref.store %x, %b[%tx] : memref<128xf32>
  gpu.terminator
}

// ----- nvgpu.ldmatrix
(%a: memref<16x16xf16>, %b: memref<16x16xf16>, %c: memref<32x4xf16>)
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%n = arith.constant 32 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) workgroup(%s : memref<16x16xf16, 3>) {
  %two = arith.constant 2 : index
  %eight = arith.constant 8 : index
  %sixteen = arith.constant 16 : index
  %row = arith.divui %tx, %two : index
  %half = arith.remui %tx, %two : index
  %first = arith.muli %half, %eight : index
  scf.for %j = %zero to %eight step %one {
    %col = arith.addi %first, %j : index
    %x = memref.load %a[%row, %col] : memref<16x16xf16>
    memref.store %x, %s[%row, %col] : memref<16x16xf16, 3>
  }
  gpu.barrier
  %r = arith.remui %tx, %sixteen : index
  %q = arith.divui %tx, %sixteen : index
  %k = arith.muli %q, %eight : index
  %v = nvgpu.ldmatrix %s[%r, %k] {numTiles = 4 : i32, transpose = false} : memref<16x16xf16, 3> -> vector<4x2xf16>
  %e = vector.extract %v[0, 0] : f16 from vector<4x2xf16>
  %h = vector.extract %v[3, 1] : f16 from vector<4x2xf16>
  memref.store %e, %c[%tx, %zero] : memref<32x4xf16>
  memref.store %h, %c[%tx, %one] : memref<32x4xf16>
  gpu.terminator
}

// ----- nvgpu.mma.sync
(%a: memref<16x16xf16>, %b: memref<16x16xf16>, %c: memref<32x4xf32>)
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%n = arith.constant 32 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) workgroup(%s : memref<16x16xf16, 3>) {
  %x = arith.constant dense<0.5> : vector<4x2xf16>
  %y = arith.constant dense<2.0> : vector<2x2xf16>
  %z = arith.constant dense<1.0> : vector<2x2xf32>
  %d = nvgpu.mma.sync(%x, %y, %z) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %e = vector.extract %d[1, 0] : f32 from vector<2x2xf32>
  memref.store %e, %c[%tx, %zero] : memref<32x4xf32>
  gpu.terminator
}

// ----- nvgpu.mma.sp.sync
(%a: memref<16x16xf16>, %b: memref<16x16xf16>, %c: memref<32x4xf16>)
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%n = arith.constant 32 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) workgroup(%s : memref<16x16xf16, 3>) {
  %x = arith.constant dense<0.5> : vector<4x2xf16>
  %y = arith.constant dense<2.0> : vector<4x2xf16>
  %z = arith.constant dense<1.0> : vector<2x2xf16>
  %meta = arith.constant dense<0> : vector<2xi16>
  %d = nvgpu.mma.sp.sync(%x, %y, %z) metadata(%meta) {mmaShape = [16, 8, 32]} : (vector<4x2xf16>, vector<4x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
  %e = vector.extract %d[1, 0] : f16 from vector<2x2xf16>
  memref.store %e, %c[%tx, %zero] : memref<32x4xf16>
  gpu.terminator
}

// ----- nvgpu.mbarrier.create nvgpu.mbarrier.init nvgpu.mbarrier.get nvgpu.mbarrier.arrive nvgpu.mbarrier.arrive.nocomplete nvgpu.mbarrier.arrive.expect_tx nvgpu.mbarrier.test.wait nvgpu.mbarrier.try_wait.parity nvgpu.tma.create.descriptor nvgpu.tma.fence.descriptor nvgpu.tma.prefetch.descriptor nvgpu.tma.async.load nvgpu.tma.async.store nvgpu.warpgroup.generate.descriptor nvgpu.warpgroup.mma.init.accumulator nvgpu.warpgroup.mma nvgpu.warpgroup.mma.store
func.func @f(%x: f32) {
  %zero = arith.constant 0 : index
  %n = arith.constant 64 : index
  %p = arith.constant true
  %b = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
  nvgpu.mbarrier.init %b[%zero], %n : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
  %i = nvgpu.mbarrier.get %b[%zero] : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i64
  %t = nvgpu.mbarrier.arrive %b[%zero] : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> !nvgpu.mbarrier.token
  %t2 = nvgpu.mbarrier.arrive.nocomplete %b[%zero], %n : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> !nvgpu.mbarrier.token
  nvgpu.mbarrier.arrive.expect_tx %b[%zero], %n : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
  %done = nvgpu.mbarrier.test.wait %b[%zero], %t : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>, !nvgpu.mbarrier.token
  nvgpu.mbarrier.try_wait.parity %b[%zero], %p, %n : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
  %g = memref.alloc() : memref<128x64xf16>
  %u = memref.cast %g : memref<128x64xf16> to memref<*xf16>
  %m = nvgpu.tma.create.descriptor %u box[%n, %n] : memref<*xf16> -> !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
  nvgpu.tma.fence.descriptor %m : !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
  nvgpu.tma.prefetch.descriptor %m : !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
  %d = memref.alloc() : memref<128x64xf16, 3>
  nvgpu.tma.async.load %m[%zero, %zero], %b[%zero] to %d : !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> memref<128x64xf16, 3>
  nvgpu.tma.async.store %d to %m[%zero, %zero] : memref<128x64xf16, 3> -> !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
  %w = nvgpu.warpgroup.generate.descriptor %d, %m : memref<128x64xf16, 3>, !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none> -> !nvgpu.warpgroup.descriptor<tensor=memref<128x64xf16, 3>>
  %h = nvgpu.warpgroup.mma.init.accumulator -> !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>
  %k = nvgpu.warpgroup.mma %w, %w, %h transposeB : !nvgpu.warpgroup.descriptor<tensor=memref<128x64xf16, 3>>, !nvgpu.warpgroup.descriptor<tensor=memref<128x64xf16, 3>>, !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>> -> !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>
  %o = memref.alloc() : memref<128x128xf32, 3>
  nvgpu.warpgroup.mma.store %k, %o : !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>> to memref<128x128xf32, 3>
  return
}
