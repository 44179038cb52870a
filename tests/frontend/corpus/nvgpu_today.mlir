// Operations of nvgpu as MLIR writes them late in 2026.
func.func @mbarrier_group(%b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>, %n: index) {
  %0 = nvgpu.mbarrier.get %b[%n] : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4> -> i64
  return
}

func.func @mbarrier_group_2(%b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>, %n: index) {
  %0 = nvgpu.mbarrier.get %b[%n] {a} : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4> -> i32
  return
}

func.func @ldmatrix(%m: memref<?x?xf16, 3>, %n: index) {
  %0 = nvgpu.ldmatrix %m[%n, %n] numTiles = 4 transpose = false : memref<?x?xf16, 3> -> vector<4x2xf16>
  return
}

func.func @ldmatrix_2(%m: memref<?x?xf16, 3>, %n: index) {
  %0 = nvgpu.ldmatrix %m[%n, %n] numTiles = 4 transpose = false : memref<?x?xf16, 3> -> vector<4x2xf16>
  return
}

func.func @mma_sync(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) {
  %r = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return
}

func.func @mma_sync_2(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) {
  %r = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return
}

func.func @mma_sync_3(%a: vector<2x1xf32>, %b: vector<1x1xf32>, %c: vector<2x2xf32>) {
  %r = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 4] tf32Enabled : (vector<2x1xf32>, vector<1x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
  return
}

func.func @mma_sp_sync(%a: vector<4x2xf16>, %b: vector<4x2xf16>, %c: vector<2x2xf16>, %m: vector<2xi16>) {
  %r = nvgpu.mma.sp.sync(%a, %b, %c) metadata(%m) mmaShape = [16, 8, 32] sparsitySelector = 1 : (vector<4x2xf16>, vector<4x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
  return
}

func.func @device_async_copy(%s: memref<16xf32>, %d: memref<16xf32, 3>, %n: index) {
  %0 = nvgpu.device_async_copy %s[%n], %d[%n], 4 bypassL1 : memref<16xf32> to memref<16xf32, 3>
  nvgpu.device_async_wait %0 numGroups = 1
  return
}

func.func @warpgroup_descriptor(%d: !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, 3>>, %e: !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>, %a: !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>) {
  %r = nvgpu.warpgroup.mma %d, %e, %a waitGroup = 2 transposeB : !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, 3>>, !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>, !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>> -> !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>
  return
}

func.func @warpgroup_descriptor_2(%d: !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, 3>>, %e: !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>, %a: !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>) {
  %r = nvgpu.warpgroup.mma %d, %e, %a waitGroup = 1 : !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, 3>>, !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>, !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>> -> !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>
  return
}

func.func @poison() {
  %0 = ub.poison : i32
  return
}

func.func @poison_2() {
  %0 = ub.poison : i32
  return
}

func.func @poison_3() {
  %0 = ub.poison : i32
  return
}

func.func @poison_4() {
  %0 = ub.poison {a} : vector<4xf32>
  return
}

func.func @unreachable() {
  cf.br ^bb1
^bb1:
  ub.unreachable
^bb2:
  return
}

func.func @mbarrier_create(%n: index, %p: i1) {
  %b = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
  return
}

func.func @mbarrier_group_3(%b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>, %n: index, %p: i1) {
  nvgpu.mbarrier.init %b[%n], %n : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
  nvgpu.mbarrier.init %b[%n], %n, predicate = %p {a} : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
  return
}

func.func @mbarrier_group_4(%b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>, %n: index, %p: i1) {
  %t = nvgpu.mbarrier.arrive %b[%n] : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4> -> !nvgpu.mbarrier.token
  %c = nvgpu.mbarrier.test.wait %b[%n], %t : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>, !nvgpu.mbarrier.token
  %t2 = nvgpu.mbarrier.arrive.nocomplete %b[%n], %n : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4> -> !nvgpu.mbarrier.token
  nvgpu.mbarrier.arrive.expect_tx %b[%n], %n : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
  nvgpu.mbarrier.arrive.expect_tx %b[%n], %n, predicate = %p : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
  nvgpu.mbarrier.try_wait.parity %b[%n], %p, %n : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
  return
}

func.func @tensormap_descriptor(%m: !nvgpu.tensormap.descriptor<tensor = memref<32x32xf32,3>, swizzle=none, l2promo = none, oob = zero, interleave = none>, %p: i1) {
  nvgpu.tma.fence.descriptor %m : !nvgpu.tensormap.descriptor<tensor = memref<32x32xf32,3>, swizzle=none, l2promo = none, oob = zero, interleave = none>
  nvgpu.tma.prefetch.descriptor %m, predicate = %p : !nvgpu.tensormap.descriptor<tensor = memref<32x32xf32,3>, swizzle=none, l2promo = none, oob = zero, interleave = none>
  nvgpu.tma.prefetch.descriptor %m : !nvgpu.tensormap.descriptor<tensor = memref<32x32xf32,3>, swizzle=none, l2promo = none, oob = zero, interleave = none>
  return
}

func.func @tensormap_descriptor_2(%m: !nvgpu.tensormap.descriptor<tensor = memref<32x32xf32,3>, swizzle=none, l2promo = none, oob = zero, interleave = none>, %p: i1, %n: index, %b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>, %d: memref<32x32xf32, 3>, %k: i16) {
  nvgpu.tma.async.load %m[%n, %n], %b[%n] to %d : !nvgpu.tensormap.descriptor<tensor = memref<32x32xf32,3>, swizzle=none, l2promo = none, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> memref<32x32xf32, 3>
  nvgpu.tma.async.load %m[%n, %n], %b[%n] to %d multicast_mask = %k, predicate = %p : !nvgpu.tensormap.descriptor<tensor = memref<32x32xf32,3>, swizzle=none, l2promo = none, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> memref<32x32xf32, 3>
  nvgpu.tma.async.store %d to %m[%n, %n], predicate = %p : memref<32x32xf32, 3> -> !nvgpu.tensormap.descriptor<tensor = memref<32x32xf32,3>, swizzle=none, l2promo = none, oob = zero, interleave = none>
  return
}

func.func @tma_create_descriptor(%u: memref<*xf32>, %n: index) {
  %m = nvgpu.tma.create.descriptor %u box[%n, %n] : memref<*xf32> -> !nvgpu.tensormap.descriptor<tensor = memref<32x32xf32,3>, swizzle=none, l2promo = none, oob = zero, interleave = none>
  return
}

func.func @tensormap_descriptor_3(%s: memref<128x64xf16, 3>, %m: !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16,3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>) {
  %w = nvgpu.warpgroup.generate.descriptor %s, %m : memref<128x64xf16, 3>, !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16,3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none> -> !nvgpu.warpgroup.descriptor<tensor=memref<128x64xf16,3>>
  return
}

func.func @warpgroup_mma_init_accumulator(%d: memref<128x128xf32, 3>) {
  %a = nvgpu.warpgroup.mma.init.accumulator -> !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>
  nvgpu.warpgroup.mma.store %a, %d : !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>> to memref<128x128xf32, 3>
  return
}

func.func @device_async_copy_2(%s: memref<16xf32>, %d: memref<16xf32, 3>, %n: index) {
  %0 = nvgpu.device_async_copy %s[%n], %d[%n], 4, %n : memref<16xf32> to memref<16xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %2 = nvgpu.device_async_create_group
  nvgpu.device_async_wait %1
  return
}

func.func @device_async_copy_3(%s: memref<16xf32>, %d: memref<16xf32, 3>, %n: index) {
  %0 = nvgpu.device_async_copy %s[%n], %d[%n], 4, %n bypassL1 : memref<16xf32> to memref<16xf32, 3>
  return
}
