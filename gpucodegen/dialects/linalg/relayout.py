"""Table, syntax and rules of linalg's pack, unpack, softmax and Winograd transforms.

Winograd's convolution computes ``Y = A' [(G g G') * (B' d B)] A`` for a tile d of the
image and a filter g. A tile of the result has ``m`` points, a filter ``r`` taps, both
on each side, and ``G``, ``B'`` and ``A'`` have ``m + r - 1`` points between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from gpucodegen import errors
from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.constraints import agree, wrong
from gpucodegen.dialects.framework.declare import indices, op
from gpucodegen.dialects.framework.definition import Op, Types
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.dialects.linalg.checks import check_results
from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.dialects.linalg.syntax import print_group, print_results, read_operands
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.ir.attributes import Attribute, DenseArrayAttr, IntegerAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import I32, I64, Shape, TensorType, Type, element_type


def _shape(ty: Type) -> Shape:
    return getattr(ty, "shape", ())


# -- pack and unpack -------------------------------------------------------------------


def check_pack(o: Operation) -> None:
    """Tiling the source, with padding at the end, gives the destination's shape."""
    source, dest = o.operands[0].type, o.operands[1].type
    _check_relayout(o, _shape(source), _shape(dest))
    padding = [v for v in o.operands[2:3] if _has_padding(o)]
    if not padding:
        _check_full_tiles(o, _shape(source), _shape(dest))
    elif padding[0].type != element_type(source):
        raise wrong(
            o,
            f"pads {element_type(source)} with {padding[0].type}",
            "Pad with a value of the element type",
        )


def check_unpack(o: Operation) -> None:
    """Tiling the destination gives the source's shape."""
    _check_relayout(o, _shape(o.operands[1].type), _shape(o.operands[0].type))


def _has_padding(o: Operation) -> bool:
    return numbers(o, "operandSegmentSizes")[2] == 1


def _tiles(o: Operation) -> tuple[int | None, ...]:
    entries = numbers(o, "static_inner_tiles")
    return tuple(None if e == DYNAMIC_MARK else e for e in entries)


def _check_relayout(o: Operation, rows: Shape, tiled: Shape) -> None:
    check_results(o, 1)
    positions, tiles = numbers(o, "inner_dims_pos"), _tiles(o)
    order = numbers(o, "outer_dims_perm")
    if len(positions) != len(tiles):
        raise wrong(
            o,
            f"{len(tiles)} tiles for {len(positions)} dimensions",
            "Write one tile size per entry of inner_dims_pos",
        )
    if any(t is not None and t <= 0 for t in tiles):
        raise wrong(o, "a tile has no elements", "Use positive tile sizes")
    check_distinct(o, "inner_dims_pos", positions, len(rows))
    if order and sorted(order) != list(range(len(rows))):
        raise wrong(
            o,
            f"outer_dims_perm is no permutation of {len(rows)} dimensions",
            "Name every dimension once",
        )
    if len(tiled) != len(rows) + len(tiles):
        raise wrong(
            o,
            f"{len(rows)} dimensions and {len(tiles)} tiles do not make {len(tiled)}",
            "The tiled side has one more dimension per tile",
        )
    expected = _tiled_shape(rows, positions, tiles, order)
    if not all(map(agree, expected, tiled)):
        raise wrong(
            o,
            f"the tiled shape is {_text(expected)}, found {_text(tiled)}",
            "Make the shapes agree",
        )


def _tiled_shape(
    rows: Shape,
    positions: Sequence[int],
    tiles: Sequence[int | None],
    order: Sequence[int],
) -> Shape:
    outer = list(rows)
    for position, tile in zip(positions, tiles, strict=True):
        extent = outer[position]
        outer[position] = None
        if extent is not None and tile is not None:
            outer[position] = -(-extent // tile)
    return (*(outer[i] for i in order or range(len(outer))), *tiles)


def _text(shape: Shape) -> str:
    return "x".join("?" if e is None else str(e) for e in shape)


def _check_full_tiles(o: Operation, rows: Shape, tiled: Shape) -> None:
    """Without padding, tile sizes divide the extents."""
    order = numbers(o, "outer_dims_perm") or tuple(range(len(rows)))
    positions = numbers(o, "inner_dims_pos")
    for position, tile in zip(positions, _tiles(o), strict=True):
        extent, count = rows[position], tiled[order.index(position)]
        parts = count if tile is None else tile
        if extent is not None and parts and extent % parts:
            raise wrong(
                o,
                f"tiles of {parts} do not divide extent {extent}",
                "Pass a padding_value",
            )


def check_distinct(o: Operation, name: str, entries: Sequence[int], rank: int) -> None:
    """Entries are different dimensions within the rank."""
    if len(set(entries)) != len(entries) or not all(0 <= e < rank for e in entries):
        raise wrong(
            o,
            f"{name} = {list(entries)} does not name distinct dimensions of {rank}",
            f"Name dimensions from 0 to {rank - 1}, each once",
        )


# -- softmax ---------------------------------------------------------------------------


def check_softmax(o: Operation) -> None:
    """Input and output have one shape, which has the softmax dimension."""
    check_results(o, 1)
    source, output = (_shape(v.type) for v in o.operands)
    same = len(source) == len(output) and all(map(agree, source, output))
    if not same:
        raise wrong(
            o,
            f"turns {_text(source)} into {_text(output)}",
            "Give input and output one shape",
        )
    number = o.integer("dimension")
    check_distinct(o, "dimension", [number], len(source))


# -- Winograd --------------------------------------------------------------------------

_SIZES = ((2, 3), (4, 3), (2, 5))


def winograd_sizes(o: Operation) -> tuple[int, int]:
    """``(m, r)``: points of a result tile and taps of the filter on one side."""
    fmr = o.attributes["fmr"]
    return _SIZES[fmr.value if isinstance(fmr, IntegerAttr) else 0]


def _check_rank(o: Operation, source: int, output: int) -> None:
    ranks = tuple(len(_shape(v.type)) for v in o.operands)
    if ranks != (source, output):
        raise wrong(
            o,
            f"turns rank {ranks[0]} into rank {ranks[1]}",
            f"Pass a tensor of rank {source} and an output of rank {output}",
        )


def _require(o: Operation, output: Shape, expected: Shape) -> None:
    if not all(map(agree, expected, output)):
        raise wrong(
            o,
            f"the output shape is {_text(expected)}, found {_text(output)}",
            "Make the shapes agree",
        )


def _check_filter(o: Operation) -> None:
    """``f x r x r x c`` becomes ``a x a x c x f`` with ``a = m + r - 1``."""
    _check_rank(o, 4, 4)
    m, r = winograd_sizes(o)
    (f, height, width, c), output = (_shape(v.type) for v in o.operands)
    for extent in (height, width):
        if extent not in (r, 1, None):
            raise wrong(o, f"a filter of {height}x{width}", f"Use extents {r} or 1")
    if r not in (height, width) and None not in (height, width):
        raise wrong(o, f"a filter of {height}x{width}", f"Use extent {r} at least once")
    alphas = [1 if e == 1 else m + r - 1 for e in (height, width)]
    _require(o, output, (*alphas, c, f))


def _tile_counts(
    extents: Sequence[int | None], m: int, r: int
) -> tuple[list[int | None], list[int | None]]:
    """Per image extent: the tile's extent and the number of tiles."""
    alphas: list[int | None] = [1 if e == 1 else m + r - 1 for e in extents]
    return alphas, [_tile_count(e, m, r) for e in extents]


def _tile_count(extent: int | None, m: int, r: int) -> int | None:
    if extent is None or extent == 1:
        return extent
    return (extent - r + 1) // m


def _check_input(o: Operation) -> None:
    """``n x h x w x c`` becomes ``a x a x tiles x tiles x n x c``."""
    _check_rank(o, 4, 6)
    m, r = winograd_sizes(o)
    (n, height, width, c), output = (_shape(v.type) for v in o.operands)
    alphas, counts = _tile_counts((height, width), m, r)
    _require(o, output, (*alphas, *counts, n, c))


def _check_output(o: Operation) -> None:
    """``a x a x tiles x tiles x n x f`` becomes ``n x h x w x f``."""
    _check_rank(o, 6, 4)
    m, r = winograd_sizes(o)
    (high, wide, rows, columns, n, f), output = (_shape(v.type) for v in o.operands)
    extents: list[int | None] = []
    for alpha, count in ((high, rows), (wide, columns)):
        if alpha not in (m + r - 1, 1, None):
            raise wrong(o, f"tiles of extent {alpha}", f"Use extents {m + r - 1} or 1")
        extents.append(None if count is None else count * (1 if alpha == 1 else m))
    _require(o, output, (n, *extents, f))


WINOGRAD: dict[str, Callable[[Operation], None]] = {
    "filter": _check_filter,
    "input": _check_input,
    "output": _check_output,
}


Matrix = tuple[tuple[Fraction, ...], ...]


def _matrix(text: str, times: Fraction | int = 1) -> Matrix:
    return tuple(
        tuple(int(word) * Fraction(times) for word in row.split())
        for row in text.strip().splitlines()
    )


_G_2_3 = """
-2 0 0
1 -1 1
1 1 1
0 0 2
"""
_B_2_3 = """
-1 0 1 0
0 -1 1 0
0 1 1 0
0 -1 0 1
"""
_A_2_3 = """
1 1 1 0
0 -1 1 1
"""
_G_4_3 = """
12 0 0
-4 4 -4
-4 -4 -4
1 -2 4
1 2 4
0 0 12
"""
_B_4_3 = """
4 0 -5 0 1 0
0 4 -4 -1 1 0
0 -4 -4 1 1 0
0 4 -2 -4 2 0
0 -4 -2 4 2 0
0 4 0 -5 0 1
"""
_A_4_3 = """
1 2 2 1 1 0
0 -2 2 -2 2 0
0 2 2 4 4 0
0 -2 2 -8 8 4
"""
_G_2_5 = """
60 0 0 0 0
10 -10 10 -10 10
-10 -10 -10 -10 -10
-16 8 -4 2 -1
1 2 4 8 16
0 0 0 0 60
"""
_B_2_5 = """
2 3 -4 -3 2 0
0 2 1 -5 2 0
0 -2 -5 -1 2 0
0 4 -2 -4 2 0
0 -2 -4 2 4 0
0 2 3 -4 -3 2
"""
_A_2_5 = """
1 2 2 4 2 0
0 -2 2 -2 4 1
"""

MATRICES: dict[tuple[int, int], dict[str, Matrix]] = {
    (2, 3): {
        "filter": _matrix(_G_2_3, Fraction(1, 2)),
        "input": _matrix(_B_2_3),
        "output": _matrix(_A_2_3),
    },
    (4, 3): {
        "filter": _matrix(_G_4_3, Fraction(1, 12)),
        "input": _matrix(_B_4_3, Fraction(1, 16)),
        "output": _matrix(_A_4_3, 4),
    },
    (2, 5): {
        "filter": _matrix(_G_2_5, Fraction(1, 60)),
        "input": _matrix(_B_2_5, Fraction(1, 16)),
        "output": _matrix(_A_2_5, 8),
    },
}
"""The matrices ``G``, ``B'`` and ``A'`` by ``(m, r)``."""


# -- pack and unpack -------------------------------------------------------------------


def _like_dest(types: Types, _: Mapping[str, Attribute]) -> Sequence[Type] | None:
    """Inference: a tensor destination is the result type; a memref gives no result."""
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
    """The table entry of ``linalg.pack`` or ``unpack``; ``tensor.pack`` until 2025."""
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
        checks=[check_pack if padded else check_unpack],
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
"""Output and filter size by the number of the enumeration."""


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
        "source:tensor output:tensor -> result",
        (_parse_winograd, _print_winograd),
        attributes={"fmr": kinds.enumeration(_FMR, I32)},
        same="output result",
        checks=[WINOGRAD[part]],
    )


OPERATIONS = (
    relayout("linalg.pack", padded=True),
    relayout("linalg.unpack", padded=False),
    op(
        "linalg.softmax",
        "input:shaped output:shaped -> result*",
        (_parse_softmax, _print_softmax),
        attributes={"dimension": kinds.INT64},
        checks=[check_softmax],
    ),
    *(_winograd(part) for part in ("filter", "input", "output")),
)
