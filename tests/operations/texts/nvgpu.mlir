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

// ----- nvgpu.mbarrier.create nvgpu.mbarrier.init nvgpu.mbarrier.get nvgpu.mbarrier.arrive nvgpu.mbarrier.arrive.nocomplete nvgpu.mbarrier.arrive.expect_tx nvgpu.mbarrier.test.wait nvgpu.mbarrier.try_wait.parity
(%a: memref<32xf32>, %b: memref<32xf32>)
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%n = arith.constant 32 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) workgroup(%s : memref<32xf32, 3>) {
  %two = arith.constant 2 : index
  %more = arith.constant 33 : index
  %ticks = arith.constant 1000 : index
  %even = arith.constant false
  %first = arith.cmpi eq, %tx, %zero : index
  %g = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  nvgpu.mbarrier.init %g[%zero], %n, predicate = %first : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  nvgpu.mbarrier.init %g[%one], %more, predicate = %first : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  nvgpu.mbarrier.init %g[%two], %one, predicate = %first : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  %place = nvgpu.mbarrier.get %g[%zero] : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3> -> i64
  gpu.barrier
  %x = memref.load %a[%tx] : memref<32xf32>
  memref.store %x, %s[%tx] : memref<32xf32, 3>
  %t = nvgpu.mbarrier.arrive %g[%zero] : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3> -> !nvgpu.mbarrier.token
  %over = nvgpu.mbarrier.test.wait %g[%zero], %t : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>, !nvgpu.mbarrier.token
  nvgpu.mbarrier.try_wait.parity %g[%zero], %even, %ticks : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  %m = nvgpu.mbarrier.arrive.nocomplete %g[%one], %one : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3> -> !nvgpu.mbarrier.token
  nvgpu.mbarrier.arrive.expect_tx %g[%two], %zero, predicate = %first : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  nvgpu.mbarrier.try_wait.parity %g[%two], %even, %ticks : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  %last = arith.constant 31 : index
  %other = arith.subi %last, %tx : index
  %y = memref.load %s[%other] : memref<32xf32, 3>
  memref.store %y, %b[%tx] : memref<32xf32>
  gpu.terminator
}

// ----- nvgpu.tma.create.descriptor nvgpu.tma.fence.descriptor nvgpu.tma.prefetch.descriptor nvgpu.tma.async.load nvgpu.tma.async.store
(%a: memref<16x64xf16>, %b: memref<16x64xf16>)
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%eight = arith.constant 8 : index
%width = arith.constant 64 : index
%ua = memref.cast %a : memref<16x64xf16> to memref<*xf16>
%ub = memref.cast %b : memref<16x64xf16> to memref<*xf16>
%ma = nvgpu.tma.create.descriptor %ua box[%eight, %width] : memref<*xf16> -> !nvgpu.tensormap.descriptor<tensor = memref<8x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
%mb = nvgpu.tma.create.descriptor %ub box[%eight, %width] : memref<*xf16> -> !nvgpu.tensormap.descriptor<tensor = memref<8x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) workgroup(%s : memref<8x64xf16, 3>) {
  %bytes = arith.constant 1024 : index
  %ticks = arith.constant 1000 : index
  %even = arith.constant false
  %first = arith.cmpi eq, %tx, %zero : index
  %g = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
  nvgpu.mbarrier.init %g[%zero], %one, predicate = %first : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
  nvgpu.tma.fence.descriptor %ma : !nvgpu.tensormap.descriptor<tensor = memref<8x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
  nvgpu.tma.prefetch.descriptor %ma, predicate = %first : !nvgpu.tensormap.descriptor<tensor = memref<8x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
  gpu.barrier
  scf.if %first {
    nvgpu.mbarrier.arrive.expect_tx %g[%zero], %bytes : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.tma.async.load %ma[%zero, %eight], %g[%zero] to %s : !nvgpu.tensormap.descriptor<tensor = memref<8x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> memref<8x64xf16, 3>
    nvgpu.mbarrier.try_wait.parity %g[%zero], %even, %ticks : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.tma.async.store %s to %mb[%zero, %zero] : memref<8x64xf16, 3> -> !nvgpu.tensormap.descriptor<tensor = memref<8x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0
  }
  gpu.terminator
}

// ----- nvgpu.warpgroup.generate.descriptor nvgpu.warpgroup.mma.init.accumulator nvgpu.warpgroup.mma nvgpu.warpgroup.mma.store
(%a: memref<64x32xf16>, %b: memref<32x64xf16>, %c: memref<64x64xf32>)
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%n = arith.constant 128 : index
%depth = arith.constant 32 : index
%width = arith.constant 64 : index
%ua = memref.cast %a : memref<64x32xf16> to memref<*xf16>
%ub = memref.cast %b : memref<32x64xf16> to memref<*xf16>
%ma = nvgpu.tma.create.descriptor %ua box[%width, %depth] : memref<*xf16> -> !nvgpu.tensormap.descriptor<tensor = memref<64x32xf16, 3>, swizzle = swizzle_64b, l2promo = none, oob = zero, interleave = none>
%mb = nvgpu.tma.create.descriptor %ub box[%depth, %width] : memref<*xf16> -> !nvgpu.tensormap.descriptor<tensor = memref<32x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) workgroup(%sa : memref<64x32xf16, 3>, %sb : memref<32x64xf16, 3>) {
  %bytes = arith.constant 8192 : index
  %ticks = arith.constant 1000 : index
  %even = arith.constant false
  %first = arith.cmpi eq, %tx, %zero : index
  %g = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
  nvgpu.mbarrier.init %g[%zero], %one, predicate = %first : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
  gpu.barrier
  scf.if %first {
    nvgpu.mbarrier.arrive.expect_tx %g[%zero], %bytes : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.tma.async.load %ma[%zero, %zero], %g[%zero] to %sa : !nvgpu.tensormap.descriptor<tensor = memref<64x32xf16, 3>, swizzle = swizzle_64b, l2promo = none, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> memref<64x32xf16, 3>
    nvgpu.tma.async.load %mb[%zero, %zero], %g[%zero] to %sb : !nvgpu.tensormap.descriptor<tensor = memref<32x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> memref<32x64xf16, 3>
  }
  nvgpu.mbarrier.try_wait.parity %g[%zero], %even, %ticks : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
  %x = nvgpu.warpgroup.generate.descriptor %sa, %ma : memref<64x32xf16, 3>, !nvgpu.tensormap.descriptor<tensor = memref<64x32xf16, 3>, swizzle = swizzle_64b, l2promo = none, oob = zero, interleave = none> -> !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf16, 3>>
  %y = nvgpu.warpgroup.generate.descriptor %sb, %mb : memref<32x64xf16, 3>, !nvgpu.tensormap.descriptor<tensor = memref<32x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none> -> !nvgpu.warpgroup.descriptor<tensor = memref<32x64xf16, 3>>
  %z = nvgpu.warpgroup.mma.init.accumulator -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
  %d = nvgpu.warpgroup.mma %x, %y, %z transposeB : !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf16, 3>>, !nvgpu.warpgroup.descriptor<tensor = memref<32x64xf16, 3>>, !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>> -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
  nvgpu.warpgroup.mma.store %d, %c : !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>> to memref<64x64xf32>
  gpu.terminator
}
