// def concatenate(x,y): return jnp.concatenate([x[1:3,::2],jnp.pad(y,1)[:2,:2]],0)
module @jit_concatenate attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<2x2xf32>) -> (tensor<4x2xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg0 [1:3, 0:4:2] : (tensor<4x4xf32>) -> tensor<2x2xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = call @_pad(%arg1, %c) : (tensor<2x2xf32>, tensor<i32>) -> tensor<4x4xf32>
    %2 = stablehlo.slice %1 [0:2, 0:2] : (tensor<4x4xf32>) -> tensor<2x2xf32>
    %3 = stablehlo.concatenate %0, %2, dim = 0 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
    return %3 : tensor<4x2xf32>
  }
  func.func private @_pad(%arg0: tensor<2x2xf32>, %arg1: tensor<i32>) -> tensor<4x4xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [1, 1], high = [1, 1], interior = [0, 0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
}
