// def more_functions(x): return jnp.arcsin(x*0.1)+jnp.arctan(x)+jnp.sinh(x)+jnp.cosh(x)+jnp.arctanh(x*0.1)+jnp.tan(x)+jnp.square(x)+jax.scipy.special.erf(x)
module @jit_more_functions attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<20xf32>) -> (tensor<20xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<20xf32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<20xf32>
    %2 = chlo.asin %1 : tensor<20xf32> -> tensor<20xf32>
    %3 = chlo.atan %arg0 : tensor<20xf32> -> tensor<20xf32>
    %4 = stablehlo.add %2, %3 : tensor<20xf32>
    %5 = chlo.sinh %arg0 : tensor<20xf32> -> tensor<20xf32>
    %6 = stablehlo.add %4, %5 : tensor<20xf32>
    %7 = chlo.cosh %arg0 : tensor<20xf32> -> tensor<20xf32>
    %8 = stablehlo.add %6, %7 : tensor<20xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<20xf32>
    %10 = stablehlo.multiply %arg0, %9 : tensor<20xf32>
    %11 = chlo.atanh %10 : tensor<20xf32> -> tensor<20xf32>
    %12 = stablehlo.add %8, %11 : tensor<20xf32>
    %13 = stablehlo.tan %arg0 : tensor<20xf32>
    %14 = stablehlo.add %12, %13 : tensor<20xf32>
    %15 = chlo.square %arg0 : tensor<20xf32> -> tensor<20xf32>
    %16 = stablehlo.add %14, %15 : tensor<20xf32>
    %17 = chlo.erf %arg0 : tensor<20xf32> -> tensor<20xf32>
    %18 = stablehlo.add %16, %17 : tensor<20xf32>
    return %18 : tensor<20xf32>
  }
}
