// def update_slice(x,i): return lax.dynamic_update_slice(x,x[:2]*2,(i,))
module @jit_update_slice attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6xf32>, %arg1: tensor<i32>) -> (tensor<6xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg0 [0:2] : (tensor<6xf32>) -> tensor<2xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<2xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.compare LT, %arg1, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<6> : tensor<i32>
    %4 = stablehlo.add %arg1, %c_0 : tensor<i32>
    %5 = stablehlo.select %3, %4, %arg1 : tensor<i1>, tensor<i32>
    %6 = stablehlo.dynamic_update_slice %arg0, %2, %5 : (tensor<6xf32>, tensor<2xf32>, tensor<i32>) -> tensor<6xf32>
    return %6 : tensor<6xf32>
  }
}
