// def complex_numbers(x): return jnp.abs(x*x+1)
module @jit_complex_numbers attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5xcomplex<f32>>) -> (tensor<5xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<5xcomplex<f32>>
    %cst = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<5xcomplex<f32>>
    %2 = stablehlo.add %0, %1 : tensor<5xcomplex<f32>>
    %3 = stablehlo.abs %2 : (tensor<5xcomplex<f32>>) -> tensor<5xf32>
    return %3 : tensor<5xf32>
  }
}
