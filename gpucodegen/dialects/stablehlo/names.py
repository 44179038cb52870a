"""Names of StableHLO's operations by what they do; the syntax and the rules ask it."""

from __future__ import annotations

UNARY = (
    "abs cbrt ceil convert cosine count_leading_zeros exponential"
    " exponential_minus_one floor imag is_finite log log_plus_one logistic negate not"
    " optimization_barrier popcnt real round_nearest_afz round_nearest_even rsqrt sign"
    " sine sqrt tan tanh bitcast_convert"
).split()
BINARY = (
    "add and atan2 divide maximum minimum multiply or power remainder"
    " shift_left shift_right_arithmetic shift_right_logical subtract xor"
).split()
CHLO = (
    "acos acosh asin asinh atan atanh cosh digamma erf erf_inv erfc is_inf is_neg_inf"
    " is_pos_inf lgamma next_after sinh square tan"
).split()
"""Functions of numbers that JAX prints in the CHLO dialect."""

REFUSED = {
    "all_gather": "Compile the program of one device",
    "all_reduce": "Compile the program of one device",
    "all_to_all": "Compile the program of one device",
    "collective_permute": "Compile the program of one device",
    "reduce_scatter": "Compile the program of one device",
    "partition_id": "Compile the program of one device",
    "replica_id": "Compile the program of one device",
    "cholesky": "Compute it with NumPy and pass the factor as an argument",
    "triangular_solve": "Write the solve as affine loops",
    "fft": "Compute it with NumPy and pass the result as an argument",
    "rng": "Draw the numbers with jax.random, or pass them as an argument",
    "rng_bit_generator": "Use keys of jax.random's default kind, threefry",
    "custom_call": "Remove the call, or write what it computes with other operations",
    "batch_norm_training": "Expand it into a mean, a variance and arithmetic",
    "batch_norm_grad": "Expand it into reductions and arithmetic",
    "dynamic_reshape": "Lower for arguments of known shapes",
    "dynamic_broadcast_in_dim": "Lower for arguments of known shapes",
    "dynamic_iota": "Lower for arguments of known shapes",
    "dynamic_pad": "Lower for arguments of known shapes",
    "dynamic_gather": "Lower for arguments of known shapes",
    "dynamic_conv": "Lower for arguments of known shapes",
    "get_dimension_size": "Lower for arguments of known shapes",
    "set_dimension_size": "Lower for arguments of known shapes",
    "uniform_quantize": "Convert the numbers with arithmetic and convert",
    "uniform_dequantize": "Convert the numbers with arithmetic and convert",
    "infeed": "Pass the values as arguments",
    "outfeed": "Return the values",
    "send": "Return the values",
    "recv": "Pass the values as arguments",
    "composite": "Call its decomposition instead",
}
"""Operations that have no rule, and what to do instead."""
