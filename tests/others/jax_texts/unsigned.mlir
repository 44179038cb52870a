// def unsigned(x,y): return (x//y)+jnp.maximum(x,y)+(x>>1)+(x>y).astype(jnp.uint32)
module @jit_unsigned attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<12xui32>, %arg1: tensor<12xui32>) -> (tensor<12xui32> {jax.result_info = "result"}) {
    %0 = call @floor_divide(%arg0, %arg1) : (tensor<12xui32>, tensor<12xui32>) -> tensor<12xui32>
    %1 = stablehlo.maximum %arg0, %arg1 : tensor<12xui32>
    %2 = stablehlo.add %0, %1 : tensor<12xui32>
    %c = stablehlo.constant dense<1> : tensor<ui32>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui32>) -> tensor<12xui32>
    %4 = stablehlo.shift_right_logical %arg0, %3 : tensor<12xui32>
    %5 = stablehlo.add %2, %4 : tensor<12xui32>
    %6 = stablehlo.compare GT, %arg0, %arg1, UNSIGNED : (tensor<12xui32>, tensor<12xui32>) -> tensor<12xi1>
    %7 = stablehlo.convert %6 : (tensor<12xi1>) -> tensor<12xui32>
    %8 = stablehlo.add %5, %7 : tensor<12xui32>
    return %8 : tensor<12xui32>
  }
  func.func private @floor_divide(%arg0: tensor<12xui32>, %arg1: tensor<12xui32>) -> tensor<12xui32> {
    %0 = stablehlo.divide %arg0, %arg1 : tensor<12xui32>
    return %0 : tensor<12xui32>
  }
}
