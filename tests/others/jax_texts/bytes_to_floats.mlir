// def bytes_to_floats(x): return x.astype(jnp.float32)/255
module @jit_bytes_to_floats attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x5xui8>) -> (tensor<4x5xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg0 : (tensor<4x5xui8>) -> tensor<4x5xf32>
    %cst = stablehlo.constant dense<2.550000e+02> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x5xf32>
    %2 = stablehlo.divide %0, %1 : tensor<4x5xf32>
    return %2 : tensor<4x5xf32>
  }
}
