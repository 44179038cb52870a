// def short_integers(x,w): return lax.dot(x,w,preferred_element_type=jnp.int32)
module @jit_short_integers attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xi8>, %arg1: tensor<8x4xi8>) -> (tensor<4x4xi32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xi8>, tensor<8x4xi8>) -> tensor<4x4xi32>
    return %0 : tensor<4x4xi32>
  }
}
