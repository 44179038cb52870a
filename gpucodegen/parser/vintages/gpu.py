"""Text of 2021 to 2024 of the gpu dialect whose words stood in another order."""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen.dialects.framework.syntax import State
from gpucodegen.dialects.gpu.words import modern
from gpucodegen.ir.attributes import StringAttr
from gpucodegen.parser.parser import Parser

Spelling = Callable[[Parser, State], bool]


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


SPELLINGS: dict[str, Spelling] = {
    "gpu.printf": _printf,
    "gpu.subgroup_mma_elementwise": _elementwise,
}
