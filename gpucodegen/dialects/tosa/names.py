"""Names of TOSA's operations; the syntax and the rules ask it."""

from __future__ import annotations

ELEMENTWISE = {
    "abs": "abs",
    "add": "add",
    "arithmetic_right_shift": "shift_right_arithmetic",
    "bitwise_and": "and",
    "bitwise_not": "not",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "cast": "convert",
    "ceil": "ceil",
    "clz": "count_leading_zeros",
    "cos": "cosine",
    "exp": "exponential",
    "floor": "floor",
    "identity": "optimization_barrier",
    "int_div": "divide",
    "intdiv": "divide",
    "log": "log",
    "logical_and": "and",
    "logical_left_shift": "shift_left",
    "logical_not": "not",
    "logical_or": "or",
    "logical_right_shift": "shift_right_logical",
    "logical_xor": "xor",
    "maximum": "maximum",
    "minimum": "minimum",
    "negate": "negate",
    "pow": "power",
    "rsqrt": "rsqrt",
    "select": "select",
    "sigmoid": "logistic",
    "sin": "sine",
    "sub": "subtract",
    "tanh": "tanh",
}
"""Operations on elements, by what StableHLO calls the same."""
COMPARED = {"equal": "EQ", "greater": "GT", "greater_equal": "GE"}
OTHERS = (
    "argmax avg_pool2d clamp concat const const_shape conv2d conv3d"
    " depthwise_conv2d erf fully_connected gather matmul max_pool2d mul pad"
    " rescale resize scatter table transpose_conv2d"
    " reciprocal reduce_all reduce_any reduce_max reduce_min reduce_prod"
    " reduce_product reduce_sum reshape reverse slice tile transpose"
).split()
REFUSED = {
    "custom": "Write what it computes with other operations",
    "fft2d": "Compute it with NumPy and pass the result as an argument",
    "rfft2d": "Compute it with NumPy and pass the result as an argument",
    "variable": "Pass the state as an argument",
    "variable_read": "Pass the state as an argument",
    "variable_write": "Return the state",
}
"""Operations that have no rule, and what to do instead."""
