"""A pass for Numba: values that live in one block get names of their own.

Numba's SSA walks the whole kernel twice for each variable that is assigned more than
once.  Generated text uses few names again and again, most of them within one block,
where one walk for all of them tells which value a name stands for:

    x = a; f(x); x = b; g(x)    =>    x = a; f(x); x.1 = b; g(x.1)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from numba.core import ir
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import replace_vars_inner, replace_vars_stmt


@register_pass(mutates_CFG=False, analysis_only=False)
class BlockNames(FunctionPass):
    """Renames variables with several assignments that no block takes from another."""

    _name = "block_names"

    def __init__(self) -> None:
        """Numba makes passes without arguments."""
        super().__init__()

    def run_pass(self, state: Any) -> Any:
        """Rewrite the blocks in place; whether a name changed."""
        blocks = state.func_ir.blocks.values()
        reused = _assigned_again(blocks) - _taken(blocks)
        seen = set[str]()
        for block in blocks if reused else ():
            _rename(block, reused, seen)
        return bool(reused)


def _assigned_again(blocks: Any) -> set[str]:
    """Variables with more than one assignment."""
    counts = Counter(
        statement.target.name
        for block in blocks
        for statement in block.body
        if isinstance(statement, ir.Assign)
    )
    return {name for name, count in counts.items() if count > 1}


def _taken(blocks: Any) -> set[str]:
    """Variables that a block reads before it assigns them."""
    taken = set[str]()
    for block in blocks:
        own = set[str]()
        for statement in block.body:
            taken.update(name for name in _read(statement) if name not in own)
            if isinstance(statement, ir.Assign):
                own.add(statement.target.name)
    return taken


def _read(statement: Any) -> Iterator[str]:
    """The variables that a statement reads."""
    if not isinstance(statement, ir.Assign):
        yield from (each.name for each in statement.list_vars())
    elif isinstance(statement.value, ir.Var):
        yield statement.value.name
    elif isinstance(statement.value, ir.Inst):
        yield from (each.name for each in statement.value.list_vars())


def _rename(block: Any, reused: set[str], seen: set[str]) -> None:
    """Give the assignments of ``reused`` in a block new names, but the first of all."""
    names: dict[str, Any] = {}
    for statement in block.body:
        reads_renamed = any(name in names for name in _read(statement))
        if not isinstance(statement, ir.Assign):
            if reads_renamed:
                replace_vars_stmt(statement, names)
            continue
        if reads_renamed:
            statement.value = replace_vars_inner(statement.value, names)
        name = statement.target.name
        if name in seen:
            statement.target = names[name] = block.scope.redefine(name, statement.loc)
        elif name in reused:
            seen.add(name)
