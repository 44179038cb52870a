"""Text of 2019 to 2024 of operations whose operands were once in another order.

It covers the gpu dialect, views, and ``scf.foreach_thread`` of 2022, today
``scf.forall``. A reader returns False, having read nothing, when the text is today's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework.kinds import VECTOR_KIND
from gpucodegen.dialects.framework.syntax import State, Use, read_type
from gpucodegen.dialects.gpu.syntax import modern
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.memref.reshapes import give_output_shape
from gpucodegen.dialects.scf import syntax
from gpucodegen.dialects.shared.combiners import kind_word, of_kind
from gpucodegen.dialects.shared.control_flow import Carried
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    IntegerAttr,
    OpaqueAttr,
    StringAttr,
    SymbolRefAttr,
)
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Block, Operation, Region, Value
from gpucodegen.ir.types import I1, I32, I64, INDEX, MemRefType, Type, element_type
from gpucodegen.parser.legacy import generic_forms
from gpucodegen.parser.legacy.text_2019 import OldForm, renamed
from gpucodegen.parser.parser import Parser

Spelling = Callable[[Parser, State], bool]


def _constant(p: Parser, state: State) -> bool:
    """Inside functions ``constant @f`` is func.constant; numbers are of 2019."""
    resume = p.start
    p.attr_dict()
    is_symbol = p.token[:1] == "@"
    p.move_to(resume)
    if not is_symbol:
        renamed("arith.constant")(p, state)
    return not is_symbol


def _shuffle(p: Parser, state: State) -> bool:
    """``gpu.shuffle %x, %offset, %width xor : type`` of 2019 to 2021."""
    if p.token[:1] != "%":
        return False
    value = p.use()
    p.expect(",")
    offset = p.use()
    p.expect(",")
    width = p.use()
    mode = p.one_of(("xor", "up", "down", "idx"), "a mode")
    state.attributes = {"mode": OpaqueAttr(f"#gpu.shuffle_mode<{mode}>")}
    ty = read_type(p, state)
    rest = [p.resolve(use, I32) for use in (offset, width)]
    state.operands = [p.resolve(value, ty), *rest]
    state.result_types = [ty, I1]
    return True


def _multi_reduction(p: Parser, state: State) -> bool:
    """``vector.multi_reduction <add>, %v [1] : type to type``: no accumulator."""
    resume = p.start
    kind = VECTOR_KIND.read(p)
    p.expect(",")
    source = p.use()
    if p.token != "[":
        p.move_to(resume)
        return False
    dimensions = p.listed("[", "]", p.integer)
    ty = read_type(p, state)
    p.one_of(("to",), "'to'")
    result = p.type()
    start = generic_forms.constant(p, neutral(kind, result), result, state.start)
    state.operands = [p.resolve(source, ty), start]
    state.result_types = [result]
    state.attributes |= {
        "kind": kind,
        "reduction_dims": DenseArrayAttr(I64, tuple(dimensions)),
    }
    return True


def neutral(kind: Attribute, ty: Type) -> float:
    """The neutral element of a reduction at a type."""
    element = element_type(ty)
    combiner = of_kind(kind_word(kind), element)
    return 0 if combiner is None else combiner.neutral_of(element)


SPELLINGS: dict[str, Spelling] = {
    "vector.multi_reduction": _multi_reduction,
    "func.constant": _constant,
    "gpu.shuffle": _shuffle,
}


# -- generic forms ---------------------------------------------------------------------


def _launched_kernel(_: Parser, state: State) -> None:
    """``kernel = "k", kernel_module = @m`` of 2019; fewer groups of operands."""
    name = state.attributes.get("kernel")
    module = state.attributes.pop("kernel_module", None)
    if isinstance(name, StringAttr) and isinstance(module, SymbolRefAttr):
        state.attributes["kernel"] = SymbolRefAttr((*module.path, name.value))
    sizes = state.attributes.get(OPERAND_SEGMENTS)
    written = sizes.values if isinstance(sizes, DenseArrayAttr) else ()
    counts = tuple(map(int, written)) or (*_GRID, len(state.operands) - len(_GRID))
    if len(counts) in _LAUNCH_GROUPS:
        groups = dict(zip(_LAUNCH_GROUPS[len(counts)], counts, strict=True))
        modern = tuple(groups.get(i, 0) for i in range(_MODERN_GROUPS))
        state.attributes[OPERAND_SEGMENTS] = DenseArrayAttr(I32, modern)


_GRID = (1,) * 6
_MODERN_GROUPS = 13
_LAUNCH_GROUPS = {
    7: (*range(1, 7), 11),
    8: (*range(7), 11),
    9: (*range(7), 10, 11),
    12: tuple(range(12)),
}
"""Operand groups that an older launch had, by their number."""


GENERIC: dict[str, OldForm] = {"gpu.launch_func": _launched_kernel}


def _printf(p: Parser, state: State) -> bool:
    """``gpu.printf "text" {..} %a, %b : types`` until 2024: no comma before them."""
    resume, text = p.start, p.string()
    attributes = p.attr_dict()
    start, uses = p.start, p.uses()
    has_types = p.token == ":" and not p.peek()[:1].isdigit()
    if not uses or not has_types:
        p.move_to(resume)
        return False
    state.attributes = {"format": StringAttr(text), **attributes}
    p.expect(":")
    state.operands = p.resolve_all(uses, p.types(), start)
    return True


def _elementwise(p: Parser, state: State) -> bool:
    """``%a, %b {opType = "addf"} : (types) -> type`` until 2022."""
    if p.token[:1] != "%":
        return False
    start = p.start
    uses = p.uses()
    state.attributes = p.attr_dict()
    modern("opType", "mma_element_wise")(state)
    p.expect(":")
    signature = p.function_type()
    state.operands = p.resolve_all(uses, signature.inputs, start)
    state.result_types = list(signature.results)
    return True


GPU_SPELLINGS: dict[str, Spelling] = {
    "gpu.printf": _printf,
    "gpu.subgroup_mma_elementwise": _elementwise,
}


def _foreach_thread(p: Parser, state: State) -> None:
    """``(%i) in (%n) shared_outs(..) -> (types) { .. }``; at first without outputs."""
    state.name = "scf.forall"
    loops = syntax.parse_loops(p)
    if p.token != "->":
        syntax.parse_body(p, state, loops)
        return
    start = p.start
    types = p.arrow_types()
    region = syntax.complete(p.region(loops.variables(p), terminator=syntax.END))
    state.attributes |= p.attr_dict()
    insertions = region.blocks[0].operations[-1].body.operations
    if len(insertions) != len(types):
        raise errors.OperandMismatch(
            p.location(start),
            operation="scf.foreach_thread",
            problem=f"{len(types)} results for {len(insertions)} insertions",
            hint="Write one insertion per result",
        )
    syntax.finish(state, loops, *_with_outputs(region, insertions, types))


def _with_outputs(
    region: Region, insertions: tuple[Operation, ...], types: list[Type]
) -> tuple[Carried, Region]:
    """Insertions write to block arguments that start as their destinations."""
    (block,) = region.blocks
    *before, end = block.operations
    targets = [op.operands[1] for op in insertions]
    outputs = tuple(Value(v.type, v.name, v.location) for v in targets)
    redirected = [
        op.with_(operands=(op.operands[0], output, *op.operands[2:]))
        for op, output in zip(insertions, outputs, strict=True)
    ]
    operations = (*before, end.with_body(redirected))
    body = Block((*block.arguments, *outputs), operations, block.label)
    return Carried(inits=targets, types=types), Region((body,))


SCF_FORMS: dict[str, OldForm] = {"scf.foreach_thread": _foreach_thread}


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
    shift = shift or [generic_forms.constant(p, 0, INDEX, state.start)]
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


VIEW_FORMS: dict[str, OldForm] = {"subview": _subview, "view": _view}


# -- generic forms ---------------------------------------------------------------------


def _static_lists(_: Parser, state: State) -> None:
    """Convert number lists, which were array attributes until 2023."""
    for name, value in state.attributes.items():
        if name.startswith("static_") and isinstance(value, ArrayAttr):
            numbers = [e.value for e in value.values if isinstance(e, IntegerAttr)]
            if name in _COUNTS:
                numbers = [DYNAMIC_MARK if n == -1 else n for n in numbers]
            state.attributes[name] = DenseArrayAttr(I64, tuple(numbers))


_COUNTS = ("static_sizes", "static_low", "static_high")


def _assume_alignment(_: Parser, state: State) -> None:
    """The memref is also the result since 2025."""
    state.result_types = state.result_types or [v.type for v in state.operands[:1]]


def _expand_shape(p: Parser, state: State) -> None:
    """Compute the extents, which the text omits until 2024."""
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
VIEW_GENERIC: dict[str, OldForm] = {
    "memref.assume_alignment": _assume_alignment,
    "memref.expand_shape": _expand_shape,
    "tensor.expand_shape": _expand_shape,
    **dict.fromkeys(_SLICES, _static_lists),
}
