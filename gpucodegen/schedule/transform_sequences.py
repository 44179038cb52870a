"""The schedules that a module states in the transform dialect.

``transform.named_sequence @__transform_main`` is read once, from its first operation to
its last. A handle stands for operations of the payload: functions, structured
operations of linalg with the loops that they become, or loops over tiles. Each
transformation appends a step to the schedule of the function that holds its payload;
the steps are proven when they run. What has no step is refused at its place.

Loops get names for that: an operation that a sequence matches gets the attribute
``gpucodegen.name``, and its loops are named after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.gcg import NAME
from gpucodegen.dialects.linalg.named_definitions import (
    indexing_maps,
    is_structured,
    iterator_types,
)
from gpucodegen.dialects.transform import (
    DYNAMIC,
    NAMED_SEQUENCE,
    SEQUENCE,
    matches_of,
)
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    DictAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
)
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import MemRefType
from gpucodegen.records import dataclass
from gpucodegen.schedule import steps as s
from gpucodegen.schedule.steps import Schedule, Step

MAIN, MARK = "__transform_main", "transform.with_named_sequence"


@dataclass(slots=True, eq=False)
class Nest:
    """The loops of a structured operation, the outermost first.

    A dimension of one element has the empty name: it becomes no loop. ``extents``: of
    one tile, where they are known. ``around``: the loops over tiles, a group for each
    loop that the transform dialect would have, the innermost last.
    """

    function: str
    operation: Operation
    name: str
    loops: list[str]
    extents: list[int | None]
    around: list[Handle] = field(default_factory=list["Handle"])

    @property
    def kind(self) -> str:
        """The operation's name in linalg."""
        return self.operation.name

    @property
    def first(self) -> str:
        """The outermost loop."""
        return next(filter(None, self.loops), "")


@dataclass(slots=True, eq=False)
class TileLoop:
    """A loop over tiles, or a loop of the payload; ``place``: where it is to run.

    Fusion renames it: the common loops are called like those of the first nest.
    """

    function: str
    name: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the payload, or with the empty name the module."""

    name: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """An integer that a sequence computes with."""

    value: int


Payload = Nest | TileLoop | Function | Parameter
Handle = tuple[Payload, ...]


def has_sequence(module: Module) -> bool:
    """Whether a module states a schedule."""
    return any(op.dialect == "transform" for op in _top(module))


def _top(module: Module) -> Sequence[Operation]:
    return module.operation.body.operations


def payload(module: Module) -> tuple[Module, dict[str, Schedule]]:
    """The module without its sequences, and the schedules of its functions.

    Raises UnsupportedOperation for a transformation that no step does.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... module attributes {transform.with_named_sequence} {
    ...   func.func @f(%a: memref<64xf32>, %b: memref<64xf32>) {
    ...     linalg.exp ins(%a : memref<64xf32>) outs(%b : memref<64xf32>)
    ...     return
    ...   }
    ...   transform.named_sequence @__transform_main(%m: !transform.any_op) {
    ...     %e = transform.structured.match ops{["linalg.exp"]} in %m
    ...       : (!transform.any_op) -> !transform.any_op
    ...     %t, %l = transform.structured.tile_using_for %e tile_sizes [16]
    ...       : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    ...     transform.yield
    ...   }
    ... }''')
    >>> print(payload(module)[1]["f"])
    schedule(
        tile("exp0_d0", sizes=(16,), names=("exp0_t0",)),
    )
    """
    sequences = [op for op in _top(module) if op.dialect == "transform"]
    named = {symbol_name(op): op for op in sequences if op.name == NAMED_SEQUENCE}
    mains = [op for op in sequences if op.name == SEQUENCE]
    main = named.get(MAIN) or next(iter(mains), None)
    if main is None:
        first = sequences[0]
        raise errors.UnsupportedOperation.at(
            first,
            target="schedules",
            advice=f"Call the sequence that is to run @{MAIN}",
        )
    rest = [op for op in _top(module) if op.dialect != "transform"]
    kept = {k: v for k, v in module.operation.attributes.items() if k != MARK}
    whole = module.operation.with_(attributes=kept).with_body(rest)
    plain, nests = _with_names(Module(whole))
    read = _Sequence(nests, named)
    try:
        read.run(main, [(Function(""),)])
    except _NoMatch as found:
        advice = "Match in a sequence that transform.foreach_match names"
        raise _refused(found.operation, advice) from None
    return plain, {name: Schedule(tuple(own)) for name, own in read.finished().items()}


def _with_names(module: Module) -> tuple[Module, list[Payload]]:
    """The module with named operations and loops, and these in textual order."""
    found: list[Payload] = []
    numbers = Counter[str]()

    def named(function: str) -> Callable[[Operation], list[Operation] | None]:
        def visit(op: Operation) -> list[Operation] | None:
            kind = op.name.partition(".")[2]
            is_loop = op.name == "affine.for"
            if not is_loop and not is_structured(op):
                return None
            own = op.string(NAME)
            name = own or f"{kind}{numbers[kind]}"
            numbers[kind] += 1
            if is_loop:
                name = own or affine.For(op).iv.name or name
                found.append(TileLoop(function, name))
                return [op]
            extents = _extents(op)
            loops = ["" if n == 1 else f"{name}_d{d}" for d, n in enumerate(extents)]
            found.append(Nest(function, op, name, loops, extents))
            return [op.with_attribute(NAME, StringAttr(name))]

        return visit

    body: list[Operation] = []
    for op in _top(module):
        if op.name == "func.func":
            found.append(Function(symbol_name(op)))
            body += rewrite_bottom_up(op, named(symbol_name(op)))
        else:
            body.append(op)
    return Module(module.operation.with_body(body)), found


def applied(module: Module) -> Module:
    """The payload as affine nests, after the steps of its sequence.

    Raises IllegalTransformation for a step that would change a result.
    """
    from gpucodegen.passes.framework.base import run_pipeline
    from gpucodegen.passes.framework.pipeline_text import parse_pipeline
    from gpucodegen.schedule.passes import AUTOMATIC, loop_pass

    plain, stated = payload(module)
    lowered = run_pipeline(plain, parse_pipeline(_TO_AFFINE))
    steps = [
        loop_pass(step, name)
        for name, own in stated.items()
        for step in own
        if step.name not in AUTOMATIC
    ]
    return run_pipeline(lowered, steps)


_TO_AFFINE = (
    "generalize,bufferize,forall-to-loops,linalg-to-affine,loops-to-index,"
    "raise-to-affine,canonicalize"
)


def _extents(op: Operation) -> list[int | None]:
    """The extents of a structured operation's dimensions; None where open."""
    found: list[int | None] = [None] * len(iterator_types(op))
    for value, map_ in zip(op.operands, indexing_maps(op), strict=False):
        shape: tuple[int | None, ...] = getattr(value.type, "shape", ())
        for result, extent in zip(map_.results, shape, strict=False):
            if isinstance(result, Dim) and extent is not None:
                found[result.position] = extent
    return found


class _NoMatch(Exception):
    """A matcher does not fit; ``operation``: the one that says so."""

    def __init__(self, operation: Operation) -> None:
        super().__init__(operation.name)
        self.operation = operation


@dataclass(slots=True)
class _Sequence:
    """The payload, the handles of values, and the steps of each function so far."""

    known: list[Payload]
    named: dict[str, Operation]
    handles: dict[Value, Handle] = field(default_factory=dict[Value, Handle])
    steps: dict[str, list[Step]] = field(default_factory=dict[str, list[Step]])
    bound: dict[str, list[TileLoop]] = field(default_factory=dict[str, list[TileLoop]])
    vectorized: set[str] = field(default_factory=set[str])
    tiles: int = 0
    running: list[Operation] = field(default_factory=list[Operation])

    def run(self, sequence: Operation, arguments: Sequence[Handle]) -> list[Handle]:
        """Read the operations of a sequence; the handles that it yields."""
        block = sequence.body
        if len(block.arguments) != len(arguments):
            raise _refused(sequence, f"Let it take the {len(arguments)} handles given")
        if sequence in self.running:
            raise _refused(sequence, "Let no sequence run itself")
        self.handles |= dict(zip(block.arguments, arguments, strict=True))
        self.running.append(sequence)
        yielded: list[Handle] = []
        for op in block.operations:
            if op.name == "transform.yield":
                yielded = [self.handles[value] for value in op.operands]
                continue
            read = _READ.get(op.name.partition(".")[2])
            if read is None:
                raise _refused(op, f"Use one of {', '.join(sorted(_READ))}")
            found = read(self, op)
            self.handles |= dict(zip(op.results, found, strict=True))
        self.running.pop()
        return yielded

    def finished(self) -> dict[str, list[Step]]:
        """All steps: loops first, then the places where they run."""
        names = [*self.steps, *self.bound, *self.vectorized]
        return {
            name: [
                *self.steps.get(name, []),
                *(s.bind(loop.name, loop.place) for loop in self.bound.get(name, [])),
                *([s.vectorize()] if name in self.vectorized else []),
            ]
            for name in dict.fromkeys(names)
        }

    def add(self, function: str, step: Step) -> None:
        self.steps.setdefault(function, []).append(step)

    def of(self, op: Operation, number: int = 0) -> Handle:
        """The payload of an operand."""
        return self.handles[op.operands[number]]

    def nests(self, op: Operation, number: int = 0) -> list[Nest]:
        found = [one for one in self.of(op, number) if isinstance(one, Nest)]
        if len(found) != len(self.of(op, number)):
            raise _refused(op, "Match operations of linalg")
        return found

    def loops(self, op: Operation, number: int = 0) -> list[TileLoop]:
        """Loops; those of a nest stand for its outermost one."""
        return [self._loop(op, one) for one in self.of(op, number)]

    def parameters(self, op: Operation) -> list[int]:
        """The numbers that operands give."""
        every = (one for value in op.operands for one in self.handles[value])
        return [one.value for one in every if isinstance(one, Parameter)]

    def _loop(self, op: Operation, one: Payload) -> TileLoop:
        if isinstance(one, TileLoop):
            return one
        if isinstance(one, Nest) and one.first:
            return TileLoop(one.function, one.first)
        raise _refused(op, "Give the handle of a loop")


def _refused(op: Operation, advice: str) -> errors.UnsupportedOperation:
    return errors.UnsupportedOperation.at(op, target="schedules", advice=advice)


def _numbers(op: Operation, *names: str) -> list[int]:
    """The integers of the first attribute that is there."""
    for name in names:
        given = op.attributes.get(name)
        if given is not None:
            found = _integers(given)
            if found is None:
                raise _refused(op, f"Write {name} as constant numbers")
            return found
    return []


def _sizes(q: _Sequence, op: Operation, *names: str) -> list[int]:
    """As `_numbers`, with the parameters in the places of `DYNAMIC` ones."""
    given = iter(q.parameters(op))
    found = [next(given, n) if n == DYNAMIC else n for n in _numbers(op, *names)]
    if DYNAMIC in found:
        raise _refused(op, "Give each parameter one constant number")
    return found


def _integers(given: Attribute) -> list[int] | None:
    if isinstance(given, DenseArrayAttr):
        return [int(value) for value in given.values]
    if not isinstance(given, ArrayAttr):
        return None
    values = [v.value for v in given.values if isinstance(v, IntegerAttr)]
    return values if len(values) == len(given.values) else None


# -- handles ---------------------------------------------------------------------------


_INTERFACES: dict[str, type[Nest | TileLoop]] = {
    **dict.fromkeys(("LinalgOp", "TilingInterface"), Nest),
    "LoopLikeInterface": TileLoop,
}


def _match(q: _Sequence, op: Operation) -> list[Handle]:
    given, interface = op.attributes.get("ops"), op.string("interface")
    kind = _INTERFACES.get(interface)
    if interface and kind is None:
        raise _refused(op, f"Match one of the interfaces {', '.join(_INTERFACES)}")
    names = _strings(given)
    wanted = op.attributes.get("attributes")
    roots = q.of(op)

    def fits(one: Payload) -> bool:
        return (
            (given is None or bool(names & _kinds(one)))
            and (kind is None or isinstance(one, kind))
            and (not isinstance(wanted, DictAttr) or _has_attributes(one, wanted))
            and any(_is_inside(one, root) for root in roots)
        )

    loops = dict.fromkeys(
        one
        for nest in q.known
        if isinstance(nest, Nest)
        for h in nest.around
        for one in h
    )
    return [tuple(filter(fits, dict.fromkeys([*q.known, *loops])))]


def _strings(given: Attribute | None) -> set[str]:
    values = given.values if isinstance(given, ArrayAttr) else ()
    return {one.value for one in values if isinstance(one, StringAttr)}


def _kinds(one: Payload) -> set[str]:
    """The names of operations that a payload goes by."""
    match one:
        case Nest():
            return {one.kind}
        case TileLoop():
            return {"affine.for", "scf.for", "scf.forall"}
        case Function():
            return {"func.func"} if one.name else {"builtin.module"}
        case _:
            return set()


def _has_attributes(one: Payload, wanted: DictAttr) -> bool:
    if not isinstance(one, Nest):
        return False
    own = one.operation.attributes
    return all(own.get(name) == value for name, value in wanted.entries)


def _is_inside(one: Payload, root: Payload) -> bool:
    """Whether a payload is another one, or within it."""
    match root:
        case Function():
            return not root.name or root.name == _function_of(one)
        case TileLoop():
            around = one.around if isinstance(one, Nest) else ()
            return one is root or any(root in group for group in around)
        case _:
            return one is root


def _function_of(one: Payload) -> str:
    return one.name if isinstance(one, Function) else getattr(one, "function", "")


def _same(q: _Sequence, op: Operation) -> list[Handle]:
    """Operations after which each result stands for the operand."""
    return [q.of(op)] * len(op.results)


def _nothing(_: _Sequence, op: Operation) -> list[Handle]:
    """Simplifications, which the compiler makes anyway, and prints."""
    return [()] * len(op.results)


def _split(q: _Sequence, op: Operation) -> list[Handle]:
    parts = q.of(op)
    if len(parts) != len(op.results):
        raise _refused(op, f"The handle has {len(parts)} operations")
    return [(part,) for part in parts]


def _merged(q: _Sequence, op: Operation) -> list[Handle]:
    every = [one for n in range(len(op.operands)) for one in q.of(op, n)]
    return [tuple(every)]


def _parent(q: _Sequence, op: Operation) -> list[Handle]:
    """The function around a payload, or the innermost loops over its tiles."""
    kind = op.string("op_name")
    if kind not in ("", "func.func", "scf.for", "scf.forall", "affine.for"):
        raise _refused(op, "Ask for func.func, scf.for or scf.forall")
    is_loop = kind != "func.func" and "isolated_from_above" not in op.attributes
    found: list[Payload] = []
    for one in q.of(op):
        groups = one.around if isinstance(one, Nest) and is_loop else []
        if groups:
            found += groups[-1]
        elif kind in ("", "func.func"):
            found.append(Function(_function_of(one)))
        else:
            raise _refused(op, "Give the handle of an operation that has been tiled")
    return [tuple(dict.fromkeys(found))]


def _producer(q: _Sequence, op: Operation) -> list[Handle]:
    """The operations whose result is this operand."""
    values = [_at(op, nest.operation.operands) for nest in q.nests(op)]
    made = {value: nest for nest in _nests(q) for value in nest.operation.results}
    if any(value not in made for value in values):
        raise _refused(op, "The operand is no result of an operation of linalg")
    return [tuple(dict.fromkeys(made[value] for value in values))]


def _consumers(q: _Sequence, op: Operation) -> list[Handle]:
    """The operations that take this result."""
    values = {_at(op, nest.operation.results) for nest in q.nests(op)}
    return [tuple(n for n in _nests(q) if values & {*n.operation.operands})]


def _at(op: Operation, values: Sequence[Value]) -> Value:
    """The value whose number an operation states."""
    numbers = _numbers(op, "sizes")
    if len(numbers) != 1 or not 0 <= numbers[0] < len(values):
        raise _refused(op, f"Give one number below {len(values)}")
    return values[numbers[0]]


def _nests(q: _Sequence) -> list[Nest]:
    return [one for one in q.known if isinstance(one, Nest)]


def _parameter(_: _Sequence, op: Operation) -> list[Handle]:
    value = op.attributes["value"]
    if not isinstance(value, IntegerAttr):
        raise _refused(op, "Give an integer")
    return [(Parameter(value.value),)]


def _each(q: _Sequence, op: Operation) -> list[Handle]:
    """Run the body for each operation of the handles."""
    items = [q.of(op, n) for n in range(len(op.operands))]
    if len({len(handle) for handle in items}) > 1:
        raise _refused(op, "Give handles of equally many operations")
    found: list[list[Payload]] = [[] for _ in op.results]
    for together in zip(*items, strict=True):
        yielded = q.run(op, [(one,) for one in together])
        for number, more in enumerate(yielded[: len(found)]):
            found[number] += more
    return [tuple(own) for own in found]


def _each_match(q: _Sequence, op: Operation) -> list[Handle]:
    """Run for each operation what follows the first matcher that fits."""
    roots = q.of(op)
    pairs = [(_called(q, op, one), _called(q, op, two)) for one, two in matches_of(op)]
    forwarded: list[list[Payload]] = [[] for _ in op.results[1:]]
    for one in [each for each in q.known if any(_is_inside(each, r) for r in roots)]:
        for matcher, action in pairs:
            depth = len(q.running)
            try:
                given = q.run(matcher, [(one,)])
            except _NoMatch:
                del q.running[depth:]
                continue
            for number, more in enumerate(q.run(action, given)[: len(forwarded)]):
                forwarded[number] += more
            break
    return [roots, *map(tuple, forwarded)][: len(op.results)]


def _has_name(q: _Sequence, op: Operation) -> list[Handle]:
    """Ends a matcher for operations of other names."""
    names = _strings(op.attributes.get("sizes"))
    if not all(names & _kinds(one) for one in q.of(op)):
        raise _NoMatch(op)
    return []


def _registered(q: _Sequence, op: Operation) -> list[Handle]:
    """A pass that only simplifies is one of the compiler's own."""
    if op.string("text") not in _SIMPLIFIES:
        raise _refused(op, f"Passes that simplify: {', '.join(_SIMPLIFIES)}")
    return _same(q, op)


_SIMPLIFIES = (
    *("canonicalize", "cse", "loop-invariant-code-motion", "symbol-dce", "sccp"),
    *("remove-dead-values", "linalg-fold-unit-extent-dims", "mem2reg", "sroa"),
)


def _include(q: _Sequence, op: Operation) -> list[Handle]:
    callee = op.attributes["callee"]
    assert isinstance(callee, SymbolRefAttr)
    sequence = _called(q, op, callee)
    return q.run(sequence, [q.of(op, n) for n in range(len(op.operands))])


def _called(q: _Sequence, op: Operation, callee: SymbolRefAttr) -> Operation:
    sequence = q.named.get(callee.path[-1])
    if sequence is None or not sequence.regions:
        raise _refused(op, f"Known sequences: {errors.one_of(list(q.named))}")
    return sequence


# -- transformations -------------------------------------------------------------------


def _tiled(
    q: _Sequence, nest: Nest, sizes: Sequence[int], places: Sequence[str] = ()
) -> list[TileLoop]:
    """Tile a nest; the loops over tiles, one for each size but 0.

    Tiles of one element have the loop of the dimension itself.
    """
    nonzero = [d for d, size in enumerate(sizes) if size]
    dimensions = [d for d in nonzero if nest.loops[d]]
    where = dict(zip(nonzero, places, strict=False))
    stated = {d: sizes[d] for d in dimensions if sizes[d] > 1}
    last = max(stated, default=-1)
    real = [d for d, loop in enumerate(nest.loops[: last + 1]) if loop]
    names = {d: f"{nest.name}_t{q.tiles + n}" for n, d in enumerate(real)}
    q.tiles += len(real)
    if stated:
        given = [stated.get(d, 0) for d in real]
        called = list(names.values())
        q.add(nest.function, s.tile(nest.first, sizes=given, names=called))
    made: list[TileLoop] = []
    for d in dimensions:
        name = names[d] if d in stated else nest.loops[d]
        made.append(TileLoop(nest.function, name, where.get(d, "")))
        extent = nest.extents[d]
        nest.extents[d] = sizes[d] if extent is None else min(extent, sizes[d])
    return made


def _tile_for(q: _Sequence, op: Operation) -> list[Handle]:
    """``tile_using_for``: the tiled operation, and a loop for each size but 0."""
    sizes = _sizes(q, op, "tile_sizes", "sizes")
    order = _numbers(op, "interchange", "tile_interchange")
    return [q.of(op), *_in_loops(q, op, _checked(q, op, sizes), sizes, order)]


def _checked(q: _Sequence, op: Operation, sizes: Sequence[int]) -> list[Nest]:
    """The operations to tile.  Raises UnsupportedOperation for too many sizes."""
    nests = q.nests(op)
    if any(len(sizes) > len(nest.loops) for nest in nests):
        raise _refused(op, "Give at most one size for each dimension")
    return nests


def _in_loops(
    q: _Sequence,
    op: Operation,
    nests: Sequence[Nest],
    sizes: Sequence[int],
    order: Sequence[int],
) -> list[Handle]:
    """Tile operations; a handle for each loop over their tiles."""
    made = [_tiled(q, nest, sizes) for nest in nests]
    if order:
        if any(sorted(order) != list(range(len(loops))) for loops in made):
            raise _refused(op, "Give an interchange of the loops over tiles")
        for loops in made if order != sorted(order) else ():
            names = [loops[position].name for position in order]
            q.add(loops[0].function, s.interchange(loops[0].name, order=names))
        made = [[loops[position] for position in order] for loops in made]
    for nest, loops in zip(nests, made, strict=True):
        nest.around += [(loop,) for loop in loops]
    count = len(op.results) - 1
    if any(len(loops) != count for loops in made):
        given = len(made[0])
        raise _refused(op, f"The sizes make {given} loops, so give as many results")
    return [tuple(loops[n] for loops in made) for n in range(count)]


_PLACES = {
    **{f"#gpu.block<{axis}>": f"block.{axis}" for axis in "xyz"},
    **{f"#gpu.thread<{axis}>": f"thread.{axis}" for axis in "xyz"},
    **{
        f"#gpu.{kind}<linear_dim_{n}>": f"{kind}.{axis}"
        for kind in ("block", "thread")
        for n, axis in enumerate("xyz")
    },
}
"""Where iterations of a mapped loop run."""


def _tile_forall(q: _Sequence, op: Operation) -> list[Handle]:
    """``tile_using_forall``: the tiled operation, and the loops over tiles."""
    mapping = op.attributes.get("mapping")
    given = mapping.values if isinstance(mapping, ArrayAttr) else ()
    places = [_PLACES.get(str(place), "") for place in given]
    if "" in places:
        raise _refused(op, f"Map to {', '.join(list(_PLACES)[:6])}")
    loops: list[TileLoop] = []
    sizes, threads = _sizes(q, op, "tile_sizes", "sizes"), _sizes(q, op, "num_threads")
    for nest in _checked(q, op, threads or sizes):
        own = _for_threads(op, nest, threads) if threads else sizes
        made = _tiled(q, nest, own, places)
        nest.around.append(tuple(made))
        loops += made
    return [q.of(op), tuple(loops)]


def _for_threads(op: Operation, nest: Nest, threads: Sequence[int]) -> list[int]:
    """The tile sizes that make so many tiles."""
    sizes: list[int] = []
    for count, extent in zip(threads, nest.extents, strict=False):
        if count and extent is None:
            raise _refused(op, "State tile_sizes: an extent is open")
        sizes.append(-(-(extent or 0) // count) if count else 0)
    return sizes


def _reduced(
    q: _Sequence, op: Operation, nest: Nest, d: int, parts: int, interleaved: bool
) -> TileLoop:
    """Split the reduction along a dimension; the loop over its parts."""
    part = f"{nest.name}_t{q.tiles}"
    q.tiles += 1
    if d >= len(nest.loops) or not nest.loops[d]:
        raise _refused(op, "Give a dimension that is reduced")
    among = True if interleaved else None
    step = s.split_reduction(nest.loops[d], parts=parts, interleaved=among, part=part)
    q.add(nest.function, step)
    return TileLoop(nest.function, part)


def _split_reduction(q: _Sequence, op: Operation) -> list[Handle]:
    """``split_reduction``: parts of a dimension; fill and merge have no handles."""
    parts = op.integer("split_factor", 0)
    if parts < 1:
        raise _refused(op, "State the split_factor")
    for nest in q.nests(op):
        kinds = iterator_types(nest.operation)
        reduced = [d for d, kind in enumerate(kinds) if kind == "reduction"]
        if len(reduced) != 1:
            raise _refused(op, "Give an operation with one reduced dimension")
        is_inner = "inner_parallel" in op.attributes
        _reduced(q, op, nest, reduced[0], parts, is_inner)
    return [(), (), q.of(op), ()][-len(op.results) :] if op.results else []


def _tile_reduction(q: _Sequence, op: Operation) -> list[Handle]:
    """``tile_reduction_using_for`` and ``_forall``: partial results, which are merged.

    Tiles of n elements have n partial results, each of every n-th element; threads have
    one of neighbours.  The handles of fills and of the merge are empty.
    """
    threads = _numbers(op, "num_threads")
    sizes = threads or _numbers(op, "tile_sizes")
    mapping = op.attributes.get("mapping")
    given = mapping.values if isinstance(mapping, ArrayAttr) else ()
    places = [_PLACES.get(str(place), "") for place in given]
    chosen = [(d, size) for d, size in enumerate(sizes) if size]
    if len(chosen) != 1 or "" in places or len(places) > 1:
        raise _refused(op, "Give one size that is not 0, and at most one place of it")
    ((d, parts),) = chosen
    loops: list[Payload] = []
    for nest in q.nests(op):
        part = _reduced(q, op, nest, d, parts, not threads)
        part.place = "".join(places)
        if op.name.endswith("forall"):
            loops.append(part)
        else:
            loops.append(TileLoop(nest.function, nest.loops[d]))
    fills: list[Handle] = [()] * (len(op.results) - 3)
    return [*fills, q.of(op), (), tuple(loops)]


def _bind(q: _Sequence, op: Operation, kind: str) -> list[Handle]:
    """Loops of this kind run where their mapping says."""
    inside = {_function_of(one) for one in q.of(op)}
    for loop in (one for handle in list(q.handles.values()) for one in handle):
        if not isinstance(loop, TileLoop) or not loop.place.startswith(kind):
            continue
        own = q.bound.setdefault(loop.function, [])
        if (loop.function in inside or "" in inside) and loop not in own:
            own.append(loop)
    return [q.of(op)] * len(op.results)


def _interchange(q: _Sequence, op: Operation) -> list[Handle]:
    order = _numbers(op, "iterator_interchange")
    for nest in q.nests(op):
        if sorted(order) != list(range(len(nest.loops))):
            raise _refused(op, f"Give an order of {len(nest.loops)} loops")
        names = [nest.loops[position] for position in order]
        named = [name for name in names if name]
        q.add(nest.function, s.interchange(nest.first, order=named))
        nest.loops[:] = names
        nest.extents[:] = [nest.extents[position] for position in order]
    return [q.of(op)]


def _fuse_into(q: _Sequence, op: Operation) -> list[Handle]:
    """Producers, the last one first, go into the loops over their consumer's tiles."""
    producers, loops = q.nests(op), q.loops(op, 1)
    for producer in reversed(producers):
        _fused(q, op, producer, loops)
    found: list[Handle] = [tuple(producers), tuple(loops)]
    return found[: len(op.results)]


def _fused(
    q: _Sequence, op: Operation, producer: Nest, loops: Sequence[TileLoop]
) -> None:
    """The producer gets tiles like those of its consumer, and then its loops."""
    steps = q.steps.get(loops[0].function, []) if loops else []
    tilings = [step for step in steps if loops[0].name in _names(step)]
    if not tilings:
        raise _refused(op, "Give producers, and loops that tile their consumer")
    given = tilings[-1].values["sizes"]
    sizes = [n for n in given if isinstance(n, int)] if isinstance(given, tuple) else []
    sizes = sizes[: len(loops)]
    if 0 in sizes or len(loops) > len(producer.loops):
        raise _refused(op, "The loops over tiles must be those of the first dimensions")
    own = _tiled(q, producer, sizes)
    if len(own) != len(loops):
        raise _refused(
            op, "The producer has dimensions of one element, so no such loops"
        )
    q.add(producer.function, s.fuse(own[0].name, loops[0].name, depth=len(loops)))
    for loop, new in zip(loops, own, strict=True):
        loop.name = new.name
    producer.around.append(tuple(loops))


def _names(step: Step) -> tuple[object, ...]:
    found = step.values.get("names", ())
    return found if isinstance(found, tuple) else ()


def _tile_and_fuse(q: _Sequence, op: Operation) -> list[Handle]:
    """``structured.fuse``: tiles of an operation, with the producers in their loops."""
    sizes = _sizes(q, op, "tile_sizes", "sizes")
    order = _numbers(op, "interchange", "tile_interchange")
    nests = _checked(q, op, sizes)
    handles = _in_loops(q, op, nests, sizes, order)
    for number, nest in enumerate(nests):
        loops = [loop for h in handles if isinstance(loop := h[number], TileLoop)]
        waiting = [nest]
        while waiting:
            consumer = waiting.pop(0)
            for one in _only_producers(q, consumer):
                _fused(q, op, one, loops)
                waiting.append(one)
    return [q.of(op), *handles]


def _only_producers(q: _Sequence, consumer: Nest) -> list[Nest]:
    """The operations whose results this one alone takes, the last one first."""
    taken = {*consumer.operation.operands}
    found = [n for n in _nests(q) if taken & {*n.operation.results}]
    return [
        nest
        for nest in reversed(found)
        if sum(
            bool({*o.operation.operands} & {*nest.operation.results}) for o in _nests(q)
        )
        == 1
    ]


def _fuse_sibling(q: _Sequence, op: Operation) -> list[Handle]:
    """Two loops next to each other become one."""
    both = [*q.loops(op, 0), *q.loops(op, 1)]
    if len(both) != 2:
        raise _refused(op, "Give the handles of one loop each")
    one, two = both
    q.add(one.function, s.fuse(one.name, two.name, depth=1))
    two.name = one.name
    return [(one,)]


def _vectorize(q: _Sequence, op: Operation) -> list[Handle]:
    q.vectorized.update(map(_function_of, q.of(op)))
    return [q.of(op)] * len(op.results)


def _unroll(q: _Sequence, op: Operation) -> list[Handle]:
    for loop in q.loops(op):
        q.add(loop.function, s.unroll(loop.name, factor=op.integer("factor", 2)))
    return []


def _unroll_and_jam(q: _Sequence, op: Operation) -> list[Handle]:
    for loop in q.loops(op):
        factor = op.integer("factor", 2)
        q.add(loop.function, s.unroll_and_jam(loop.name, factor=factor))
    return []


def _peel(q: _Sequence, op: Operation) -> list[Handle]:
    """The last iteration becomes a loop of its own."""
    rest: list[Payload] = []
    for loop in q.loops(op):
        q.add(loop.function, s.peel(loop.name, front=0, back=1))
        rest.append(TileLoop(loop.function, f"{loop.name}_back"))
    return [tuple(q.loops(op)), tuple(rest)]


def _pipeline(q: _Sequence, op: Operation) -> list[Handle]:
    for loop in q.loops(op):
        q.add(loop.function, s.pipeline(loop.name))
    return [q.of(op)]


def _promoted(q: _Sequence, op: Operation) -> list[Handle]:
    """Tiles of operands are held in fast memory."""
    numbers = _numbers(op, "operands_to_promote")
    for nest in q.nests(op):
        operands = nest.operation.operands
        if any(not 0 <= n < len(operands) for n in numbers):
            raise _refused(op, f"Give numbers of operands below {len(operands)}")
        chosen = [operands[n] for n in numbers] if numbers else operands
        names = [v.name for v in chosen if isinstance(v.type, MemRefType) and v.name]
        if not nest.around or len(names) < len(chosen):
            raise _refused(op, "Tile an operation on named memrefs first")
        q.add(nest.function, s.stage(*dict.fromkeys(names)))
    return [q.of(op)]


def _padded(q: _Sequence, op: Operation) -> list[Handle]:
    """Partial tiles have bounds of their own, so that nothing is padded."""
    return [q.of(op), *(() for _ in op.results[1:])]


_READ: dict[str, Callable[[_Sequence, Operation], list[Handle]]] = {
    **dict.fromkeys(
        (
            *("annotate", "apply_cse", "apply_dce", "apply_licm", "apply_patterns"),
            *("bufferization.eliminate_empty_tensors", "debug.emit_remark_at"),
            *("loop.hoist_loop_invariant_subsets", "loop.promote_if_one_iteration"),
            "print",
        ),
        _nothing,
    ),
    **dict.fromkeys(
        (
            *("bufferization.one_shot_bufferize", "cast", "loop.forall_to_for"),
            *("structured.decompose", "structured.generalize", "structured.specialize"),
        ),
        _same,
    ),
    **dict.fromkeys(
        ("structured.tile", "structured.tile_to_scf_for", "structured.tile_using_for"),
        _tile_for,
    ),
    **dict.fromkeys(
        ("structured.tile_to_forall_op", "structured.tile_using_forall"), _tile_forall
    ),
    **dict.fromkeys(
        (
            "structured.vectorize",
            "structured.vectorize_children_and_apply_patterns",
        ),
        _vectorize,
    ),
    "apply_registered_pass": _registered,
    "foreach": _each,
    "foreach_match": _each_match,
    "get_consumers_of_result": _consumers,
    "get_parent_op": _parent,
    "get_producer_of_operand": _producer,
    "gpu.map_forall_to_blocks": lambda q, op: _bind(q, op, "block"),
    "gpu.map_nested_forall_to_threads": lambda q, op: _bind(q, op, "thread"),
    "include": _include,
    "loop.fuse_sibling": _fuse_sibling,
    "loop.peel": _peel,
    "loop.pipeline": _pipeline,
    "loop.unroll": _unroll,
    "loop.unroll_and_jam": _unroll_and_jam,
    "match.operation_name": _has_name,
    "merge_handles": _merged,
    "param.constant": _parameter,
    "split_handle": _split,
    "structured.fuse": _tile_and_fuse,
    "structured.fuse_into_containing_op": _fuse_into,
    "structured.interchange": _interchange,
    "structured.match": _match,
    "structured.pad": _padded,
    "structured.promote": _promoted,
    "structured.split_reduction": _split_reduction,
    "structured.tile_reduction_using_for": _tile_reduction,
    "structured.tile_reduction_using_forall": _tile_reduction,
}
"""The operations of `transform`, without the dialect's name."""
