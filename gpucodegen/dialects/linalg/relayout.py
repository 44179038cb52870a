"""linalg.pack, unpack, softmax and the Winograd transforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.declare import indices, op
from gpucodegen.dialects.framework.definition import Op, Types
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.dialects.linalg import relayout_checks as checks
from gpucodegen.dialects.linalg.syntax import print_group, print_results, read_operands
from gpucodegen.ir.attributes import Attribute, DenseArrayAttr, IntegerAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import I32, I64, TensorType, Type

# -- pack and unpack -------------------------------------------------------------------


def _like_dest(types: Types, _: Mapping[str, Attribute]) -> Sequence[Type] | None:
    """A tensor destination gives the result; a memref is written to."""
    dest = types.get("dest", ())
    return tuple(ty for ty in dest if isinstance(ty, TensorType))


_NO_PERMUTATION = kinds.AttributeKind(
    "array<i64>",
    kinds.integers().read,
    kinds.integers().write,
    kinds.integers().starts,
    kinds.integers().accepts,
    default=DenseArrayAttr(I64, ()),
    optional=True,
)
_TILING = (
    " (`outer_dims_perm` `=` $outer_dims_perm^)?"
    " `inner_dims_pos` `=` $inner_dims_pos `inner_tiles` `=`"
    " custom<DynamicIndexList>($inner_tiles, $static_inner_tiles)"
    " `into` $dest attr-dict `:` type($source) `->` type($dest)"
)
_PADDING = " (`padding_value` `(` $padding_value^ `:` type($padding_value) `)`)?"


def relayout(name: str, *, padded: bool) -> Op:
    """A change between rows and tiles; ``tensor.pack`` until 2025."""
    return op(
        name,
        f"source dest {'padding_value? ' if padded else ''}inner_tiles* -> result*",
        f"$source{_PADDING if padded else ''}{_TILING}",
        attributes={
            "outer_dims_perm": _NO_PERMUTATION,
            "inner_dims_pos": kinds.integers(),
            "static_inner_tiles": kinds.integers(),
        },
        infer={"result": _like_dest, "inner_tiles": indices},
        types={"source": constraints.SHAPED, "dest": constraints.SHAPED},
        checks=[checks.check_pack if padded else checks.check_unpack],
    )


# -- softmax and Winograd --------------------------------------------------------------


def _parse_softmax(r: Reader, state: State) -> None:
    """``{attrs} dimension(1) ins(..) outs(..) -> type``."""
    state.attributes |= r.attr_dict()
    r.expect("dimension")
    r.expect("(")
    state.attributes["dimension"] = IntegerAttr(r.integer(), I64)
    r.expect(")")
    read_operands(r, state)
    state.result_types = r.arrow_types()


def _print_softmax(w: Writer, o: Operation) -> None:
    w.attr_dict(o, ("dimension",))
    w.write(f" dimension({o.integer('dimension')})")
    _print_ends(w, o)


def _print_ends(w: Writer, o: Operation) -> None:
    print_group(w, "ins", o.operands[:1])
    print_group(w, "outs", o.operands[1:])
    print_results(w, o.results)


_FMR = ("F_2_3", "F_4_3", "F_2_5")
"""Output and filter size, by the number that stands for them."""


def _parse_winograd(r: Reader, state: State) -> None:
    """``{attrs} fmr(F_4_3) ins(..) outs(..) -> type``; ``m(4) r(3)`` in 2024."""
    state.attributes |= r.attr_dict()
    start = r.start
    if r.token == "m":
        m, size = _sized(r, "m"), _sized(r, "r")
        name = f"F_{m}_{size}"
    else:
        r.expect("fmr")
        r.expect("(")
        name = r.keyword("a size such as F_4_3")
        r.expect(")")
    if name not in _FMR:
        raise errors.InvalidAttribute(
            r.location(start),
            problem=f"{name} is no Winograd algorithm",
            hint=f"Use one of {', '.join(_FMR)}",
        )
    state.attributes["fmr"] = IntegerAttr(_FMR.index(name), I32)
    read_operands(r, state)
    state.result_types = r.arrow_types()


def _sized(r: Reader, word: str) -> int:
    r.expect(word)
    r.expect("(")
    size = r.integer()
    r.expect(")")
    return size


def _print_winograd(w: Writer, o: Operation) -> None:
    w.attr_dict(o, ("fmr",))
    number = o.integer("fmr")
    w.write(f" fmr({_FMR[number]})")
    _print_ends(w, o)


def _winograd(part: str) -> Op:
    return op(
        f"linalg.winograd_{part}_transform",
        "source output -> result",
        (_parse_winograd, _print_winograd),
        attributes={"fmr": kinds.enumeration(_FMR, I32)},
        types={"source": constraints.TENSOR, "output": constraints.TENSOR},
        same="output result",
        checks=[checks.WINOGRAD[part]],
    )


OPERATIONS = (
    relayout("linalg.pack", padded=True),
    relayout("linalg.unpack", padded=False),
    op(
        "linalg.softmax",
        "input output -> result*",
        (_parse_softmax, _print_softmax),
        attributes={"dimension": kinds.INT64},
        types={"input": constraints.SHAPED, "output": constraints.SHAPED},
        checks=[checks.check_softmax],
    ),
    *(_winograd(part) for part in ("filter", "input", "output")),
)
