// def functions(x,y): return jnp.sin(x)*jnp.cos(y)+jnp.tanh(x)-jnp.exp(-y*y)+jnp.arctan2(x,y)+jnp.log1p(jnp.abs(x))+jnp.sqrt(jnp.abs(y))+jnp.floor(x)+jnp.ceil(y)+jnp.sign(x)+nn.sigmoid(y)+jnp.cbrt(x)+lax.rsqrt(jnp.abs(x)+1)+jnp.round(x)+jnp.expm1(y)
module @jit_functions attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x6xf32>, %arg1: tensor<5x6xf32>) -> (tensor<5x6xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.sine %arg0 : tensor<5x6xf32>
    %1 = stablehlo.cosine %arg1 : tensor<5x6xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<5x6xf32>
    %3 = stablehlo.tanh %arg0 : tensor<5x6xf32>
    %4 = stablehlo.add %2, %3 : tensor<5x6xf32>
    %5 = stablehlo.negate %arg1 : tensor<5x6xf32>
    %6 = stablehlo.multiply %5, %arg1 : tensor<5x6xf32>
    %7 = stablehlo.exponential %6 : tensor<5x6xf32>
    %8 = stablehlo.subtract %4, %7 : tensor<5x6xf32>
    %9 = stablehlo.atan2 %arg0, %arg1 : tensor<5x6xf32>
    %10 = stablehlo.add %8, %9 : tensor<5x6xf32>
    %11 = stablehlo.abs %arg0 : tensor<5x6xf32>
    %12 = stablehlo.log_plus_one %11 : tensor<5x6xf32>
    %13 = stablehlo.add %10, %12 : tensor<5x6xf32>
    %14 = stablehlo.abs %arg1 : tensor<5x6xf32>
    %15 = stablehlo.sqrt %14 : tensor<5x6xf32>
    %16 = stablehlo.add %13, %15 : tensor<5x6xf32>
    %17 = stablehlo.floor %arg0 : tensor<5x6xf32>
    %18 = stablehlo.add %16, %17 : tensor<5x6xf32>
    %19 = stablehlo.ceil %arg1 : tensor<5x6xf32>
    %20 = stablehlo.add %18, %19 : tensor<5x6xf32>
    %21 = stablehlo.sign %arg0 : tensor<5x6xf32>
    %22 = stablehlo.add %20, %21 : tensor<5x6xf32>
    %23 = stablehlo.negate %arg1 : tensor<5x6xf32>
    %24 = stablehlo.exponential %23 : tensor<5x6xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<5x6xf32>
    %26 = stablehlo.add %25, %24 : tensor<5x6xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %27 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<5x6xf32>
    %28 = stablehlo.divide %27, %26 : tensor<5x6xf32>
    %29 = stablehlo.add %22, %28 : tensor<5x6xf32>
    %30 = stablehlo.cbrt %arg0 : tensor<5x6xf32>
    %31 = stablehlo.add %29, %30 : tensor<5x6xf32>
    %32 = stablehlo.abs %arg0 : tensor<5x6xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<5x6xf32>
    %34 = stablehlo.add %32, %33 : tensor<5x6xf32>
    %35 = stablehlo.rsqrt %34 : tensor<5x6xf32>
    %36 = stablehlo.add %31, %35 : tensor<5x6xf32>
    %37 = call @round(%arg0) : (tensor<5x6xf32>) -> tensor<5x6xf32>
    %38 = stablehlo.add %36, %37 : tensor<5x6xf32>
    %39 = stablehlo.exponential_minus_one %arg1 : tensor<5x6xf32>
    %40 = stablehlo.add %38, %39 : tensor<5x6xf32>
    return %40 : tensor<5x6xf32>
  }
  func.func private @round(%arg0: tensor<5x6xf32>) -> tensor<5x6xf32> {
    %0 = stablehlo.round_nearest_even %arg0 : tensor<5x6xf32>
    return %0 : tensor<5x6xf32>
  }
}
