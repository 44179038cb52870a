"""Loop distribution: a loop becomes one loop per part of its body.

The body of the innermost of perfectly nested loops is cut into parts (`finest` or
`around_loops`), and the result is a sequence of nests that keeps every dependence
(`gpucodegen.tiling.schedule.transforms`).  Parts stay together if they depend on each
other in a cycle, share a scalar, or compute one carried value together.  Constants and
index arithmetic are repeated in each nest that needs them.

The pass `distribute` cuts as finely as possible; mapping cuts around inner loops, so
that the operations between two loops stay one nest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.nests import loop_names
from gpucodegen.passes.nests.loop_names import FOR, Site, find_loops, functions, sites
from gpucodegen.passes.nests.loop_ranges import chain_of, is_repeatable
from gpucodegen.passes.nests.loop_rewriting import Replacement, rewrite_loops
from gpucodegen.records import dataclass
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule.transforms import distribution

Operations = tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class BodyPart:
    """Operations of a body that stay in one loop, and their common values."""

    operations: Operations
    ties: frozenset[Value]


def distribute(op: Operation, analysis: NestAnalysis) -> list[Operation]:
    """Nests, one per part of the innermost imperfect body, or ``[op]``."""
    if op.name != FOR:
        return [op]
    chain = chain_of(op)
    if any(loop.results for loop in chain) or loop_names.without_copies(chain[:1]):
        return [op]
    made = distributed(chain, around_loops(chain[-1]), analysis)
    return [op] if made is None else list(made.operations)


def distributed(
    chain: Sequence[Operation], parts: Sequence[BodyPart], analysis: NestAnalysis
) -> Replacement | None:
    """The loops of ``chain`` around groups of parts; None if there is one group only.

    Only a chain of one loop may carry values.
    """
    if len(parts) < 2:
        return None
    (outermost,) = loop_names.lifted_loops(analysis, chain[:1])
    accesses = [_accesses(analysis, part) for part in parts]
    groups = distribution(analysis.dependences, outermost, accesses)
    if len(groups) < 2:
        return None
    carried = affine.For(chain[-1]).iter_args
    nests: list[Operation] = []
    values: dict[Value, Value] = {}
    for number, group in enumerate(groups):
        ties = frozenset[Value]().union(*(parts[at].ties for at in group))
        others = frozenset[Value]().union(*(p.ties for p in parts)) - ties
        own = [
            at
            for at, value in enumerate(carried)
            if value in ties or (number == 0 and value not in others)
        ]
        kept = {op for at in group for op in parts[at].operations}
        nest = _around(chain, kept, own)
        old = [chain[-1].results[at] for at in own]
        values.update(zip(old, nest.results, strict=True))
        nests.append(nest)
    return Replacement(tuple(nests), values)


def finest(op: Operation) -> list[BodyPart]:
    """One part per operation of the body, where they share no scalar."""
    return _parts(op, [(inner,) for inner in op.body.operations[:-1]])


def around_loops(op: Operation) -> list[BodyPart]:
    """Loops, and the operations between two of them, where they share no scalar."""
    runs = groupby(op.body.operations[:-1], key=lambda inner: bool(inner.regions))
    cut: list[Operations] = []
    for has_regions, run in runs:
        cut += [(inner,) for inner in run] if has_regions else [tuple(run)]
    return _parts(op, cut)


def _parts(op: Operation, cut: Iterable[Operations]) -> list[BodyPart]:
    """The body without repeatable operations, parts with common values joined."""
    repeated = _repeated(op)
    made = {v for inner in op.body.operations for v in inner.results}
    tying = (made | set(op.body.arguments[1:])) - {
        v for inner in repeated for v in inner.results
    }
    groups: list[tuple[set[Operation], set[Value]]] = [
        (set(), {argument, value} & tying)
        for argument, value in zip(
            op.body.arguments[1:], op.body.operations[-1].operands, strict=True
        )
    ]
    for run in cut:
        operations = {inner for inner in run if inner not in repeated}
        ties = {v for inner in operations for v in inner.results}
        ties |= {v for inner in operations for v in _used(inner)} & tying
        if operations:
            groups.append((operations, ties))
    order = {inner: at for at, inner in enumerate(op.body.operations)}
    parts = [
        BodyPart(tuple(sorted(operations, key=order.__getitem__)), frozenset(ties))
        for operations, ties in _joined(groups)
        if operations
    ]
    return sorted(parts, key=lambda part: order[part.operations[0]])


def _joined(
    groups: Iterable[tuple[set[Operation], set[Value]]],
) -> list[tuple[set[Operation], set[Value]]]:
    """Merge groups with a common value."""
    found: list[tuple[set[Operation], set[Value]]] = []
    for operations, ties in groups:
        tied = [group for group in found if not ties.isdisjoint(group[1])]
        found = [group for group in found if ties.isdisjoint(group[1])]
        found.append(
            (
                operations.union(*(group[0] for group in tied)),
                ties.union(*(group[1] for group in tied)),
            )
        )
    return found


def _repeated(op: Operation) -> set[Operation]:
    """Repeatable operations: constants and index arithmetic without carried values.

    Their operands from the body must be repeatable as well.
    """
    varying = set(op.body.arguments[1:])
    found: set[Operation] = set()
    for inner in op.body.operations[:-1]:
        if is_repeatable(inner) and varying.isdisjoint(inner.used):
            found.add(inner)
        else:
            varying.update(inner.results)
    return found


def _used(op: Operation) -> set[Value]:
    return {value for inner in op.walk() for value in inner.used}


def _accesses(analysis: NestAnalysis, part: BodyPart) -> frozenset[tuple[str, int]]:
    """Statements and positions of the accesses of a part."""
    inside = {id(o) for op in part.operations for o in op.walk()}
    return frozenset(
        (name, position)
        for name, operations in analysis.lifted.operations.items()
        for position, op in enumerate(operations)
        if id(op) in inside
    )


def _around(
    chain: Sequence[Operation], kept: set[Operation], carried: Sequence[int]
) -> Operation:
    """A copy of the loops around some operations, with some of the carried values."""
    innermost = chain[-1]
    *body, end = innermost.body.operations
    yielded = [end.operands[at] for at in carried]
    needed = {*yielded, *(value for inner in kept for value in _used(inner))}
    repeated = _repeated(innermost)
    inside: list[Operation] = []
    for inner in reversed(body):
        is_needed = inner in repeated and not needed.isdisjoint(inner.results)
        if inner in kept or is_needed:
            inside.insert(0, inner)
            needed |= _used(inner)
    nest = _carrying(innermost, inside, yielded, carried)
    for loop in reversed(chain[:-1]):
        nest = loop.with_body((nest, loop.body.operations[-1]))
    return clone(nest)


def _carrying(
    op: Operation,
    body: Sequence[Operation],
    yielded: Sequence[Value],
    carried: Sequence[int],
) -> Operation:
    """The loop over ``body`` that carries the values at some positions only."""
    loop = affine.For(op)
    end = affine.yield_(yielded, location=op.body.operations[-1].location)
    made = affine.for_(
        loop.lower_map,
        loop.lower_operands,
        loop.upper_map,
        loop.upper_operands,
        body=[*body, end],
        iv=loop.iv,
        step=loop.step,
        inits=[loop.inits[at] for at in carried],
        iters=[loop.iter_args[at] for at in carried],
        location=op.location,
    )
    results = tuple(op.results[at] for at in carried)
    attributes = {**op.attributes, **made.attributes}
    return made.with_(attributes=attributes, results=results)


@dataclass(frozen=True, slots=True)
class Distribute(ModulePass, name="distribute"):
    """Distribute a loop over its body; default: all loops, inner ones first.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%A: memref<9xf32>, %B: memref<9xf32>, %v: f32) {
    ...   affine.for %i = 0 to 8 {
    ...     %x = affine.load %A[%i] : memref<9xf32>
    ...     affine.store %x, %B[%i] : memref<9xf32>
    ...     affine.store %v, %A[%i + 1] : memref<9xf32>
    ...   }
    ...   return
    ... }''')
    >>> print(Distribute().apply(module))
    module {
      func.func @f(%A: memref<9xf32>, %B: memref<9xf32>, %v: f32) {
        affine.for %i = 0 to 8 {
          affine.store %v, %A[%i + 1] : memref<9xf32>
        }
        affine.for %i = 0 to 8 {
          %x = affine.load %A[%i] : memref<9xf32>
          affine.store %x, %B[%i] : memref<9xf32>
        }
        return
      }
    }
    """

    function: str = ""
    loop: str = ""

    def apply(self, module: Module) -> Module:
        """Distribute; a named loop with asynchronous copies is refused."""
        if self.loop:
            chosen = find_loops(module, self.function, self.loop)
            for site in chosen:
                refusal = _refusal_of(site.loop)
                what = f"distribution of the loop at {site.shown}"
                loop_names.demand(refusal, site.loop, what)
            return _distributed(module, chosen)
        names = [
            (function.attributes["sym_name"], site.path)
            for function in functions(module, self.function)
            for site in sites(function)
        ]
        for name, path in reversed(names):
            again = [
                site
                for function in functions(module, self.function)
                if function.attributes["sym_name"] == name
                for site in sites(function)
                if site.path == path and _refusal_of(site.loop) is None
            ]
            module = _distributed(module, again)
        return module


def _refusal_of(op: Operation) -> Refusal | None:
    return loop_names.without_copies([op])


def _distributed(module: Module, chosen: Sequence[Site]) -> Module:
    surroundings = Surroundings.of(module)

    def transform(site: Site, op: Operation) -> Replacement | None:
        parts = finest(op)
        if len(parts) < 2:
            return None
        analysis = loop_names.analysed(site, op, surroundings, fine=True)
        return distributed([op], parts, analysis)

    return rewrite_loops(module, chosen, transform)
