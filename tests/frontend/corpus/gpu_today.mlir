// Operations of gpu as MLIR writes them late in 2026.
module attributes {gpu.container_module} {
  gpu.module @container_module_k {
    gpu.func @container_module_a(%a: f32, %m: memref<?xf32, 1>) kernel {
      gpu.return
    }
    gpu.func @container_module_b(%a: f32) workgroup(%w : memref<32xf32, 3>, %w2 : memref<f32, #gpu.address_space<workgroup>>) private(%p : memref<1xf32, 5>) kernel attributes {known_block_size = array<i32: 1, 2, 3>} {
      gpu.return
    }
    gpu.func @container_module_c(%a: f32) -> f32 private(%p : memref<1xf32, 5>) {
      gpu.return %a : f32
    }
    gpu.func @container_module_d(%a: f32 {x.y}) -> (f32 {x.z}, i32) attributes {q = 1 : i32} {
      %c = arith.constant 1 : i32
      gpu.return %a, %c : f32, i32
    }
    gpu.func @container_module_e() kernel attributes {known_cluster_size = array<i32: 1, 2, 3>, known_grid_size = array<i32: 1, 2, 3>} {
      gpu.return
    }
  }
  func.func @container_module(%n: index, %m: memref<?xf32, 1>, %s: i32, %a: f32) {
    gpu.launch_func @container_module_k::@container_module_a blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%a : f32, %m : memref<?xf32, 1>)
    gpu.launch_func @container_module_k::@container_module_a blocks in (%n, %n, %n) threads in (%n, %n, %n) dynamic_shared_memory_size %s args(%a : f32, %m : memref<?xf32, 1>)
    %t = gpu.wait async
    %t1 = gpu.launch_func async [%t] @container_module_k::@container_module_e blocks in (%n, %n, %n) threads in (%n, %n, %n)
    gpu.launch_func @container_module_k::@container_module_e clusters in (%n, %n, %n) blocks in (%n, %n, %n) threads in (%n, %n, %n)
    %i = arith.constant 1 : i64
    gpu.launch_func @container_module_k::@container_module_e clusters in (%i, %i, %i) blocks in (%i, %i, %i) threads in (%i, %i, %i) : i64 dynamic_shared_memory_size %s
    %tz = gpu.launch_func async [%t, %t1] @container_module_k::@container_module_e blocks in (%n, %n, %n) threads in (%n, %n, %n) {a = 1 : i32}
    gpu.wait [%t1]
    %t2 = gpu.wait async [%t, %t1]
    return
  }
}

module attributes {gpu.container_module} {
  gpu.module @container_module_2_k {
    gpu.func @container_module_2_e() kernel {
      gpu.return
    }
  }
  func.func @container_module_2(%n: index, %st: !llvm.ptr) {
    gpu.launch_func <%st : !llvm.ptr> @container_module_2_k::@container_module_2_e blocks in (%n, %n, %n) threads in (%n, %n, %n)
    return
  }
}

func.func @launch(%n: index, %s: i32, %m: memref<?xf32>) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%x = %n, %y = %n, %z = %n) module(@a) function(@b) {
    gpu.terminator
  }
  return
}

func.func @thread_id(%n: index) {
  %0 = gpu.thread_id x
  %1 = gpu.thread_id y upper_bound 64
  %2 = gpu.block_id z {a}
  %3 = gpu.block_dim x
  %4 = gpu.grid_dim x
  %5 = gpu.global_id x
  %6 = gpu.cluster_id x
  %7 = gpu.cluster_dim y
  %8 = gpu.cluster_block_id y
  %9 = gpu.cluster_dim_blocks y
  %10 = gpu.lane_id
  %11 = gpu.lane_id upper_bound 32
  %12 = gpu.subgroup_id : index
  %13 = gpu.subgroup_id upper_bound 4 : index
  %14 = gpu.num_subgroups : index
  %15 = gpu.num_subgroups upper_bound 4 : index
  %16 = gpu.subgroup_size : index
  %17 = gpu.subgroup_size upper_bound 64 : index
  gpu.barrier
  gpu.barrier {a}
  return
}

func.func @barrier() {
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  gpu.barrier memfence [#gpu.address_space<workgroup>, #gpu.address_space<global>]
  gpu.barrier memfence []
  return
}

func.func @barrier_2() {
  gpu.barrier scope <subgroup>
  return
}

func.func @barrier_3() {
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  return
}

func.func @barrier_4() {
  gpu.barrier memfence [#gpu.address_space<workgroup>] {a}
  return
}

func.func @all_reduce(%f: f32, %i: i32, %v: vector<4xf16>, %w: vector<2xi8>) {
  %0 = gpu.all_reduce add %f {
  } : (f32) -> f32
  %1 = gpu.all_reduce %f {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    gpu.yield %s : f32
  } : (f32) -> f32
  %2 = gpu.all_reduce maxsi %i uniform {
  } : (i32) -> i32
  %3 = gpu.all_reduce and %i uniform {
  } {a} : (i32) -> i32
  %4 = gpu.subgroup_reduce add %f : (f32) -> f32
  %5 = gpu.subgroup_reduce add %f uniform : (f32) -> f32
  %6 = gpu.subgroup_reduce minimumf %v {a} : (vector<4xf16>) -> vector<4xf16>
  %7 = gpu.subgroup_reduce add %f cluster(size = 4) : (f32) -> f32
  %8 = gpu.subgroup_reduce add %f cluster(size = 4, stride = 2) : (f32) -> f32
  %9 = gpu.subgroup_reduce add %f uniform cluster(size = 4) : (f32) -> f32
  %10:2 = gpu.shuffle xor %f, %i, %i : f32
  %11:2 = gpu.shuffle up %f, %i, %i {a} : f32
  %12:2 = gpu.shuffle down %v, %i, %i : vector<4xf16>
  %13:2 = gpu.shuffle idx %f, %i, %i : f32
  %14:2 = gpu.rotate %f, 4, 16 : f32
  return
}

func.func @subgroup_broadcast(%f: f32, %i: i32, %p: i1) {
  %0 = gpu.subgroup_broadcast %f, first_active_lane : f32
  %1 = gpu.subgroup_broadcast %f, specific_lane %i : f32
  return
}

func.func @ballot(%f: f32, %i: i32, %p: i1) {
  %0 = gpu.ballot %p : i32
  %1 = gpu.ballot %p : i64
  return
}

func.func @printf(%f: f32, %i: i32, %n: index) {
  gpu.printf "hello"
  gpu.printf "hello %f %d", %f, %i : f32, i32
  gpu.printf "a\0A" {b}
  return
}

func.func @alloc(%n: index, %f: f32, %d: memref<?xf32, 1>, %h: memref<?xf32>, %u: memref<*xf32>) {
  %0 = gpu.alloc(%n) : memref<?xf32, 1>
  %1, %t = gpu.alloc async(%n) : memref<?xf32, 1>
  %2, %t2 = gpu.alloc async [%t]() {a} : memref<4xf32, 1>
  %3 = gpu.alloc host_shared(%n) : memref<?xf32, 1>
  %4, %t4 = gpu.alloc async [%t] host_shared(%n)[%n] : memref<?xf32, affine_map<(d0)[s0] -> (d0 + s0)>, 1>
  gpu.dealloc %0 : memref<?xf32, 1>
  %5 = gpu.dealloc async [%t2] %2 : memref<4xf32, 1>
  gpu.memcpy %d, %h : memref<?xf32, 1>, memref<?xf32>
  %6 = gpu.memcpy async [%t, %t2] %d, %h : memref<?xf32, 1>, memref<?xf32> {b}
  gpu.memset %d, %f : memref<?xf32, 1>, f32
  %7 = gpu.memset async %d, %f : memref<?xf32, 1>, f32 {a}
  gpu.host_register %u : memref<*xf32>
  gpu.host_unregister %u : memref<*xf32>
  gpu.wait
  gpu.wait [%t]
  %8 = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
  return
}

func.func @set_default_device(%dev: i32) {
  gpu.set_default_device %dev
  return
}

func.func @subgroup_mma_load_matrix(%n: index, %f: f32, %m: memref<32x32xf16, 3>, %h: f16) {
  %0 = gpu.subgroup_mma_load_matrix %m[%n, %n] leadDimension 32 : memref<32x32xf16, 3> -> !gpu.mma_matrix<16x16xf16, "AOp">
  %1 = gpu.subgroup_mma_load_matrix %m[%n, %n] leadDimension 32 transpose : memref<32x32xf16, 3> -> !gpu.mma_matrix<16x16xf16, "BOp">
  %2 = gpu.subgroup_mma_load_matrix %m[%n, %n] leadDimension 32 : memref<32x32xf16, 3> -> !gpu.mma_matrix<16x16xf16, "COp">
  %3 = gpu.subgroup_mma_compute %0, %1, %2 : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf16, "COp">
  %4 = gpu.subgroup_mma_compute %0, %1, %2 a_transpose b_transpose : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf16, "COp">
  gpu.subgroup_mma_store_matrix %3, %m[%n, %n] leadDimension 32 : !gpu.mma_matrix<16x16xf16, "COp">, memref<32x32xf16, 3>
  %5 = gpu.subgroup_mma_constant_matrix %h : !gpu.mma_matrix<16x16xf16, "COp">
  %6 = gpu.subgroup_mma_elementwise addf %3, %5 : (!gpu.mma_matrix<16x16xf16, "COp">, !gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf16, "COp">
  %7 = gpu.subgroup_mma_elementwise negatef %3 {a} : (!gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf16, "COp">
  %8 = gpu.subgroup_mma_extract_thread_local %3[%n] : !gpu.mma_matrix<16x16xf16, "COp"> -> f16
  %9 = gpu.subgroup_mma_insert_thread_local %h, %3[%n] : f16, !gpu.mma_matrix<16x16xf16, "COp"> -> !gpu.mma_matrix<16x16xf16, "COp">
  return
}

gpu.binary @binary_b [#gpu.object<#nvvm.target, "abc">]
gpu.binary @binary_c <#gpu.select_object<0>> [#gpu.object<#nvvm.target, bin = "x">, #gpu.object<#rocdl.target, offload = "y">]

gpu.module @module_a [#nvvm.target] {
}
gpu.module @module_b [#nvvm.target<chip = "sm_90">, #rocdl.target] attributes {x = 1 : i32} {
}
gpu.module @module_c <#gpu.select_object<0>> [#nvvm.target] {
}
gpu.module @module_d {
  func.func @module_x() {
    return
  }
}
gpu.module @module_e attributes {a} {
}

func.func @subgroup_mma_load_matrix_2(%n: index, %f: f32, %m: memref<32x32xf16, 3>, %h: f16) {
  %0 = gpu.subgroup_mma_load_matrix %m[%n, %n] leadDimension 32 {a} : memref<32x32xf16, 3> -> !gpu.mma_matrix<16x16xf16, "AOp">
  %1 = gpu.subgroup_mma_load_matrix %m[%n, %n] leadDimension 32 transpose : memref<32x32xf16, 3> -> !gpu.mma_matrix<16x16xf16, "BOp">
  %2 = gpu.subgroup_mma_load_matrix %m[%n, %n] leadDimension 32 : memref<32x32xf16, 3> -> !gpu.mma_matrix<16x16xf16, "COp">
  %3 = gpu.subgroup_mma_compute %0, %1, %2 : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf16, "COp">
  %4 = gpu.subgroup_mma_compute %0, %1, %2 a_transpose b_transpose {a} : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf16, "COp">
  gpu.subgroup_mma_store_matrix %3, %m[%n, %n] leadDimension 32 transpose : !gpu.mma_matrix<16x16xf16, "COp">, memref<32x32xf16, 3>
  %5 = gpu.subgroup_mma_constant_matrix %h : !gpu.mma_matrix<16x16xf16, "COp">
  %6 = gpu.subgroup_mma_elementwise addf %3, %5 : (!gpu.mma_matrix<16x16xf16, "COp">, !gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf16, "COp">
  %7 = gpu.subgroup_mma_elementwise negatef %3 {a} : (!gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf16, "COp">
  %8 = gpu.subgroup_mma_extract_thread_local %3[%n] : !gpu.mma_matrix<16x16xf16, "COp"> -> f16
  %9 = gpu.subgroup_mma_insert_thread_local %h, %3[%n] : f16, !gpu.mma_matrix<16x16xf16, "COp"> -> !gpu.mma_matrix<16x16xf16, "COp">
  return
}

func.func @initialize_named_barrier(%i: i32, %f: f32, %n: index, %s: !llvm.ptr) {
  %b = gpu.initialize_named_barrier %i : i32 -> !gpu.named_barrier
  gpu.barrier named(%b : !gpu.named_barrier) memfence [#gpu.address_space<workgroup>] {a}
  gpu.barrier scope <subgroup> memfence []
  gpu.printf "hello" {b}, %f : f32
  gpu.launch <%s : !llvm.ptr> blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%x = %n, %y = %n, %z = %n) {
    gpu.terminator
  }
  return
}

gpu.module @module_2_k {
  gpu.func @module_2_f(%a: f32) workgroup(%w : memref<2xf32, 3> {llvm.align = 16}, %w2 : memref<2xf32, 3>) private(%p : memref<2xf32, 5> {x}) kernel attributes {y} {
    gpu.return
  }
}

gpu.module @module_3_k {
  gpu.func @module_3_f(%a: f32) kernel attributes {gpu.known_grid_size = array<i32: 1, 2, 3>, known_block_size = array<i32: 1, 2, 3>} {
    gpu.return
  }
}

gpu.module @module_4_k {
  gpu.func @module_4_f(%a: f32) workgroup(%b : memref<2xf32, 3>) kernel {
    %0 = gpu.thread_id x
    %1 = gpu.all_reduce add %a {
    } : (f32) -> f32
    gpu.return
  }
}

func.func @sparse(%m: index, %n: index, %mm: memref<?xf64>, %ii: memref<?xindex>, %mb: memref<?xi8>) {
  %t0 = gpu.wait async
  %a, %t1 = gpu.create_dn_tensor async [%t0] %mm, %m, %n : index, index into memref<?xf64>
  %a1, %t11 = gpu.create_dn_tensor async [%t0] %mm, %m : index into memref<?xf64>
  %b, %t2 = gpu.create_coo async [%t0] %m, %n, %n, %ii, %ii, %mm : memref<?xindex>, memref<?xindex>, memref<?xf64>
  %b1, %t21 = gpu.create_coo_aos async [%t0] %m, %n, %n, %ii, %mm : memref<?xindex>, memref<?xf64>
  %c, %t3 = gpu.create_csr async [%t0] %m, %n, %n, %ii, %ii, %mm : memref<?xindex>, memref<?xindex>, memref<?xf64>
  %c1, %t31 = gpu.create_csc async [%t0] %m, %n, %n, %ii, %ii, %mm : memref<?xindex>, memref<?xindex>, memref<?xf64>
  %c2, %t32 = gpu.create_bsr async [%t0] %m, %n, %n, %n, %n, %ii, %ii, %mm : memref<?xindex>, memref<?xindex>, memref<?xf64>
  %c3, %t33 = gpu.create_2to4_spmat async [%t0] {PRUNE_AND_CHECK} %m, %n, %mm : memref<?xf64>
  %c4 = gpu.create_2to4_spmat {NONE} %m, %n, %mm : memref<?xf64>
  %t5 = gpu.spmm async [%t0] %c, %a, %a, %mb : memref<?xi8> into f64
  %t51 = gpu.spmm async [%t0] %c {TRANSPOSE}, %a, %a, %mb, %mb : memref<?xi8>, memref<?xi8> into f64
  %v, %t6 = gpu.spmv_buffer_size async [%t0] %c, %a, %a into f64
  %t7 = gpu.spmv async [%t0] %c {TRANSPOSE}, %a, %a, %mb : memref<?xi8> into f64
  %v2, %t8 = gpu.sddmm_buffer_size async [%t0] %a, %a, %c into f64
  %t9 = gpu.sddmm async [%t0] %a {TRANSPOSE}, %a, %c, %mb : memref<?xi8> into f64
  %sd, %t12 = gpu.spgemm_create_descr async [%t0]
  %bz, %t13 = gpu.spgemm_work_estimation_or_compute async [%t0] {WORK_ESTIMATION} %c, %c, %c, %sd, %n, %mb : f32 into memref<?xi8>
  %t14 = gpu.spgemm_copy async [%t0] %c, %c, %c, %sd : f32
  %t15 = gpu.spgemm_destroy_descr async [%t0] %sd
  %r, %cc, %nn, %t16 = gpu.spmat_get_size async [%t0] %c
  %t17 = gpu.set_csr_pointers async [%t0] %c, %ii, %ii, %mm : memref<?xindex>, memref<?xindex>, memref<?xf64>
  %t18 = gpu.destroy_sp_mat async [%t5] %c
  %t19 = gpu.destroy_dn_tensor async [%t5] %a
  return
}
