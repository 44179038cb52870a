// ----- chlo.acos chlo.acosh chlo.asin chlo.asinh chlo.atan chlo.atanh chlo.cosh chlo.erf chlo.erfc chlo.sinh chlo.square chlo.tan
(%x: tensor<4xf32>) -> tensor<4xf32>
%r = $op %x : tensor<4xf32> -> tensor<4xf32>

// ----- chlo.is_inf chlo.is_neg_inf chlo.is_pos_inf
(%x: tensor<4xf32>) -> tensor<4xi1>
%r = $op %x : tensor<4xf32> -> tensor<4xi1>

// ----- chlo.bessel_i1e chlo.digamma chlo.erf_inv chlo.lgamma
(%x: tensor<4xf32>) -> tensor<4xf32>
%r = $op %x : tensor<4xf32> -> tensor<4xf32>

// ----- chlo.polygamma chlo.zeta
(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32>
%r = $op %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>

// ----- chlo.next_after
(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32>
%r = chlo.next_after %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>

// ----- chlo.top_k
(%x: tensor<5xf32>) -> tensor<2xf32>, tensor<2xi32>
%r, %s = chlo.top_k(%x, k = 2) : tensor<5xf32> -> (tensor<2xf32>, tensor<2xi32>)
