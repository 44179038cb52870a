// ----- gpu.launch gpu.terminator
(%a: memref<64xindex>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  memref.store %tx, %a[%at] : memref<64xindex>
  gpu.terminator
}

// ----- gpu.thread_id gpu.block_id gpu.block_dim gpu.grid_dim gpu.global_id gpu.cluster_id gpu.cluster_dim gpu.cluster_block_id gpu.cluster_dim_blocks
(%a: memref<64xindex>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %i = $op x
  memref.store %i, %a[%at] : memref<64xindex>
  gpu.terminator
}

// ----- gpu.lane_id
(%a: memref<64xindex>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %i = gpu.lane_id
  memref.store %i, %a[%at] : memref<64xindex>
  gpu.terminator
}

// ----- gpu.subgroup_id gpu.num_subgroups gpu.subgroup_size
(%a: memref<64xindex>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %i = $op : index
  memref.store %i, %a[%at] : memref<64xindex>
  gpu.terminator
}

// ----- gpu.barrier
(%a: memref<64xindex>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %x = memref.load %a[%at] : memref<64xindex>
  gpu.barrier
  memref.store %tx, %a[%at] : memref<64xindex>
  gpu.terminator
}

// ----- gpu.all_reduce
(%a: memref<64xf32>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %x = memref.load %a[%at] : memref<64xf32>
  %y = gpu.all_reduce add %x {
  } : (f32) -> f32
  memref.store %y, %a[%at] : memref<64xf32>
  gpu.terminator
}

// ----- gpu.yield
(%a: memref<64xf32>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %x = memref.load %a[%at] : memref<64xf32>
  %y = gpu.all_reduce %x {
  ^bb0(%p: f32, %q: f32):
    %s = arith.maximumf %p, %q : f32
    gpu.yield %s : f32
  } : (f32) -> f32
  memref.store %y, %a[%at] : memref<64xf32>
  gpu.terminator
}

// ----- gpu.subgroup_reduce
(%a: memref<64xf32>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %x = memref.load %a[%at] : memref<64xf32>
  %y = gpu.subgroup_reduce add %x : (f32) -> f32
  memref.store %y, %a[%at] : memref<64xf32>
  gpu.terminator
}

// ----- gpu.shuffle
(%a: memref<64xf32>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %by1 = arith.constant 1 : i32
  %width = arith.constant 32 : i32
  %x = memref.load %a[%at] : memref<64xf32>
  %y, %valid = gpu.shuffle xor %x, %by1, %width : f32
  memref.store %y, %a[%at] : memref<64xf32>
  gpu.terminator
}

// ----- gpu.rotate
(%a: memref<64xf32>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %x = memref.load %a[%at] : memref<64xf32>
  %y, %valid = gpu.rotate %x, 4, 16 : f32
  memref.store %y, %a[%at] : memref<64xf32>
  gpu.terminator
}

// ----- gpu.subgroup_broadcast
(%a: memref<64xf32>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %x = memref.load %a[%at] : memref<64xf32>
  %y = gpu.subgroup_broadcast %x, first_active_lane : f32
  memref.store %y, %a[%at] : memref<64xf32>
  gpu.terminator
}

// ----- gpu.ballot
(%a: memref<64xi32>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %three = arith.constant 3 : index
  %p = arith.cmpi ult, %tx, %three : index
  %y = gpu.ballot %p : i32
  memref.store %y, %a[%at] : memref<64xi32>
  gpu.terminator
}

// ----- gpu.printf
(%a: memref<64xindex>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %three = arith.constant 3 : index
  %p = arith.cmpi eq, %at, %three : index
  scf.if %p {
    gpu.printf "thread %d\0A", %at : index
  }
  gpu.terminator
}

// ----- gpu.warp_execute_on_lane_0
(%a: memref<64xf32>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %lane = gpu.lane_id
  %y = gpu.warp_execute_on_lane_0(%lane)[32] -> (f32) {
    %c = arith.constant 2.0 : f32
    gpu.yield %c : f32
  }
  memref.store %y, %a[%at] : memref<64xf32>
  gpu.terminator
}

// ----- gpu.launch_func gpu.module gpu.func gpu.return
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @store(%a: memref<64xindex>) kernel {
      %i = gpu.global_id x
      memref.store %i, %a[%i] : memref<64xindex>
      gpu.return
    }
  }
  func.func @f(%a: memref<64xindex>) {
    %one = arith.constant 1 : index
    %n = arith.constant 32 : index
    %two = arith.constant 2 : index
    gpu.launch_func @kernels::@store blocks in (%two, %one, %one) threads in (%n, %one, %one) args(%a : memref<64xindex>)
    return
  }
}

// ----- gpu.module_end
module attributes {gpu.container_module} {
  gpu.module @kernels {
    "gpu.module_end"() : () -> ()
  }
  func.func @f(%x: f32) -> f32 { return %x : f32 }
}

// ----- gpu.dynamic_shared_memory
(%a: memref<32xf32>)
%one = arith.constant 1 : index
%zero = arith.constant 0 : index
%n = arith.constant 32 : index
%steptes = arith.constant 128 : i32
gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) dynamic_shared_memory_size %steptes {
  %s = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
  %v = memref.view %s[%zero][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<32xf32, #gpu.address_space<workgroup>>
  %x = memref.load %a[%tx] : memref<32xf32>
  %l = arith.subi %n, %one : index
  %r = arith.subi %l, %tx : index
  memref.store %x, %v[%r] : memref<32xf32, #gpu.address_space<workgroup>>
  gpu.barrier
  %y = memref.load %v[%tx] : memref<32xf32, #gpu.address_space<workgroup>>
  memref.store %y, %a[%tx] : memref<32xf32>
  gpu.terminator
}

// ----- gpu.alloc gpu.dealloc gpu.memcpy
(%a: memref<4xf32>, %b: memref<4xf32>)
%m = gpu.alloc() : memref<4xf32, 1>
gpu.memcpy %m, %a : memref<4xf32, 1>, memref<4xf32>
gpu.memcpy %b, %m : memref<4xf32>, memref<4xf32, 1>
gpu.dealloc %m : memref<4xf32, 1>

// ----- gpu.memset gpu.wait
(%b: memref<4xf32>)
%x = arith.constant 0.0 : f32
%t0 = gpu.wait async
%m, %t1 = gpu.alloc async [%t0]() : memref<4xf32, 1>
%t2 = gpu.memset async [%t1] %m, %x : memref<4xf32, 1>, f32
%t3 = gpu.memcpy async [%t2] %b, %m : memref<4xf32>, memref<4xf32, 1>
gpu.wait [%t3]

// ----- gpu.host_register gpu.host_unregister
(%b: memref<4xf32>)
%u = memref.cast %b : memref<4xf32> to memref<*xf32>
$op %u : memref<*xf32>

// ----- gpu.set_default_device
()
%zero = arith.constant 0 : i32
gpu.set_default_device %zero

// ----- gpu.subgroup_mma_load_matrix gpu.subgroup_mma_store_matrix gpu.subgroup_mma_compute
(%a: memref<16x16xf16>, %b: memref<16x16xf16>, %c: memref<16x16xf32>)
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%n = arith.constant 32 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %x = gpu.subgroup_mma_load_matrix %a[%zero, %zero] {leadDimension = 16 : index} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
  %y = gpu.subgroup_mma_load_matrix %b[%zero, %zero] {leadDimension = 16 : index} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
  %z = gpu.subgroup_mma_load_matrix %c[%zero, %zero] {leadDimension = 16 : index} : memref<16x16xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
  %w = gpu.subgroup_mma_compute %x, %y, %z : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
  gpu.subgroup_mma_store_matrix %w, %c[%zero, %zero] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<16x16xf32>
  gpu.terminator
}

// ----- gpu.subgroup_mma_constant_matrix gpu.subgroup_mma_elementwise
(%a: memref<16x16xf16>, %b: memref<16x16xf16>, %c: memref<16x16xf32>)
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%n = arith.constant 32 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %x = gpu.subgroup_mma_load_matrix %a[%zero, %zero] {leadDimension = 16 : index} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
  %y = gpu.subgroup_mma_load_matrix %b[%zero, %zero] {leadDimension = 16 : index} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
  %z = gpu.subgroup_mma_load_matrix %c[%zero, %zero] {leadDimension = 16 : index} : memref<16x16xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
  %v = gpu.subgroup_mma_compute %x, %y, %z : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
  %k = arith.constant 2.0 : f32
  %two = gpu.subgroup_mma_constant_matrix %k : !gpu.mma_matrix<16x16xf32, "COp">
  %w = gpu.subgroup_mma_elementwise mulf %v, %two : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
  gpu.subgroup_mma_store_matrix %w, %c[%zero, %zero] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<16x16xf32>
  gpu.terminator
}

// ----- gpu.subgroup_mma_extract_thread_local gpu.subgroup_mma_insert_thread_local
(%a: memref<16x16xf16>, %b: memref<16x16xf16>, %c: memref<16x16xf32>)
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%n = arith.constant 32 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %x = gpu.subgroup_mma_load_matrix %a[%zero, %zero] {leadDimension = 16 : index} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
  %y = gpu.subgroup_mma_load_matrix %b[%zero, %zero] {leadDimension = 16 : index} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
  %z = gpu.subgroup_mma_load_matrix %c[%zero, %zero] {leadDimension = 16 : index} : memref<16x16xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
  %v = gpu.subgroup_mma_compute %x, %y, %z : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
  %e = gpu.subgroup_mma_extract_thread_local %v[%zero] : !gpu.mma_matrix<16x16xf32, "COp"> -> f32
  %k = arith.addf %e, %e : f32
  %w = gpu.subgroup_mma_insert_thread_local %k, %v[%zero] : f32, !gpu.mma_matrix<16x16xf32, "COp"> -> !gpu.mma_matrix<16x16xf32, "COp">
  gpu.subgroup_mma_store_matrix %w, %c[%zero, %zero] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<16x16xf32>
  gpu.terminator
}

// ----- gpu.binary
gpu.binary @b [#gpu.object<#nvvm.target, "abc">]
func.func @f(%x: f32) -> f32 { return %x : f32 }

// ----- gpu.initialize_named_barrier
(%i: i32)
%b = gpu.initialize_named_barrier %i : i32 -> !gpu.named_barrier

// ----- gpu.create_dn_tensor gpu.create_coo gpu.create_coo_aos gpu.create_csr gpu.create_csc gpu.create_bsr gpu.create_2to4_spmat gpu.spmm gpu.spmv_buffer_size gpu.spmv gpu.sddmm_buffer_size gpu.sddmm gpu.spgemm_create_descr gpu.spgemm_work_estimation_or_compute gpu.spgemm_copy gpu.spgemm_destroy_descr gpu.spmat_get_size gpu.set_csr_pointers gpu.destroy_sp_mat gpu.destroy_dn_tensor
func.func @f(%m: index, %mm: memref<?xf64>, %ii: memref<?xindex>, %mb: memref<?xi8>) {
  %t0 = gpu.wait async
  %a, %t1 = gpu.create_dn_tensor async [%t0] %mm, %m : index into memref<?xf64>
  %b, %t2 = gpu.create_coo async [%t0] %m, %m, %m, %ii, %ii, %mm : memref<?xindex>, memref<?xindex>, memref<?xf64>
  %b1, %t21 = gpu.create_coo_aos async [%t0] %m, %m, %m, %ii, %mm : memref<?xindex>, memref<?xf64>
  %c, %t3 = gpu.create_csr async [%t0] %m, %m, %m, %ii, %ii, %mm : memref<?xindex>, memref<?xindex>, memref<?xf64>
  %c1, %t31 = gpu.create_csc async [%t0] %m, %m, %m, %ii, %ii, %mm : memref<?xindex>, memref<?xindex>, memref<?xf64>
  %c2, %t32 = gpu.create_bsr async [%t0] %m, %m, %m, %m, %m, %ii, %ii, %mm : memref<?xindex>, memref<?xindex>, memref<?xf64>
  %c3, %t33 = gpu.create_2to4_spmat async [%t0] {PRUNE_AND_CHECK} %m, %m, %mm : memref<?xf64>
  %t5 = gpu.spmm async [%t0] %c, %a, %a, %mb : memref<?xi8> into f64
  %v, %t6 = gpu.spmv_buffer_size async [%t0] %c, %a, %a into f64
  %t7 = gpu.spmv async [%t0] %c, %a, %a, %mb : memref<?xi8> into f64
  %v2, %t8 = gpu.sddmm_buffer_size async [%t0] %a, %a, %c into f64
  %t9 = gpu.sddmm async [%t0] %a, %a, %c, %mb : memref<?xi8> into f64
  %sd, %t12 = gpu.spgemm_create_descr async [%t0]
  %bz, %t13 = gpu.spgemm_work_estimation_or_compute async [%t0] {WORK_ESTIMATION} %c, %c, %c, %sd, %m, %mb : f32 into memref<?xi8>
  %t14 = gpu.spgemm_copy async [%t0] %c, %c, %c, %sd : f32
  %t15 = gpu.spgemm_destroy_descr async [%t0] %sd
  %r, %cc, %nn, %t16 = gpu.spmat_get_size async [%t0] %c
  %t17 = gpu.set_csr_pointers async [%t0] %c, %ii, %ii, %mm : memref<?xindex>, memref<?xindex>, memref<?xf64>
  %t18 = gpu.destroy_sp_mat async [%t5] %c
  %t19 = gpu.destroy_dn_tensor async [%t5] %a
  return
}
