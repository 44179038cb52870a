"""stablehlo: the operations that JAX prints, in their short and generic forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpucodegen import errors
from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.dialects.framework.kinds import AttributeKind
from gpucodegen.dialects.framework.syntax import ParseOp, PrintOp, Reader, State
from gpucodegen.dialects.stablehlo import regions, syntax
from gpucodegen.dialects.stablehlo.names import BINARY, REFUSED, UNARY

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
    """An operation; without ``write`` it is printed in generic form."""
    return op(
        f"stablehlo.{name}",
        signature,
        (read, write),
        regions=regions_,
        traits=traits,
        attributes=attributes or {},
        adapt=regions.modern_lists,
        terminators=["stablehlo.return"] if regions_ != 0 else [],
    )


def refused(name: str, advice: str) -> Callable[[Reader, State], None]:
    """A reader of short forms that end here."""

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
    _op("convolution", regions.read_convolution),
    _op("reduce", regions.read_reduce, regions_=1),
    _op("reduce_window", regions_=1),
    _op("while", regions.read_while, regions_=2),
    _op("if", regions_=2),
    _op("case", regions_=None),
    *(
        _op(name, refused(f"stablehlo.{name}", advice), regions_=None)
        for name, advice in REFUSED.items()
    ),
)
