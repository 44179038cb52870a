"""A pass for Numba: values that never meet get different names, each with its type.

Generated text uses few names again and again.  Definitions that reach a common use are
one value and keep a common name; this is the partition into webs of register
allocators, by reaching definitions:

    x = a; f(x); x = b; g(x)           =>    x = a; f(x); x.1 = b; g(x.1)
    x = a; while ...: x = h(x)         =>    as it was

Numba's SSA splits webs as well, walks the whole kernel twice for each variable, and
joins the parts again by copies; types need webs only.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from numba.core import ir
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import (
    build_definitions,
    replace_vars_inner,
    replace_vars_stmt,
)
from numba.core.transforms import canonicalize_cfg

Blocks = Mapping[int, Any]


@register_pass(mutates_CFG=True, analysis_only=False)
class ValueNames(FunctionPass):
    """Renames variables with several assignments, web by web."""

    _name = "value_names"

    def __init__(self) -> None:
        """Numba makes passes without arguments."""
        super().__init__()

    def run_pass(self, state: Any) -> Any:
        """Rewrite the blocks in place; whether a name changed."""
        code = state.func_ir
        code.blocks = canonicalize_cfg(code.blocks)
        reused = _assigned_again(code.blocks)
        if reused:
            _rename(code.blocks, _webs(code.blocks, reused))
        code._definitions = build_definitions(code.blocks)  # noqa: SLF001
        return bool(reused)


@dataclass(slots=True)
class _Block:
    """What a block does to reused names; sets of definitions are bits of numbers."""

    exposed: set[str] = field(default_factory=set[str])
    """Names that it reads before it assigns them."""
    last: dict[str, int] = field(default_factory=dict[str, int])
    """The last definition of each name that it assigns."""
    reaching: int = 0
    """Definitions that reach its beginning."""


@dataclass(frozen=True, slots=True)
class _Webs:
    """The definitions of reused names, numbered in the order of the text."""

    parent: list[int]
    blocks: dict[int, _Block]
    of_name: dict[str, int]
    """The set of all definitions of each name."""

    def root(self, definition: int) -> int:
        """The first definition of a web."""
        while self.parent[definition] != definition:
            definition = self.parent[definition]
        return definition

    def join(self, definitions: int) -> None:
        """Make one web of a set of definitions."""
        first, *others = sorted({self.root(each) for each in _members(definitions)})
        for each in others:
            self.parent[each] = first

    def leaving(self, label: int) -> int:
        """The definitions that reach the end of a block."""
        block = self.blocks[label]
        killed = sum(self.of_name[name] for name in block.last)
        return block.reaching & ~killed | sum(1 << each for each in block.last.values())

    def at_entry(self, label: int) -> Iterator[tuple[str, int]]:
        """The names that a block takes from others, and the definitions of each."""
        block = self.blocks[label]
        for name in block.exposed:
            reaching = block.reaching & self.of_name[name]
            if reaching:
                yield name, reaching


def _members(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _assigned_again(blocks: Blocks) -> set[str]:
    """Variables with more than one assignment."""
    counts = Counter(
        _assigned(statement) for block in blocks.values() for statement in block.body
    )
    return {name for name, count in counts.items() if name and count > 1}


def _assigned(statement: Any) -> str:
    """The variable that a statement assigns, or an empty text."""
    return statement.target.name if isinstance(statement, ir.Assign) else ""


def _webs(blocks: Blocks, reused: set[str]) -> _Webs:
    """The definitions of ``reused``, joined where they reach a common use."""
    webs = _Webs([], {}, defaultdict(int))
    for label, block in sorted(blocks.items()):
        webs.blocks[label] = _summary(block, reused, webs)
    _propagate(blocks, webs)
    for label in blocks:
        for _, definitions in webs.at_entry(label):
            webs.join(definitions)
    return webs


def _summary(block: Any, reused: set[str], webs: _Webs) -> _Block:
    """Number the definitions of a block; what it takes and leaves."""
    made = _Block()
    for statement in block.body:
        taken = reused.intersection(_read(statement))
        made.exposed.update(name for name in taken if name not in made.last)
        name, number = _assigned(statement), len(webs.parent)
        if name in reused:
            webs.parent.append(number)
            webs.of_name[name] |= 1 << number
            made.last[name] = number
    return made


def _propagate(blocks: Blocks, webs: _Webs) -> None:
    """Reaching definitions: in(b) = union of out(p) over the blocks before b.

    out(b) is in(b) without the definitions of names that b assigns, and b's last ones.
    """
    left = sorted(blocks, reverse=True)
    while left:
        label = left.pop()
        out = webs.leaving(label)
        for target in blocks[label].terminator.get_targets():
            following = webs.blocks[target]
            if out & ~following.reaching:
                following.reaching |= out
                left.append(target)


def _read(statement: Any) -> Iterator[str]:
    """The variables that a statement reads."""
    if not isinstance(statement, ir.Assign):
        yield from (each.name for each in statement.list_vars())
    elif isinstance(statement.value, ir.Var):
        yield statement.value.name
    elif isinstance(statement.value, ir.Inst):
        yield from (each.name for each in statement.value.list_vars())


def _rename(blocks: Blocks, webs: _Webs) -> None:
    """Give each web of a name but the first a new one."""
    new: dict[int, Any] = {}
    number = 0
    for label, block in sorted(blocks.items()):
        renamed = _Renamed(block, webs, new)
        for name, definitions in webs.at_entry(label):
            renamed.use(name, next(_members(definitions)))
        for statement in block.body:
            renamed.replace_in(statement)
            name = _assigned(statement)
            if name in webs.of_name:
                renamed.use(name, number)
                statement.target = renamed.names.get(name, statement.target)
                number += 1


@dataclass(frozen=True, slots=True)
class _Renamed:
    """What reused names stand for at a place of a block."""

    block: Any
    webs: _Webs
    new: dict[int, Any]
    """The variables of webs with new names."""
    names: dict[str, Any] = field(default_factory=dict[str, Any])

    def use(self, name: str, definition: int) -> None:
        """From here on, a name stands for the web of a definition."""
        root = self.webs.root(definition)
        if root == next(_members(self.webs.of_name[name])):
            self.names.pop(name, None)
            return
        if root not in self.new:
            self.new[root] = self.block.scope.redefine(name, self.block.loc)
        self.names[name] = self.new[root]

    def replace_in(self, statement: Any) -> None:
        """Replace the names that a statement reads."""
        if all(name not in self.names for name in _read(statement)):
            return
        if isinstance(statement, ir.Assign):
            statement.value = replace_vars_inner(statement.value, self.names)
        else:
            replace_vars_stmt(statement, self.names)
