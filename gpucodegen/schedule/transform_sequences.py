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
from gpucodegen.dialects.transform import NAMED_SEQUENCE, SEQUENCE
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
)
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.records import dataclass
from gpucodegen.schedule import steps as s
from gpucodegen.schedule.steps import Schedule, Step

MAIN, MARK = "__transform_main", "transform.with_named_sequence"


@dataclass(slots=True)
class Nest:
    """The loops of a structured operation, the outermost first.

    A dimension of one element has the empty name: it becomes no loop.
    """

    function: str
    name: str
    kind: str
    loops: list[str]

    @property
    def first(self) -> str:
        """The outermost loop."""
        return next(filter(None, self.loops), "")


@dataclass(frozen=True, slots=True)
class TileLoop:
    """A loop over tiles, or a loop of the payload; ``place``: where it is to run."""

    function: str
    name: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the payload, or with the empty name the module."""

    name: str


Payload = Nest | TileLoop | Function
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
    read.run(main, [(Function(""),)])
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
            single = _of_one_element(op)
            dimensions = range(len(iterator_types(op)))
            loops = ["" if d in single else f"{name}_d{d}" for d in dimensions]
            found.append(Nest(function, name, op.name, loops))
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


def _of_one_element(op: Operation) -> set[int]:
    """The dimensions of a structured operation that have one element."""
    found: set[int] = set()
    for value, map_ in zip(op.operands, indexing_maps(op), strict=False):
        shape: tuple[int | None, ...] = getattr(value.type, "shape", ())
        for result, extent in zip(map_.results, shape, strict=False):
            if isinstance(result, Dim) and extent == 1:
                found.add(result.position)
    return found


@dataclass(slots=True)
class _Sequence:
    """The payload, the handles of values, and the steps of each function so far."""

    known: list[Payload]
    named: dict[str, Operation]
    handles: dict[Value, Handle] = field(default_factory=dict[Value, Handle])
    steps: dict[str, list[Step]] = field(default_factory=dict[str, list[Step]])
    bound: dict[str, list[Step]] = field(default_factory=dict[str, list[Step]])
    vectorized: set[str] = field(default_factory=set[str])
    tiles: int = 0

    def run(self, sequence: Operation, arguments: Sequence[Handle]) -> list[Handle]:
        """Read the operations of a sequence; the handles that it yields."""
        block = sequence.body
        self.handles |= dict(zip(block.arguments, arguments, strict=False))
        yielded: list[Handle] = []
        for op in block.operations:
            if op.name == "transform.yield":
                yielded = [self.handles[value] for value in op.operands]
                continue
            read = _READ.get(op.name)
            if read is None:
                raise _refused(op, "Use one of " + ", ".join(sorted(_READ)))
            found = read(self, op)
            self.handles |= dict(zip(op.results, found, strict=True))
        return yielded

    def finished(self) -> dict[str, list[Step]]:
        """All steps: loops first, then the places where they run."""
        names = [*self.steps, *self.bound, *self.vectorized]
        return {
            name: [
                *self.steps.get(name, []),
                *self.bound.get(name, []),
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


def _integers(given: Attribute) -> list[int] | None:
    if isinstance(given, DenseArrayAttr):
        return [int(value) for value in given.values]
    if not isinstance(given, ArrayAttr):
        return None
    values = [v.value for v in given.values if isinstance(v, IntegerAttr)]
    return values if len(values) == len(given.values) else None


# -- handles ---------------------------------------------------------------------------


def _match(q: _Sequence, op: Operation) -> list[Handle]:
    given = op.attributes.get("ops")
    if not isinstance(given, ArrayAttr) or {"interface", "attributes"} & {
        *op.attributes
    }:
        raise _refused(op, 'Match by names of operations: ops{["linalg.matmul"]}')
    names = {one.value for one in given.values if isinstance(one, StringAttr)}
    inside = {one.name for one in q.of(op) if isinstance(one, Function)}
    inside |= {one.name for one in q.of(op) if isinstance(one, Nest)}

    def fits(one: Payload) -> bool:
        match one:
            case Function():
                return "func.func" in names and ("" in inside or one.name in inside)
            case Nest():
                is_there = {"", one.function, one.name} & inside
                return one.kind in names and bool(is_there)
            case TileLoop():
                is_there = {"", one.function} & inside
                return bool({"affine.for", "scf.for"} & names and is_there)

    return [tuple(filter(fits, q.known))]


def _same(q: _Sequence, op: Operation) -> list[Handle]:
    """Operations after which each result stands for the operand."""
    return [q.of(op)] * len(op.results)


def _nothing(q: _Sequence, op: Operation) -> list[Handle]:
    """Simplifications, which the compiler makes anyway, and prints."""
    del q
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
    """The function around a payload."""
    if op.string("op_name", "func.func") != "func.func":
        raise _refused(op, "Use the handles of loops that the tiling gives")
    names = [getattr(one, "function", "") for one in q.of(op)]
    return [tuple(Function(name) for name in dict.fromkeys(names))]


def _include(q: _Sequence, op: Operation) -> list[Handle]:
    callee = op.attributes["callee"]
    assert isinstance(callee, SymbolRefAttr)
    sequence = q.named.get(callee.path[-1])
    if sequence is None or not sequence.regions:
        raise _refused(op, f"Known sequences: {errors.one_of(list(q.named))}")
    return q.run(sequence, [q.of(op, n) for n in range(len(op.operands))])


# -- transformations -------------------------------------------------------------------


def _tiled(
    q: _Sequence, nest: Nest, sizes: Sequence[int], places: Sequence[str] = ()
) -> list[TileLoop]:
    """Tile a nest; the loops over tiles."""
    pairs = zip(nest.loops, [*sizes, *(0 for _ in nest.loops)], strict=False)
    sizes = [size for loop, size in pairs if loop]
    while sizes and not sizes[-1]:
        sizes.pop()
    if not sizes:
        return []
    names = [f"{nest.name}_t{q.tiles + number}" for number in range(len(sizes))]
    q.tiles += len(sizes)
    q.add(nest.function, s.tile(nest.first, sizes=sizes, names=names))
    found = [name for name, size in zip(names, sizes, strict=True) if size > 1]
    there = [*places, *("" for _ in found)]
    return [
        TileLoop(nest.function, name, place)
        for name, place in zip(found, there, strict=False)
    ]


def _tile_for(q: _Sequence, op: Operation) -> list[Handle]:
    """``tile_using_for``: the tiled operation, and a loop for each size but 0."""
    sizes, order = _numbers(op, "tile_sizes", "sizes"), _numbers(op, "interchange")
    nests = q.nests(op)
    made = [_tiled(q, nest, sizes) for nest in nests]
    if order:
        if any(sorted(order) != list(range(len(loops))) for loops in made):
            raise _refused(op, "Give an interchange of the loops over tiles")
        for loops in made:
            names = [loops[position].name for position in order]
            q.add(loops[0].function, s.interchange(loops[0].name, order=names))
        made = [[loops[position] for position in order] for loops in made]
    count = len(op.results) - 1
    if any(len(loops) != count for loops in made):
        given = len(made[0])
        raise _refused(op, f"The sizes make {given} loops, so give as many results")
    return [q.of(op), *(tuple(loops[n] for loops in made) for n in range(count))]


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
    if "num_threads" in op.attributes:
        raise _refused(op, "State tile_sizes in place of num_threads")
    mapping = op.attributes.get("mapping")
    given = mapping.values if isinstance(mapping, ArrayAttr) else ()
    places = [_PLACES.get(str(place), "") for place in given]
    if "" in places:
        raise _refused(op, f"Map to {', '.join(list(_PLACES)[:6])}")
    sizes = _numbers(op, "tile_sizes", "sizes")
    loops = [_tiled(q, nest, sizes, places) for nest in q.nests(op)]
    return [q.of(op), tuple(loop for own in loops for loop in own)]


def _bind(q: _Sequence, op: Operation, kind: str) -> list[Handle]:
    """Loops of this kind run where their mapping says."""
    inside = {getattr(one, "function", getattr(one, "name", "")) for one in q.of(op)}
    for handle in list(q.handles.values()):
        for loop in handle:
            if not isinstance(loop, TileLoop) or not loop.place.startswith(kind):
                continue
            step = s.bind(loop.name, loop.place)
            own = q.bound.setdefault(loop.function, [])
            if (loop.function in inside or "" in inside) and step not in own:
                own.append(step)
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
    return [q.of(op)]


def _fuse_into(q: _Sequence, op: Operation) -> list[Handle]:
    """The producer gets tiles like those of its consumer, and then its loops."""
    producers, loops = q.nests(op), q.loops(op, 1)
    steps = q.steps.get(loops[0].function, []) if loops else []
    tilings = [step for step in steps if loops[0].name in _names(step)]
    if len(producers) != 1 or not tilings:
        raise _refused(op, "Give one producer, and loops that tile its consumer")
    given = tilings[-1].values["sizes"]
    sizes = [n for n in given if isinstance(n, int)] if isinstance(given, tuple) else []
    sizes, (producer,) = sizes[: len(loops)], producers
    if 0 in sizes or len(loops) > len(producer.loops):
        raise _refused(op, "The loops over tiles must be those of the first dimensions")
    own = _tiled(q, producer, sizes)
    q.add(producer.function, s.fuse(own[0].name, loops[0].name, depth=len(loops)))
    found: list[Handle] = [(producer,), tuple(loops)]
    return found[: len(op.results)]


def _names(step: Step) -> tuple[object, ...]:
    found = step.values.get("names", ())
    return found if isinstance(found, tuple) else ()


def _vectorize(q: _Sequence, op: Operation) -> list[Handle]:
    for one in q.of(op):
        name = one.name if isinstance(one, Function) else one.function
        q.vectorized.add(name)
    return [q.of(op)] * len(op.results)


def _number(op: Operation, name: str, default: int) -> int:
    given = op.attributes.get(name)
    return given.value if isinstance(given, IntegerAttr) else default


def _unroll(q: _Sequence, op: Operation) -> list[Handle]:
    for loop in q.loops(op):
        q.add(loop.function, s.unroll(loop.name, factor=_number(op, "factor", 2)))
    return []


def _unroll_and_jam(q: _Sequence, op: Operation) -> list[Handle]:
    for loop in q.loops(op):
        factor = _number(op, "factor", 2)
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


_READ: dict[str, Callable[[_Sequence, Operation], list[Handle]]] = {
    "transform.annotate": _nothing,
    "transform.apply_cse": _nothing,
    "transform.apply_dce": _nothing,
    "transform.apply_licm": _nothing,
    "transform.apply_patterns": _nothing,
    "transform.cast": _same,
    "transform.get_parent_op": _parent,
    "transform.gpu.map_forall_to_blocks": lambda q, op: _bind(q, op, "block"),
    "transform.gpu.map_nested_forall_to_threads": lambda q, op: _bind(q, op, "thread"),
    "transform.include": _include,
    "transform.loop.peel": _peel,
    "transform.loop.pipeline": _pipeline,
    "transform.loop.unroll": _unroll,
    "transform.loop.unroll_and_jam": _unroll_and_jam,
    "transform.merge_handles": _merged,
    "transform.print": _nothing,
    "transform.split_handle": _split,
    "transform.structured.fuse_into_containing_op": _fuse_into,
    "transform.structured.generalize": _same,
    "transform.structured.interchange": _interchange,
    "transform.structured.match": _match,
    "transform.structured.tile_using_for": _tile_for,
    "transform.structured.tile_using_forall": _tile_forall,
    "transform.structured.vectorize": _vectorize,
    "transform.structured.vectorize_children_and_apply_patterns": _vectorize,
}
