"""Loops by name, and legality queries on them that raise compile errors.

The options ``function`` and ``loop`` of loop passes name a loop of a function by

* its attribute ``gpucodegen.name = "i"``, which survives printing and later passes;
* the name of its variable: ``i`` for ``affine.for %i``;
* its path: ``0.1`` is the second loop inside the first loop of the function.  Loops are
  counted from 0 in textual order; conditions around them do not count.

The attribute wins over the variable.  An empty ``function`` means every function that
has the loop.  Names that fit no loop, or several of one function, are errors that list
the known ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.gcg import NAME
from gpucodegen.dialects.gpu.collectives import COLLECTIVES
from gpucodegen.ir.attributes import StringAttr
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import IndexType
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.scop import Loop, loops
from gpucodegen.tiling.proof.legality import Refusal

FOR = "affine.for"


@dataclass(frozen=True, slots=True)
class Site:
    """A loop and its position."""

    loop: Operation
    path: tuple[int, ...]
    function: Operation
    around: tuple[Operation, ...]
    """The operations around the loop inside the function, outermost first."""
    before: tuple[Operation, ...]
    """The function's operations before the nest, for their constants and shapes."""

    @property
    def root(self) -> Operation:
        """The operation of the function's body that holds the loop."""
        return self.around[0] if self.around else self.loop

    @property
    def depth(self) -> int:
        return len(self.path) - 1

    @property
    def shown(self) -> str:
        path = ".".join(map(str, self.path))
        return f"{path} ({loop_name(self.loop)})" if loop_name(self.loop) else path


def loop_name(op: Operation) -> str:
    """The name attribute of a loop, else the name of its variable.

    >>> from gpucodegen.ir.operation import Value
    >>> iv = Value(IndexType(), "i")
    >>> loop_name(affine.for_(0, (), 4, (), body=(), iv=iv))
    'i'
    """
    given = op.attributes.get(NAME)
    return given.value if isinstance(given, StringAttr) else affine.For(op).iv.name


def with_suffix(op: Operation, suffix: str) -> Operation:
    """The loop with ``suffix`` appended to its name attribute, if both exist."""
    given = op.attributes.get(NAME)
    if not suffix or not isinstance(given, StringAttr):
        return op
    return op.with_attribute(NAME, StringAttr(f"{given.value}_{suffix}"))


def sites(function: Operation) -> list[Site]:
    """Every ``affine.for`` of a function in textual order."""
    found: list[Site] = []
    for block in function.regions[0].blocks:
        for at, op in enumerate(block.operations):
            found += _below(op, function, (), block.operations[:at])
    return _with_paths(found)


def _below(
    op: Operation,
    function: Operation,
    around: tuple[Operation, ...],
    before: tuple[Operation, ...],
) -> Iterator[Site]:
    if op.name == FOR:
        yield Site(op, (), function, around, before)
    for inner in op.nested:
        yield from _below(inner, function, (*around, op), before)


def _with_paths(found: Sequence[Site]) -> list[Site]:
    """Number the loops below each loop."""
    paths: dict[Operation, tuple[int, ...]] = {}
    counts: dict[tuple[int, ...], int] = {}
    numbered: list[Site] = []
    for site in found:
        loops = [op for op in site.around if op.name == FOR]
        outer = paths[loops[-1]] if loops else ()
        number = counts.get(outer, 0)
        counts[outer] = number + 1
        paths[site.loop] = (*outer, number)
        numbered.append(
            Site(site.loop, (*outer, number), site.function, site.around, site.before)
        )
    return numbered


def functions(module: Module, name: str = "") -> list[Operation]:
    """The functions with a body: all, or the one of this name."""
    known = [
        op
        for op in module.walk()
        if op.name == "func.func" and op.regions and op.regions[0].blocks
    ]
    chosen = [op for op in known if name in {"", symbol_name(op)}]
    if name and not chosen:
        names = [symbol_name(op) for op in known]
        advice = errors.did_you_mean(
            name, names, f"Known functions: {errors.one_of(names)}"
        )
        raise errors.UnknownFunction(
            name=name, known=errors.one_of(names), advice=advice
        )
    return chosen


def find_loops(module: Module, function: str, loop: str) -> list[Site]:
    """The loop of this name in each function that has one.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f() {
    ...   affine.for %i = 0 to 4 {
    ...     affine.for %j = 0 to 4 { }
    ...   }
    ...   return
    ... }''')
    >>> [site.shown for site in find_loops(module, "", "0.0")]
    ['0.0 (j)']
    >>> find_loops(module, "f", "k")
    Traceback (most recent call last):
    gpucodegen.errors.compile.UnknownLoop: <string>:1:1: error: no loop 'k' in @f. \
Known loops: 0 (i), 0.0 (j)
    """
    chosen = functions(module, function)
    found = [site for op in chosen for site in _named(op, loop)]
    if not found:
        names = [
            site.shown if len(chosen) == 1 else f"@{symbol_name(op)}: {site.shown}"
            for op in chosen
            for site in sites(op)
        ]
        raise errors.UnknownLoop(
            chosen[0].location if len(chosen) == 1 else UNKNOWN,
            name=loop,
            where=f"@{function}" if function else _all(chosen),
            known=errors.one_of(names) or "none",
        )
    return found


def _all(chosen: Sequence[Operation]) -> str:
    return ", ".join(f"@{symbol_name(op)}" for op in chosen) or "the module"


def _named(function: Operation, name: str) -> list[Site]:
    known = sites(function)
    found = (
        [s for s in known if s.loop.attributes.get(NAME) == StringAttr(name)]
        or [s for s in known if affine.For(s.loop).iv.name == name]
        or [s for s in known if ".".join(map(str, s.path)) == name]
    )
    if len(found) > 1:
        raise errors.AmbiguousLoop(
            function.location,
            name=name,
            where=f"@{symbol_name(function)}",
            count=len(found),
            known=errors.one_of([s.shown for s in found]),
            notes=[(s.loop.location, "one of them") for s in found],
        )
    return found


def value_named(function: Operation, name: str, pass_name: str) -> Index:
    """A pass option that is a number or names an ``index`` argument of a function."""
    if name.removeprefix("-").isdigit():
        return Index.of(int(name))
    arguments = Function(function).body.arguments
    known = {v.name: v for v in arguments if isinstance(v.type, IndexType)}
    if name not in known:
        raise errors.InvalidPassOption(
            function.location,
            name=pass_name,
            problem=f"'{name}' is neither a number nor an index argument of "
            f"@{symbol_name(function)}",
            hint=f"Index arguments: {errors.one_of(list(known)) or 'none'}",
        )
    return Index.of(known[name])


ASYNCHRONOUS = frozenset(
    {
        "affine.dma_start",
        "affine.dma_wait",
        "memref.dma_start",
        "memref.dma_wait",
        *COLLECTIVES,
    }
)
"""Operations whose ordering is no dependence between iterations."""


def analysed(
    site: Site, op: Operation, surroundings: Surroundings, *, fine: bool = False
) -> NestAnalysis:
    """The analysis of the nest around a loop, with ``op`` in place of the loop."""
    (root,) = rewrite_bottom_up(site.root, lambda o: [op] if o is site.loop else None)
    return analyse([root], site.before, surroundings, fine=fine)


def lifted_loops(analysis: NestAnalysis, operations: Sequence[Operation]) -> list[Loop]:
    """The loop of the analysis that was made from each operation."""
    made = {id(loop.payload): loop for loop in loops(analysis.lifted.scop.body)}
    return [made[id(op)] for op in operations]


def demand(refusal: Refusal | None, op: Operation, transformation: str) -> None:
    """Raise IllegalTransformation at the loop if there is a refusal."""
    if refusal is None:
        return
    witness = refusal.witness
    events = (witness.first, witness.second) if witness else ()
    notes = [
        (event.loc, f"{event.statement} at {event} {event.verb}s it")
        for event in events
        if isinstance(event.loc, Location)
    ]
    raise errors.IllegalTransformation(
        op.location, notes=notes, transformation=transformation, reason=str(refusal)
    )


def without_copies(operations: Sequence[Operation]) -> Refusal | None:
    """Refuse where asynchronous copies or barriers are inside."""
    for op in operations:
        for inner in op.walk():
            if inner.name in ASYNCHRONOUS:
                return Refusal(f"'{inner.name}' orders more than its own iteration")
    return None


def without_carried_values(chain: Sequence[Operation]) -> Refusal | None:
    """Refuse loops with iteration arguments, which fix their order."""
    carrying = next((op for op in chain if op.results), None)
    if carrying is None:
        return None
    return Refusal(f"loop {loop_name(carrying)} carries values between iterations")


def shown(chain: Sequence[Operation]) -> str:
    """Names of loops for a message."""
    return ", ".join(loop_name(op) or "?" for op in chain)


def used_by(op: Operation) -> set[Value]:
    """Every value that an operation or its regions use."""
    return {value for inner in op.walk() for value in inner.operands}


def bound_values(op: Operation) -> tuple[Value, ...]:
    loop = affine.For(op)
    return (*loop.lower_operands, *loop.upper_operands)
