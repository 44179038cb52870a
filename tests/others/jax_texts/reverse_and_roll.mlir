// def reverse_and_roll(x): return jnp.flip(x,0)+jnp.roll(x,1,1)
module @jit_reverse_and_roll attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x5xf32>) -> (tensor<4x5xf32> {jax.result_info = "result"}) {
    %0 = call @_flip(%arg0) : (tensor<4x5xf32>) -> tensor<4x5xf32>
    %1 = call @_roll_static(%arg0) : (tensor<4x5xf32>) -> tensor<4x5xf32>
    %2 = stablehlo.add %0, %1 : tensor<4x5xf32>
    return %2 : tensor<4x5xf32>
  }
  func.func private @_flip(%arg0: tensor<4x5xf32>) -> tensor<4x5xf32> {
    %0 = stablehlo.reverse %arg0, dims = [0] : tensor<4x5xf32>
    return %0 : tensor<4x5xf32>
  }
  func.func private @_roll_static(%arg0: tensor<4x5xf32>) -> tensor<4x5xf32> {
    %0 = stablehlo.slice %arg0 [0:4, 4:5] : (tensor<4x5xf32>) -> tensor<4x1xf32>
    %1 = stablehlo.slice %arg0 [0:4, 0:4] : (tensor<4x5xf32>) -> tensor<4x4xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<4x1xf32>, tensor<4x4xf32>) -> tensor<4x5xf32>
    return %2 : tensor<4x5xf32>
  }
}
