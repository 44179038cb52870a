"""Table of the StableHLO operations that JAX prints, in custom and generic form."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpucodegen import errors
from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.dialects.framework.kinds import AttributeKind
from gpucodegen.dialects.framework.syntax import ParseOp, PrintOp, Reader, State
from gpucodegen.dialects.stablehlo import syntax

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
    "acos acosh asin asinh atan atanh bessel_i1e cosh digamma erf erf_inv erfc is_inf"
    " is_neg_inf is_pos_inf lgamma next_after polygamma sinh square tan zeta"
).split()
"""CHLO functions of numbers that JAX prints."""

REFUSED = {
    "all_gather": "Compile the program of one device",
    "all_reduce": "Compile the program of one device",
    "all_to_all": "Compile the program of one device",
    "collective_permute": "Compile the program of one device",
    "reduce_scatter": "Compile the program of one device",
    "partition_id": "Compile the program of one device",
    "replica_id": "Compile the program of one device",
    "rng": "Draw the numbers with jax.random, or pass them as an argument",
    "rng_bit_generator": "Use keys of jax.random's default kind, threefry",
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
}
"""Unsupported operations, with advice."""


_DIMS = syntax.with_lists(("dims", "broadcast_dimensions"))
_PERMUTED = syntax.with_lists(("dims", "permutation"))
_REVERSED = syntax.with_lists(("dims", "dimensions"))
_JOINED = syntax.with_lists(("dim", "dimension"))
_SIZED = syntax.with_lists(("sizes", "slice_sizes"))
_PADDED = syntax.with_lists(
    ("low", "edge_padding_low"),
    ("high", "edge_padding_high"),
    ("interior", "interior_padding"),
)


def _op(
    name: str,
    read: ParseOp | None = None,
    write: PrintOp | None = None,
    *,
    signature: str = "operands* -> results*",
    regions_: int | None = 0,
    traits: Trait = Trait.PURE,
    attributes: Mapping[str, AttributeKind] | None = None,
) -> Op:
    """A table entry; without ``write`` the operation is printed in generic form."""
    return op(
        f"stablehlo.{name}",
        signature,
        (read, write),
        regions=regions_,
        traits=traits,
        attributes=attributes or {},
        adapt=syntax.modern_lists,
        terminators=["stablehlo.return"] if regions_ != 0 else [],
    )


def refused(name: str, advice: str) -> Callable[[Reader, State], None]:
    """A parser for an unsupported custom form: it raises an error with advice."""

    def read(r: Reader, state: State) -> None:
        place = r.location(state.start)
        raise errors.UnsupportedOperation(
            place, operation=name, target="linalg on tensors", advice=advice
        )

    return read


OPERATIONS = (
    *(
        _op(name, syntax.read_plain, syntax.write_plain)
        for name in (*UNARY, *BINARY, "reshape", "dynamic_update_slice", "clamp")
    ),
    _op(
        "return",
        syntax.read_return,
        syntax.write_return,
        signature="operands*",
        traits=Trait.TERMINATOR,
    ),
    _op("complex", syntax.read_complex, syntax.write_functional),
    _op("reduce_precision", syntax.read_reduce_precision),
    _op("compare", syntax.read_compare, syntax.write_compare),
    _op("select", syntax.read_select, syntax.write_plain),
    _op(
        "constant",
        syntax.read_constant,
        syntax.write_constant,
        attributes={"value": kinds.ANY},
    ),
    _op("iota", syntax.read_iota),
    _op("broadcast_in_dim", _DIMS),
    _op("transpose", _PERMUTED),
    _op("reverse", _REVERSED),
    _op("slice", syntax.read_slice),
    _op("concatenate", _JOINED),
    _op("pad", _PADDED),
    _op("dynamic_slice", _SIZED),
    _op("gather"),
    _op("scatter", regions_=1),
    _op("select_and_scatter", regions_=2),
    _op("sort", regions_=1),
    _op("dot", syntax.read_dot),
    _op("dot_general", syntax.read_dot),
    _op("convolution", syntax.read_convolution),
    _op("reduce", syntax.read_reduce, regions_=1),
    _op("reduce_window", regions_=1),
    _op("while", syntax.read_while, regions_=2),
    _op("if", regions_=2),
    _op("case", regions_=None),
    _op("fft", syntax.read_fft),
    _op("cholesky", syntax.read_cholesky),
    _op("triangular_solve"),
    _op("composite", syntax.read_composite, traits=Trait(0)),
    _op("custom_call", syntax.read_custom_call, traits=Trait(0)),
    *(
        _op(name, refused(f"stablehlo.{name}", advice), regions_=None)
        for name, advice in REFUSED.items()
    ),
)
