"""Loop fusion: adjacent nests with equal bounds, which share data, become one.

    for i { t[i] = f(a[i]) }                for i { t[i] = f(a[i])
    for i { b[i] = g(t[i]) }          =>            b[i] = g(t[i]) }

With c the iterations of the two nests, fusion is legal iff it reverses no dependence:

    { x -> y in dependences : x in first, y in second, c(y) lex before c(x) } = {}

Operations between the two that the second needs move before the first, which must be
legal, too; the others stay after the fused nest.  `Fuse` fuses producers with consumers
and siblings that read the same data.  `FuseElementwise` fuses where all loops stay
parallel, or where a reduction takes the parallel loops that compute its terms, and
leaves buffers that only one iteration then uses to `contract-arrays`.  Iterations keep
their order, so sums do, too; reductions that may not be reordered stay apart since they
make the loops of their terms sequential.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain, combinations, pairwise
from math import inf, prod
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.operation import (
    Operation,
    Value,
    rewrite_bottom_up,
    segment_counts,
    single_block,
    substitute_values,
)
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.lifting.accesses import is_memref
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.framework.nests import loop_depth
from gpucodegen.passes.loops.array_contraction import is_contractible
from gpucodegen.passes.loops.requested_schedules import APART, TOGETHER
from gpucodegen.passes.nests import loop_names
from gpucodegen.passes.nests.loop_names import (
    FOR,
    Site,
    find_loops,
    functions,
    loop_name,
)
from gpucodegen.passes.nests.loop_ranges import (
    LoopRange,
    chain_of,
    range_of,
    rebuilt,
    sunk,
)
from gpucodegen.passes.nests.loop_rewriting import in_block_of
from gpucodegen.passes.vectorize.accumulations import Order
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.locality import shares_data
from gpucodegen.tiling.proof.legality import Refusal, check_fusion


@dataclass(frozen=True, slots=True)
class NestPair:
    """Two loops of one block, the operations in between, and the fusion depth."""

    first: tuple[Operation, ...]
    """The loops to fuse, outermost first, each perfectly nested in the one before."""
    second: tuple[Operation, ...]
    between: tuple[Operation, ...]

    @property
    def outer(self) -> tuple[Operation, Operation]:
        """The two loops in the block."""
        return self.first[0], self.second[0]


@dataclass(frozen=True, slots=True)
class Fuser:
    """Fuses two loops of a block, ``depth`` loops deep or, for 0, as deep as is legal.

    ``root`` is the enclosing operation for the analysis, if there is one.  ``known``
    keeps the analyses of a Fuser without a root, by the operations.
    """

    before: Sequence[Operation]
    root: Operation | None
    surroundings: Surroundings
    depth: int = 0
    relaxed: bool = False
    known: dict[tuple[Operation, ...], NestAnalysis] = field(
        default_factory=dict[tuple[Operation, ...], NestAnalysis]
    )

    def fused(
        self, operations: Sequence[Operation], first: int, second: int
    ) -> list[Operation] | Refusal:
        """The block with its loops at two positions fused, or a refusal."""
        a, b = sunk(operations[first]), sunk(operations[second])
        between = tuple(operations[first + 1 : second])
        pairs = [
            NestPair(tuple(chain_of(a, depth)), tuple(chain_of(b, depth)), between)
            for depth in self._depths(a, b)
        ]
        alike = [pair for pair in pairs if structural_refusal(pair) is None]
        if not alike:
            few = Refusal(f"fewer than {self.depth} loops are perfectly nested")
            return (structural_refusal(pairs[-1]) if pairs else None) or few
        analysis = self._analysis(operations, first, second, (a, b))
        refusals: list[Refusal] = []
        for pair in alike:
            refusal = refusal_of(pair, analysis, relaxed=self.relaxed)
            if refusal is None:
                made = fused(pair, analysis)
                return [*operations[:first], *made, *operations[second + 1 :]]
            refusals.append(refusal)
        return refusals[-1]

    def _depths(self, a: Operation, b: Operation) -> range:
        most = min(len(chain_of(a)), len(chain_of(b)))
        if self.depth:
            return range(self.depth, self.depth + (self.depth <= most))
        return range(most, 0, -1)

    def _analysis(
        self,
        operations: Sequence[Operation],
        first: int,
        second: int,
        ends: tuple[Operation, Operation],
    ) -> NestAnalysis:
        a, b = ends
        if self.root is None:
            context = (*self.before, *operations[:first])
            run = (a, *operations[first + 1 : second], b)
            if run not in self.known:
                self.known[run] = analyse(run, context, self.surroundings)
            return self.known[run]
        changed = {operations[first]: a, operations[second]: b}
        (root,) = rewrite_bottom_up(
            self.root, lambda op: [changed[op]] if op in changed else None
        )
        return analyse([root], self.before, self.surroundings)


def refusal_of(
    pair: NestPair, analysis: NestAnalysis, *, relaxed: bool = False
) -> Refusal | None:
    """Why the pair may not be fused, or None."""
    return _kept_apart(pair, analysis) or _reversed(pair, analysis, relaxed=relaxed)


def structural_refusal(pair: NestPair) -> Refusal | None:
    """Why the loops' structure prevents fusion, whatever they do to memory."""
    return (
        _different_ranges(pair)
        or _carried(pair)
        or loop_names.without_copies([*pair.outer, *pair.between])
    )


def _carried(pair: NestPair) -> Refusal | None:
    first, second = pair.outer
    if loop_names.used_by(second) & set(first.results):
        used, user = loop_name(first), loop_name(second)
        return Refusal(f"loop {user} uses what loop {used} computed in all iterations")
    if len(pair.first) == 1:
        return None
    return loop_names.without_carried_values([*pair.first, *pair.second])


def _different_ranges(pair: NestPair) -> Refusal | None:
    renamed: dict[Value, Value] = {}
    for a, b in zip(pair.first, pair.second, strict=True):
        here = b.with_(operands=[renamed.get(value, value) for value in b.operands])
        if not _same(range_of(a), range_of(here)):
            names = f"loops {loop_name(a)} and {loop_name(b)}"
            return Refusal(f"{names} have different bounds")
        renamed[affine.For(b).iv] = affine.For(a).iv
    return None


def _same(a: LoopRange, b: LoopRange) -> bool:
    return a.step == b.step and all(
        len(left) == len(right)
        and all((x - y).constant == 0 for x, y in zip(left, right, strict=True))
        for left, right in ((a.lowers, b.lowers), (a.uppers, b.uppers))
    )


def _reversed(
    pair: NestPair, analysis: NestAnalysis, *, relaxed: bool
) -> Refusal | None:
    first = loop_names.lifted_loops(analysis, pair.first)
    second = loop_names.lifted_loops(analysis, pair.second)
    return check_fusion(analysis.dependences, first, second, relaxed=relaxed)


# -- operations in between -------------------------------------------------------------


def needed_before(pair: NestPair, analysis: NestAnalysis) -> tuple[Operation, ...]:
    """Operations between the loops that must run before the second one."""
    needed: list[Operation] = []
    users = [pair.outer[1]]
    for op in reversed(pair.between):
        results = set(op.results)
        is_used = any(results & loop_names.used_by(user) for user in users)
        if is_used or analysis.conflicts([op], users):
            needed.append(op)
            users.append(op)
    return tuple(reversed(needed))


def _kept_apart(pair: NestPair, analysis: NestAnalysis) -> Refusal | None:
    """Refuse where something must run after the first loop and before the second."""
    first, second = pair.outer
    for op in needed_before(pair, analysis):
        uses = loop_names.used_by(op) & set(first.results)
        if uses or analysis.conflicts([first], [op]):
            names = f"loops {loop_name(first)} and {loop_name(second)}"
            return Refusal(f"'{op.name}' must run between {names}")
    return None


# -- the fused nest --------------------------------------------------------------------


def fused(pair: NestPair, analysis: NestAnalysis) -> tuple[Operation, ...]:
    """The operations for the pair and those in between; nothing is checked."""
    needed = needed_before(pair, analysis)
    rest = [op for op in pair.between if op not in needed]
    variables = {
        affine.For(b).iv: affine.For(a).iv
        for a, b in zip(pair.first, pair.second, strict=True)
    }
    inner = substitute_values(pair.second[-1], variables)
    nest = _joined(pair.first[-1], inner)
    if len(pair.first) > 1:
        nest = rebuilt(pair.first[:-1], (nest, affine.yield_(location=nest.location)))
    return (*needed, nest, *rest)


def _joined(a: Operation, b: Operation) -> Operation:
    """One loop with both bodies, which carries the values of both."""
    first, second = affine.For(a), affine.For(b)
    bounds = (*first.lower_operands, *first.upper_operands)
    inits = (*first.inits, *second.inits)
    yielded = affine.yield_((*first.yielded, *second.yielded), location=a.location)
    arguments = (first.iv, *first.iter_args, *second.iter_args)
    sizes = (len(first.lower_operands), len(first.upper_operands), len(inits))
    return a.with_(
        operands=(*bounds, *inits),
        results=(*a.results, *b.results),
        regions=(
            single_block((*first.body[:-1], *second.body[:-1], yielded), arguments),
        ),
        attributes={**a.attributes, "operandSegmentSizes": segment_counts(*sizes)},
    )


@dataclass(frozen=True, slots=True)
class Fuse(ModulePass):
    """Fuse the two ``loops``, ``depth`` loops deep or, for 0, as deep as is legal.

    Without ``loops`` all neighbours in a function's body that may be fused are, which
    refuses nothing.  ``relaxed`` permits another order of accumulations.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%A: memref<9xf32>, %B: memref<9xf32>) {
    ...   affine.for %i = 0 to 9 {
    ...     %x = affine.load %A[%i] : memref<9xf32>
    ...     affine.store %x, %B[%i] : memref<9xf32>
    ...   }
    ...   affine.for %k = 0 to 9 {
    ...     %y = affine.load %B[%k] : memref<9xf32>
    ...     affine.store %y, %A[%k] : memref<9xf32>
    ...   }
    ...   return
    ... }''')
    >>> print(Fuse(loops=("i", "k")).apply(module))
    module {
      func.func @f(%A: memref<9xf32>, %B: memref<9xf32>) {
        affine.for %i = 0 to 9 {
          %x = affine.load %A[%i] : memref<9xf32>
          affine.store %x, %B[%i] : memref<9xf32>
          %y = affine.load %B[%i] : memref<9xf32>
          affine.store %y, %A[%i] : memref<9xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "fuse"
    loops: tuple[str, ...] = ()
    depth: int = 0
    function: str = ""
    relaxed: bool = False

    def apply(self, module: Module) -> Module:
        """Fuse, or raise IllegalTransformation with both places and a witness."""
        surroundings = Surroundings.of(module)
        if self.loops:
            for first, second in self._pairs(module):
                module = self._named(module, first, second, surroundings)
            return module
        chosen = functions(module, self.function)

        def everywhere(operations: Sequence[Operation]) -> list[Operation]:
            return _all_neighbours(operations, self._fuser((), None, surroundings))

        (root,) = rewrite_bottom_up(
            module.operation,
            lambda op: [with_blocks(op, everywhere)] if op in chosen else None,
        )
        return Module(root)

    def _pairs(self, module: Module) -> list[tuple[Site, Site]]:
        if len(self.loops) != 2:
            raise errors.InvalidPassOption(
                name=self.name,
                problem=f"'loops' holds {len(self.loops)} names",
                hint="Name two loops of one block, as in fuse{loops=[i,k]}",
            )
        found = [find_loops(module, self.function, name) for name in self.loops]
        later = {site.function: site for site in found[1]}
        return [(s, later[s.function]) for s in found[0] if s.function in later]

    def _named(
        self, module: Module, first: Site, second: Site, surroundings: Surroundings
    ) -> Module:
        what = f"fusion of the loops at {first.shown} and {second.shown}"

        def block(operations: Sequence[Operation]) -> Sequence[Operation]:
            if second.loop not in operations or first.loop is second.loop:
                refusal = Refusal("they are not two loops of one block")
                loop_names.demand(refusal, second.loop, what)
            start, end = sorted(operations.index(s.loop) for s in (first, second))
            root = first.root if first.around else None
            fuser = self._fuser(first.before, root, surroundings)
            made = fuser.fused(operations, start, end)
            if isinstance(made, Refusal):
                loop_names.demand(made, second.loop, what)
                return operations
            return made

        return Module(in_block_of(module.operation, first.loop, block))

    def _fuser(
        self,
        before: Sequence[Operation],
        root: Operation | None,
        surroundings: Surroundings,
    ) -> Fuser:
        return Fuser(before, root, surroundings, self.depth, self.relaxed)


def _all_neighbours(operations: Sequence[Operation], fuser: Fuser) -> list[Operation]:
    """The block with each loop fused with all later ones that permit it."""
    current = list(operations)
    refused: set[tuple[Operation, Operation]] = set()
    while True:
        loops = [at for at, op in enumerate(current) if op.name == FOR]
        for first, second in combinations(loops, 2):
            pair = current[first], current[second]
            if pair in refused:
                continue
            made = fuser.fused(current, first, second)
            if isinstance(made, Refusal):
                refused.add(pair)
            else:
                current = made
                break
        else:
            return current


STREAMS = 8
"""Most arrays of a fused nest: hardware prefetchers follow few streams."""

REFERENCES = 32
"""Most accesses of a fused nest: the analysis compares all pairs of them."""

BETWEEN = 2
"""Most loops between a nest and a later one that loads what it stores, if both fuse.

Nests of more loops stay between them: a product has its epilogue behind it.
"""
LOADS = frozenset({"affine.load", "affine.vector_load", "memref.load"})
STORES = frozenset({"affine.store", "affine.vector_store", "memref.store"})

Predicate = Callable[[Operation, NestAnalysis], bool]


Ends = tuple[Operation, Operation]
"""Two nests of a block, in their order."""
Span = tuple[int, int]
"""The numbers of the first and the last nest that a loop was made of."""


def any_pair(*_: object) -> bool:
    """The default of `LocalityFuser.accepts`."""
    return True


@dataclass(frozen=True, slots=True)
class LocalityFuser:
    """Fuses the loops of a block; ``left_alone`` tells which nests stay as they are.

    ``wishes``: the requested fusions of a nest with the next one, by its number
    (`requested_schedules`).  ``least``: iterations of the loops that fused nests share,
    where these do not share all.  ``order``: reductions that may be reordered take the
    loops that compute their terms; None: none does.  ``accepts`` tells whether two
    nests may become one.  ``context``: operations before.  ``known``: analyses of
    single nests, each among the same operations.
    """

    surroundings: Surroundings
    threads: int
    left_alone: Predicate
    wishes: Mapping[int, int] = field(default_factory=dict[int, int])
    least: int = 1
    order: Order | None = None
    accepts: Callable[[Ends, Operation, NestAnalysis], bool] = any_pair
    context: Sequence[Operation] = ()
    known: dict[Operation, NestAnalysis] = field(
        default_factory=dict[Operation, NestAnalysis]
    )

    def all_fused(self, operations: Sequence[Operation]) -> list[Operation]:
        """The block with every loop fused with its successors while it pays."""
        return self.spanned(operations, {})[0]

    def spanned(
        self, operations: Sequence[Operation], spans: Mapping[Operation, Span]
    ) -> tuple[list[Operation], Mapping[Operation, Span]]:
        """As `all_fused`, with the original nests of each loop.

        ``spans``: the numbers of the existing nests.  Raises IllegalTransformation
        where a requested fusion is not legal.
        """
        current, known = list(operations), dict(spans)
        refusals: dict[int, tuple[Refusal, Operation]] = {}
        tried: set[tuple[Operation, Operation]] = set()
        while True:
            loops = [at for at, op in enumerate(current) if op.name == FOR]
            for first, second in _near(loops):
                pair = current[first], current[second]
                if pair in tried:
                    continue
                tried.add(pair)
                number, wish = self._wish(pair, known)
                made = self._fused(current, first, second, wish)
                if isinstance(made, Refusal):
                    refusals[number] = made, pair[1]
                    continue
                if all(op in known for op in pair):
                    start, (last, end) = known[pair[0]], known[pair[1]]
                    is_next = start[1] + 1 == last
                    known[_added(current, made)] = start[0] if is_next else last, end
                current = made
                break
            else:
                self._demand(known, refusals)
                return current, {op: known[op] for op in current if op in known}

    def joinable(
        self, operations: Sequence[Operation], spans: Mapping[Operation, Span]
    ) -> Iterator[int]:
        """The numbers of nests that could be fused with the next, and are not."""
        block = list(operations)
        loops = [at for at, op in enumerate(block) if op.name == FOR]
        for first, second in pairwise(loops):
            number, _ = self._wish((block[first], block[second]), spans)
            if number >= 0 and not isinstance(
                self._fused(block, first, second, TOGETHER), Refusal
            ):
                yield number

    def _wish(
        self, pair: tuple[Operation, Operation], spans: Mapping[Operation, Span]
    ) -> tuple[int, int]:
        """The number of the first of two adjacent nests, and its requested fusion."""
        if not all(op in spans for op in pair):
            return -1, 0
        number, after = spans[pair[0]][1], spans[pair[1]][0]
        return (number, self.wishes.get(number, 0)) if after == number + 1 else (-1, 0)

    def _demand(
        self,
        spans: Mapping[Operation, Span],
        refusals: Mapping[int, tuple[Refusal, Operation]],
    ) -> None:
        """Raise IllegalTransformation for nests of this block that are not fused."""
        there = {number for span in spans.values() for number in span}
        for number, wish in self.wishes.items():
            is_one = any(a <= number < b for a, b in spans.values())
            if wish != TOGETHER or is_one or not {number, number + 1} <= there:
                continue
            apart = Refusal("other loops stand between them")
            refusal, op = refusals.get(number, (apart, next(iter(spans))))
            loop_names.demand(
                refusal, op, f"fusing the nests {number} and {number + 1}"
            )

    def _fused(
        self, operations: list[Operation], first: int, second: int, wish: int = 0
    ) -> list[Operation] | Refusal:
        if wish == APART:
            return Refusal("they are asked to stay apart")
        before = [*self.context, *operations[:first]]
        between = tuple(operations[first + 1 : second])
        outer = NestPair((operations[first],), (operations[second],), between)
        refusal = structural_refusal(outer)
        if refusal is not None:
            return refusal
        run = operations[first : second + 1]
        ends = run[0], run[-1]
        if _accesses(ends) > REFERENCES:
            return Refusal(f"they have more than {REFERENCES} accesses")
        others = [loop_depth(op) for op in between if op.name == FOR]
        if others and max(others) > max(map(loop_depth, ends)):
            return Refusal("a nest of more loops stands between them")
        stored = self._memory(ends[0], STORES if others else ())
        loaded = self._memory(ends[1], LOADS if others else ())
        if wish != TOGETHER and stored.isdisjoint(loaded):
            return Refusal("they share no data")
        alone = [
            self._alone(op, [*before, *run[:at]])
            for op, at in zip(ends, (0, -1), strict=True)
        ]
        if any(map(self.left_alone, ends, alone)):
            return Refusal("one of them is left as it is")
        if not (wish == TOGETHER or self._are_alike(ends, alone)):
            return Refusal("it does not pay")
        analysis = analyse(run, before, self.surroundings)
        if not (wish == TOGETHER or self._pays(analysis, ends)):
            return Refusal("it does not pay")
        known = {tuple(run): analysis}
        refusal = Refusal("a parallel loop would be lost")
        for depth in self._depths(analysis, ends):
            if depth and self._iterations(ends[0], depth) < self.least:
                refusal = Refusal("they share too few iterations")
                continue
            fuser = Fuser(self.context, None, self.surroundings, depth, known=known)
            made = fuser.fused(operations, first, second)
            if isinstance(made, Refusal):
                refusal = made
                continue
            nest = _added(operations, made)
            stays = self._stays_parallel(analysis, ends, nest, before, depth)
            if wish == TOGETHER or stays:
                inner = replace(self, context=before, wishes={})
                whole = with_blocks(nest, inner.all_fused) if depth else nest
                if self.accepts(ends, whole, analysis):
                    return [whole if op is nest else op for op in made]
                refusal = Refusal("they stay apart")
        return refusal

    def _memory(self, nest: Operation, only: Collection[str] = ()) -> frozenset[object]:
        """The buffers whose cells a nest may access, and the groups of these.

        ``only``: operations that count, if not all do.
        """
        used = {
            v
            for op in nest.walk()
            if not only or op.name in only
            for v in op.used
            if is_memref(v)
        }
        return frozenset[object]().union(*map(self.surroundings.aliases.memory, used))

    def _pays(self, analysis: NestAnalysis, ends: tuple[Operation, Operation]) -> bool:
        first, second = loop_names.lifted_loops(analysis, ends)
        arrays = {r.access.array for r in analysis.model.references}
        return (
            len(arrays) <= STREAMS
            and len(analysis.model.references) <= REFERENCES
            and shares_data(analysis.model, first, second)
        )

    def _alone(self, nest: Operation, before: Sequence[Operation]) -> NestAnalysis:
        if nest not in self.known:
            self.known[nest] = analyse([nest], before, self.surroundings)
        return self.known[nest]

    def _are_alike(self, ends: Ends, alone: Sequence[NestAnalysis]) -> bool:
        """Whether both or none run on threads; a reduction may take its terms."""
        first, second = (a.is_parallel(op) for a, op in zip(alone, ends, strict=True))
        return first == second or self.threads == 1 or self._has_terms(alone, ends)

    def _depths(
        self, analysis: NestAnalysis, ends: tuple[Operation, Operation]
    ) -> list[int]:
        """All loops where all are parallel; else all but the innermost ones.

        A reduction takes all loops that compute its terms.
        """
        chains = [chain_of(sunk(op)) for op in ends]
        most = min(map(_around, chains))
        bodies = [chain_of(op) for op in ends]
        parallel = all(analysis.is_parallel(op) for chain in bodies for op in chain)
        if parallel and len(chains[0]) == len(chains[1]):
            return [0]
        whole = 1 if ends[1].results else len(bodies[1])
        takes_terms = self._has_terms((analysis, analysis), ends)
        return [*([whole] if takes_terms else []), *range(most, 0, -1)]

    def _has_terms(self, analyses: Sequence[NestAnalysis], ends: Ends) -> bool:
        """Whether a parallel nest comes before a reduction that may be reordered."""
        (terms, sums), (first, second) = map(chain_of, ends), analyses
        return (
            len(terms) == len(sums)
            and all(map(first.is_parallel, terms))
            and all(second.is_parallel(op) or self._is_free(second, op) for op in sums)
        )

    def _is_free(self, analysis: NestAnalysis, loop: Operation) -> bool:
        """Whether a loop is a reduction that may be reordered."""
        verdict = analysis.verdict(loop)
        return bool(verdict and self.order and self.order.is_free(verdict))

    def _iterations(self, nest: Operation, depth: int) -> float:
        """Iterations of the outer loops of a nest, infinite where they are open."""
        loops = chain_of(sunk(nest), depth)
        counts = [affine.For(op).trip_count for op in loops]
        return prod(inf if count is None else count for count in counts)

    def _stays_parallel(
        self,
        analysis: NestAnalysis,
        ends: tuple[Operation, Operation],
        nest: Operation,
        before: Sequence[Operation],
        depth: int,
    ) -> bool:
        again = self._alone(nest, before)
        if depth == 0:
            return all(again.is_parallel(op) for op in chain_of(nest))
        if self._has_terms((analysis, analysis), ends):
            chain, sums = chain_of(nest, depth), chain_of(ends[1], depth)
            return all(
                again.is_parallel(new)
                or (self._is_free(again, new) and not analysis.is_parallel(old))
                for new, old in zip(chain, sums, strict=True)
            )
        needed = self.threads > 1 and analysis.is_parallel(ends[0])
        return again.is_parallel(nest) or not needed


def _near(loops: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs of loops with at most `BETWEEN` others in between, neighbours first."""
    for gap in range(1, BETWEEN + 2):
        yield from zip(loops, loops[gap:], strict=False)


def _accesses(operations: Sequence[Operation]) -> int:
    """Affine loads and stores, an upper bound of those that an analysis finds."""
    return sum(o.name in affine.ACCESSES for op in operations for o in op.walk())


def _around(chain: Sequence[Operation]) -> int:
    """Loops of a chain that contain loops."""
    last = chain[-1].body.operations
    return len(chain) - (not any(op.name == FOR for op in last))


def _added(before: Sequence[Operation], after: Sequence[Operation]) -> Operation:
    """The only loop of the second list that the first lacks."""
    old = set(before)
    (nest,) = [op for op in after if op.name == FOR and op not in old]
    return nest


@dataclass(frozen=True, slots=True)
class FuseElementwise(ModulePass):
    """Fuse neighbours that sweep over one array and have parallel loops only.

    A reduction whose terms may be reordered takes the parallel loops that compute them,
    if nothing else reads these.  ``relaxed`` permits that for all sums of floats.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<8xf32>, %B: memref<8xf32>) {
    ...   affine.for %i = 0 to 8 {
    ...     %a = affine.load %A[%i] : memref<8xf32>
    ...     affine.store %a, %B[%i] : memref<8xf32>
    ...   }
    ...   affine.for %j = 0 to 8 {
    ...     %b = affine.load %B[%j] : memref<8xf32>
    ...     %c = arith.negf %b : f32
    ...     affine.store %c, %A[%j] : memref<8xf32>
    ...   }
    ...   return
    ... }''')
    >>> str(FuseElementwise().apply(module)).count("affine.for")
    1
    """

    name: ClassVar[str] = "fuse-elementwise"
    looks_for: ClassVar[frozenset[str]] = frozenset({"affine.for"})
    relaxed: bool = False

    def apply(self, module: Module) -> Module:
        surroundings, order = Surroundings.of(module), Order(self.relaxed)

        def is_ordered(op: Operation, analysis: NestAnalysis) -> bool:
            verdicts = (analysis.verdict(o) for o in _loops(op))
            return not (
                _is_parallel(op, analysis)
                or all(v is not None and order.is_free(v) for v in verdicts)
            )

        def function(op: Operation) -> list[Operation]:
            used = _used([op])
            made = {o.result for o in op.walk() if o.name in ALLOCATIONS}

            def accepts(ends: Ends, nest: Operation, analysis: NestAnalysis) -> bool:
                if all(_is_parallel(end, analysis) for end in ends):
                    return True
                here = _used(ends)
                return _is_parallel(ends[0], analysis) and all(
                    v in made and here[v] == used[v] and is_contractible(v, nest)
                    for v in _stored(ends[0])
                )

            fuser = LocalityFuser(
                surroundings, 1, is_ordered, order=order, accepts=accepts
            )
            return [with_blocks(op, fuser.all_fused)]

        return in_functions(module, function)


def _loops(op: Operation) -> Iterator[Operation]:
    return (o for o in op.walk() if o.name == FOR)


def _is_parallel(op: Operation, analysis: NestAnalysis) -> bool:
    return all(map(analysis.is_parallel, _loops(op)))


def _used(operations: Iterable[Operation]) -> Counter[Value]:
    """How often operations use each value, but to free it."""
    walks = chain.from_iterable(op.walk() for op in operations)
    return Counter(
        v for op in walks if op.name != "memref.dealloc" for v in op.operands
    )


def _stored(op: Operation) -> set[Value]:
    """The buffers that a nest stores to."""
    return {o.operands[1] for o in op.walk() if o.name in STORES}
