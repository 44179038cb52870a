module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @copy(%A: memref<?xf32>, %B: memref<?xf32>) workgroup(%s : memref<32xf32, 3>) private(%p : memref<4xf32, 5>) kernel attributes {gcg.block = array<i32: 32, 1, 1>} {
      %b = gpu.block_id x
      %t = gpu.thread_id x
      %d = gpu.block_dim y
      %0 = memref.load %A[%t] : memref<?xf32>
      memref.store %0, %s[%t] : memref<32xf32, 3>
      gpu.barrier
      %1 = memref.load %s[%t] : memref<32xf32, 3>
      %2 = gpu.subgroup_reduce add %1 : (f32) -> f32
      %width = arith.constant 32 : i32
      %3, %ok = gpu.shuffle xor %2, %width, %width : f32
      %lane = gpu.lane_id
      %4 = gpu.all_reduce add %3 {
      } : (f32) -> f32
      memref.store %4, %B[%t] : memref<?xf32>
      gpu.return
    }
    func.func @helper() {
      return
    }
  }
  func.func @main(%A: memref<?xf32>, %B: memref<?xf32>, %n: index) {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    gpu.launch_func @kernels::@copy blocks in (%n, %c1, %c1) threads in (%c32, %c1, %c1) args(%A : memref<?xf32>, %B : memref<?xf32>)
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
      %0 = memref.load %A[%tx] : memref<?xf32>
      memref.store %0, %B[%bx] : memref<?xf32>
      gpu.terminator
    }
    gpu.memcpy %A, %B : memref<?xf32>, memref<?xf32>
    return
  }
}
