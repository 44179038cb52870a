// ----- check.expect_true
()
%c = arith.constant true
check.expect_true(%c) : i1

// ----- check.expect_false
()
%c = arith.constant false
check.expect_false(%c) : i1

// ----- check.expect_all_true
()
%c = arith.constant dense<true> : tensor<2xi1>
check.expect_all_true(%c) : tensor<2xi1>

// ----- check.expect_eq check.expect_almost_eq check.expect_close
(%t: tensor<2xf32>)
check.$name(%t, %t) : tensor<2xf32>

// ----- check.expect_eq_const check.expect_almost_eq_const
()
%t = arith.constant dense<1.0> : tensor<2xf32>
check.$name(%t, dense<1.0> : tensor<2xf32>) : tensor<2xf32>
