// ----- chlo.acos chlo.acosh chlo.asin chlo.asinh chlo.atan chlo.atanh chlo.cosh chlo.erf chlo.erfc chlo.sinh chlo.square chlo.tan
(%x: tensor<4xf32>) -> tensor<4xf32>
%r = $op %x : tensor<4xf32> -> tensor<4xf32>

// ----- chlo.is_inf chlo.is_neg_inf chlo.is_pos_inf
(%x: tensor<4xf32>) -> tensor<4xi1>
%r = $op %x : tensor<4xf32> -> tensor<4xi1>
