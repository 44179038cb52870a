"""Operations whose name is still in use but whose words once stood in another order.

A reader returns False, having read nothing, when the text is today's.
"""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen.dialects.framework.kinds import VECTOR_KIND
from gpucodegen.dialects.framework.syntax import State, read_type
from gpucodegen.dialects.shared.combiners import kind_word, of_kind
from gpucodegen.ir.attributes import (
    Attribute,
    DenseArrayAttr,
    OpaqueAttr,
    StringAttr,
    SymbolRefAttr,
)
from gpucodegen.ir.segments import OPERAND_SEGMENTS
from gpucodegen.ir.types import I1, I32, I64, Type, element_type
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.vintages import literals
from gpucodegen.parser.vintages.text_2019 import OldForm, renamed

Spelling = Callable[[Parser, State], bool]


def _constant(p: Parser, state: State) -> bool:
    """Inside functions ``constant`` is func.constant today; numbers are of 2019."""
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
    """``vector.multi_reduction <add>, %v [1] : type to type`` until 2022: no start."""
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
    start = literals.constant(p, neutral(kind, result), result, state.start)
    state.operands = [p.resolve(source, ty), start]
    state.result_types = [result]
    state.attributes |= {
        "kind": kind,
        "reduction_dims": DenseArrayAttr(I64, tuple(dimensions)),
    }
    return True


def neutral(kind: Attribute, ty: Type) -> float:
    """The value that a reduction may start from without changing its result."""
    element = element_type(ty)
    combiner = of_kind(kind_word(kind), element)
    return 0 if combiner is None else combiner.neutral_of(element)


SPELLINGS: dict[str, Spelling] = {
    "vector.multi_reduction": _multi_reduction,
    "func.constant": _constant,
    "gpu.shuffle": _shuffle,
}


# -- generic forms ---------------------------------------------------------------------


def _launched_kernel(p: Parser, state: State) -> None:
    """``kernel = "k", kernel_module = @m`` of 2019; fewer groups of operands."""
    del p
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
"""Which of today's groups an older launch had, by their number."""


GENERIC: dict[str, OldForm] = {"gpu.launch_func": _launched_kernel}
