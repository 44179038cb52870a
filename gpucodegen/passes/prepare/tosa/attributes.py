"""The attributes that the rules of TOSA read, in the spelling of every year."""

from __future__ import annotations

from gpucodegen.passes.prepare.stablehlo.attributes import (
    Accepts,
    Reads,
    is_zero,
    listed,
    words,
)

_NAN = {"nan_mode": words("PROPAGATE", "IGNORE")}
_ZEROS: dict[str, Accepts] = dict.fromkeys(
    (
        "quantization_info input_zp weight_zp output_zp input1_zp a_zp b_zp kernel_zp"
    ).split(),
    is_zero,
)
"""Zero points as attributes, which today's text has as operands: 0 changes nothing."""
_SUMS = {**listed("acc_type stride pad local_bound"), **_ZEROS}
"""``local_bound`` bounds errors further than sums of products exceed anyway."""
_CONVOLUTION = {**_SUMS, **listed("dilation")}
_READS: dict[str, dict[str, Accepts]] = {
    "argmax": {**listed("axis"), **_NAN},
    "arithmetic_right_shift": listed("round"),
    "avg_pool2d": {**_SUMS, **listed("kernel")},
    "clamp": {**listed("min_val max_val min_int max_int min_fp max_fp"), **_NAN},
    "concat": listed("axis"),
    "const": listed("values value"),
    "const_shape": listed("values value"),
    "conv2d": _CONVOLUTION,
    "conv3d": _CONVOLUTION,
    "depthwise_conv2d": _CONVOLUTION,
    "fully_connected": _ZEROS,
    "matmul": _ZEROS,
    "max_pool2d": {**listed("kernel stride pad"), **_NAN},
    "maximum": _NAN,
    "minimum": _NAN,
    "mul": listed("shift"),
    "negate": _ZEROS,
    "pad": {**listed("padding"), **_ZEROS},
    **{f"reduce_{kind}": listed("axis") for kind in "all any prod product sum".split()},
    "reduce_max": {**listed("axis"), **_NAN},
    "reduce_min": {**listed("axis"), **_NAN},
    "rescale": {
        **listed("input_zp output_zp multiplier shift scale32 double_round"),
        **listed("per_channel input_unsigned output_unsigned"),
        "rounding_mode": words("SINGLE_ROUND", "DOUBLE_ROUND", "INEXACT_ROUND"),
    },
    "reshape": listed("new_shape"),
    # The border only says how large the result is, which its type states.
    "resize": {
        **listed("scale offset border"),
        "mode": words("NEAREST_NEIGHBOR", "NEAREST", "BILINEAR"),
    },
    "reverse": listed("axis"),
    "slice": listed("start size"),
    "tile": listed("multiples"),
    "transpose": listed("perms"),
    # So does out_shape.
    "transpose_conv2d": {**_SUMS, **listed("out_pad out_shape")},
}
TOSA: Reads = {f"tosa.{name}": known for name, known in _READS.items()}
