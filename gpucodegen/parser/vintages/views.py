"""Views of 2019 and 2020, whose lists may be empty or in another order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects.framework.syntax import State, Use, read_type
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.memref.shape_syntax import give_output_shape
from gpucodegen.ir.attributes import ArrayAttr, DenseArrayAttr, IntegerAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I64, INDEX, MemRefType, Type
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.vintages import literals

OldForm = Callable[[Parser, State], None]


def _view(p: Parser, state: State) -> None:
    """``view %m[%offset][%sizes]``, also the other way round and without offset."""
    state.name = "memref.view"
    source = p.use()
    first, second = (p.listed("[", "]", p.use) for _ in range(2))
    ty, result = _types(p, state)
    dynamic = result.shape.count(None) if isinstance(result, MemRefType) else 0
    is_today = len(second) == dynamic and len(first) < 2
    offsets, sizes = (first, second) if is_today else (second, first)
    shift = [p.resolve(use, INDEX) for use in offsets]
    shift = shift or [literals.constant(p, 0, INDEX, state.start)]
    rest = [p.resolve(use, INDEX) for use in sizes]
    state.operands = [p.resolve(source, ty), *shift, *rest]


def _subview(p: Parser, state: State) -> None:
    """``subview %m[offsets][sizes][strides]``; an empty list is read off the types."""
    state.name = "memref.subview"
    source = p.use()
    written = [p.listed("[", "]", lambda: _entry(p)) for _ in range(3)]
    ty, result = _types(p, state)
    rank = ty.rank if isinstance(ty, MemRefType) else 0
    shape = result.shape if isinstance(result, MemRefType) else ()
    sizes = [e for e in shape if e is not None]
    implied: list[list[int]] = [[0] * rank, sizes, [1] * rank]
    groups: list[list[Value]] = [[p.resolve(source, ty)]]
    names = ("static_offsets", "static_sizes", "static_strides")
    for name, entries, default in zip(names, written, implied, strict=True):
        groups.append(_set_list(p, state, name, entries or default))
    state.give(groups)


def _types(p: Parser, state: State) -> tuple[Type, Type]:
    """``{attributes} : type to type``."""
    ty = read_type(p, state)
    p.one_of(("to",), "'to'")
    state.result_types = [p.type()]
    return ty, state.result_types[0]


def _entry(p: Parser) -> Use | int:
    return p.use() if p.token[:1] == "%" else p.integer()


def _set_list(
    p: Parser, state: State, name: str, entries: Sequence[Use | int]
) -> list[Value]:
    static = tuple(e if isinstance(e, int) else DYNAMIC_MARK for e in entries)
    state.attributes[name] = DenseArrayAttr(I64, static)
    return [p.resolve(e, INDEX) for e in entries if not isinstance(e, int)]


FORMS: dict[str, OldForm] = {"subview": _subview, "view": _view}


# -- generic forms ---------------------------------------------------------------------


def _static_lists(p: Parser, state: State) -> None:
    """Numbers were an array attribute until 2023, and an unknown count was -1."""
    del p
    for name, value in state.attributes.items():
        if name.startswith("static_") and isinstance(value, ArrayAttr):
            numbers = [e.value for e in value.values if isinstance(e, IntegerAttr)]
            if name in _COUNTS:
                numbers = [DYNAMIC_MARK if n == -1 else n for n in numbers]
            state.attributes[name] = DenseArrayAttr(I64, tuple(numbers))


_COUNTS = ("static_sizes", "static_low", "static_high")


def _assume_alignment(p: Parser, state: State) -> None:
    """The memref is the result as well since 2025."""
    del p
    state.result_types = state.result_types or [v.type for v in state.operands[:1]]


def _expand_shape(p: Parser, state: State) -> None:
    """The extents were not stated until 2024."""
    if "static_output_shape" not in state.attributes and len(state.operands) == 1:
        give_output_shape(p, state)


_SLICES = (
    "memref.reinterpret_cast",
    "memref.subview",
    "tensor.extract_slice",
    "tensor.insert_slice",
    "tensor.pad",
    "tensor.parallel_insert_slice",
)
GENERIC: dict[str, OldForm] = {
    "memref.assume_alignment": _assume_alignment,
    "memref.expand_shape": _expand_shape,
    "tensor.expand_shape": _expand_shape,
    **dict.fromkeys(_SLICES, _static_lists),
}
