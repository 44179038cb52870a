"""Affine rescheduling: skewing and isl's scheduler, carried out on ``affine`` nests.

`movable` takes a nest apart into `Movable`, the units that the order may separate with
their operations and loop variables, or a `Refusal` that names the reason.  A planner
computes a schedule: `Skew` adds multiples of outer loops to inner ones so that all
permute; `Restructure` uses isl's scheduler for fusion, skews and shifts.  `rebuild`
turns the schedule's AST (`gpucodegen.tiling.schedule.schedule_ast`) into
``affine.for``, ``affine.parallel`` and ``affine.if`` around the operations of each
unit, with ``affine.apply`` for the old loop variables.  Illegal schedules are refused
with a witness.  Where isl gives no answer the order is kept, with a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.affine import Constraint, IntegerSet
from gpucodegen.ir.attributes import IntegerSetAttr, UnitAttr
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Region, Value, clone, single_block
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.analysis.lifting import Lifted, Surroundings
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import in_functions, is_pure, with_blocks
from gpucodegen.passes.framework.indexing import Index, Variables, index_of, merge
from gpucodegen.passes.framework.nests import to_parallel
from gpucodegen.passes.loops.carried_cells import holds_numbers, through_cells
from gpucodegen.passes.nests import loop_names
from gpucodegen.passes.nests.loop_names import FOR
from gpucodegen.passes.nests.loop_rewriting import chosen_loops, is_outermost
from gpucodegen.records import dataclass
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule import schedule_ast as ast
from gpucodegen.tiling.schedule.isl_ast import generate
from gpucodegen.tiling.schedule.isl_scheduler import find_schedule
from gpucodegen.tiling.schedule.schedule import Schedule, Unit, UnitNest
from gpucodegen.tiling.schedule.skewing import skewed


@dataclass(frozen=True, slots=True)
class UnitBody:
    """Operations of one body in order, and the variables of the loops around them."""

    operations: tuple[Operation, ...]
    variables: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Movable:
    """A nest whose units may be executed in another order."""

    nest: UnitNest
    pieces: dict[str, UnitBody]
    lifted: Lifted
    root: Operation


STRUCTURE = frozenset({"affine.for", "affine.parallel", "affine.if"})


def movable(
    root: Operation,
    context: Sequence[Operation] = (),
    surroundings: Surroundings | None = None,
) -> Movable | Refusal:
    """The units of a nest.

    ``context``: the operations before it; ``surroundings``: the functions it may call.
    """
    tied = next((op for op in root.walk() if _is_tied(op)), None)
    if tied is not None:
        return Refusal(f"'{tied.name}' inside it keeps its place among the loops")
    analysis = analyse([root], context, surroundings)
    pieces: dict[str, UnitBody] = {}
    units: list[Unit] = []
    for piece in _pieces(root.regions[0].blocks[0].operations, _variables(root)):
        names = _statements(piece, analysis.lifted)
        whole = _with_definitions(piece, root)
        if isinstance(whole, Refusal):
            return whole
        if names:
            units.append(Unit(names))
            pieces[names[0]] = whole
    nest = UnitNest(analysis.model, analysis.dependences, tuple(units))
    return Movable(nest, pieces, analysis.lifted, root)


def _is_tied(op: Operation) -> bool:
    """Whether an operation has values or effects that belong to its loops."""
    if op.name in STRUCTURE:
        return bool(op.results)
    return bool(op.regions) or op.name in _TIED


_TIED = frozenset(
    {
        "memref.alloc",
        "memref.alloca",
        "memref.dealloc",
        "memref.dma_start",
        "memref.dma_wait",
        "affine.dma_start",
        "affine.dma_wait",
    }
)


def _variables(op: Operation) -> tuple[Value, ...]:
    """The variables of a loop; none for a condition."""
    return op.regions[0].blocks[0].arguments if op.name != "affine.if" else ()


def _pieces(
    operations: Sequence[Operation], variables: tuple[Value, ...]
) -> Iterator[UnitBody]:
    """Runs of operations between loops and conditions, in textual order."""
    run: list[Operation] = []
    for op in operations:
        if op.name not in STRUCTURE:
            run += [op] if op.name != "affine.yield" else []
            continue
        if run:
            yield UnitBody(tuple(run), variables)
        run = []
        for block in op.blocks:
            yield from _pieces(block.operations, (*variables, *_variables(op)))
    if run:
        yield UnitBody(tuple(run), variables)


def _statements(piece: UnitBody, lifted: Lifted) -> tuple[str, ...]:
    """The statements made from the operations of a piece."""
    own = {id(op) for op in piece.operations}
    return tuple(
        name
        for name, operations in lifted.operations.items()
        if any(id(op) in own for op in operations)
    )


def _with_definitions(piece: UnitBody, root: Operation) -> UnitBody | Refusal:
    """The piece with copies of index arithmetic from other pieces."""
    inside = {value: op for op in root.walk() for value in op.results}
    own = {id(op) for op in piece.operations}
    taken: dict[int, Operation] = {}
    work = list(piece.operations)
    while work:
        for value in work.pop().operands:
            op = inside.get(value)
            if op is None or id(op) in own or id(op) in taken:
                continue
            if not _is_arithmetic(op):
                return Refusal(
                    f"%{value.name or '?'} is made in one body of the nest and used "
                    "in another"
                )
            taken[id(op)] = op
            work.append(op)
    first = tuple(op for op in root.walk() if id(op) in taken)
    return UnitBody((*first, *piece.operations), piece.variables)


def _is_arithmetic(op: Operation) -> bool:
    reads = op.name.endswith(("load", "transfer_read"))
    return is_pure(op) and not reads and not op.regions


def rebuild(
    source: Movable, schedule: Schedule, nodes: Sequence[ast.Node]
) -> list[Operation]:
    """The operations that run ``nodes``."""
    b = Builder(source.root.location)
    maker = _Maker(source, schedule, _locations(source))
    maker.body(b, nodes, _parameters(b, source, ast.names(nodes)))
    return b.operations


def _parameters(b: Builder, source: Movable, used: set[str]) -> dict[str, Index]:
    """The value of each parameter that the nodes name."""
    lifted = source.lifted
    known = {
        name: Index.of(_as_index(b, value))
        for name, value in lifted.parameters.items()
        if name in used
    }
    for name in sorted((used & lifted.extents.keys()) - known.keys()):
        memref, dimension = lifted.extents[name]
        at = b.constant(dimension, INDEX)
        (extent,) = b.add("memref.dim", (memref, at), [INDEX], hint=name)
        known[name] = Index.of(extent)
    return known


def _as_index(b: Builder, value: Value) -> Value:
    if value.type == INDEX:
        return value
    return b.add("arith.index_cast", (value,), [INDEX], hint=value.name)[0]


def _locations(source: Movable) -> dict[str, Location]:
    """The locations of the loops with these variables."""
    return {
        loop.name: loop.loc
        for unit in source.nest.units
        for loop in source.nest.instances(unit).loops
        if isinstance(loop.loc, Location)
    }


@dataclass(frozen=True, slots=True)
class _Maker:
    source: Movable
    schedule: Schedule
    locations: Mapping[str, Location]

    def body(self, b: Builder, nodes: Sequence[ast.Node], known: Variables) -> None:
        for node in nodes:
            match node:
                case ast.LoopNode():
                    b.operations.append(self._loop(b, node, known))
                case ast.Guard():
                    b.operations.append(self._guard(b, node, known))
                case ast.StatementNode():
                    self._run(b, node, known)

    def _loop(self, b: Builder, node: ast.LoopNode, known: Variables) -> Operation:
        inner = Builder(self.locations.get(node.name, b.location))

        def body(made: Builder, variable: Value) -> None:
            self.body(made, node.body, {**known, node.name: Index.of(variable)})

        inner.loop(
            [index_of(lower, known) for lower in node.lowers],
            [index_of(upper, known) for upper in node.uppers],
            body,
            step=node.step,
            hint=node.name,
        )
        (loop,) = inner.operations
        if node.dimension in self.schedule.strided:
            loop = loop.with_attribute(affine.SCALAR, UnitAttr())
        is_parallel = node.dimension in self.schedule.parallel
        return to_parallel(loop) if is_parallel else loop

    def _guard(self, b: Builder, node: ast.Guard, known: Variables) -> Operation:
        values, exprs = merge([index_of(c.expression, known) for c in node.constraints])
        constraints = tuple(
            Constraint(expr, constraint.equality)
            for expr, constraint in zip(exprs, node.constraints, strict=True)
        )
        condition = IntegerSetAttr(IntegerSet(len(values), 0, constraints))
        return Operation(
            "affine.if",
            values,
            attributes={"condition": condition},
            regions=tuple(
                self._branch(b, branch, known) for branch in (node.body, node.orelse)
            ),
            location=b.location,
        )

    def _branch(
        self, b: Builder, nodes: Sequence[ast.Node], known: Variables
    ) -> Region:
        if not nodes:
            return Region()
        inner = Builder(b.location)
        self.body(inner, nodes, known)
        return single_block([*inner.operations, affine.yield_(())])

    def _run(self, b: Builder, node: ast.StatementNode, known: Variables) -> None:
        """Copies of the unit's operations, with new values for its variables."""
        piece = self.source.pieces[node.name]
        mapping = {
            variable: b.index(index_of(value, known), variable.name)
            for variable, value in zip(piece.variables, node.values, strict=True)
        }
        b.operations += [clone(op, mapping) for op in piece.operations]


Planner = Callable[[Movable], Schedule | Refusal | None]
"""None keeps the nest as it is."""


def reorder_nests(module: Module, transformation: str, plan: Planner) -> Module:
    """Every outermost affine nest by its new schedule; illegal ones are errors."""

    def rewrite(
        op: Operation, context: Sequence[Operation], surroundings: Surroundings
    ) -> list[Operation]:
        made = reordered(op, context, surroundings, plan)
        if not isinstance(made, Refusal):
            return made
        if made.undecided:
            warn_kept(op, str(made))
            return [op]
        raise errors.IllegalTransformation(
            op.location, transformation=_titled(transformation, op), reason=str(made)
        )

    return rewrite_nests(module, rewrite)


def reordered(
    op: Operation,
    context: Sequence[Operation],
    surroundings: Surroundings,
    plan: Planner,
) -> list[Operation] | Refusal:
    """The operations in place of one nest."""
    source = movable(op, context, surroundings)
    if isinstance(source, Refusal):
        return source
    schedule = plan(source)
    if schedule is None:
        return [op]
    if isinstance(schedule, Refusal):
        return schedule
    nodes = generate(source.nest, schedule)
    if nodes is None:
        return Refusal("isl made no loops of its schedule", undecided=True)
    return rebuild(source, schedule, nodes)


def warn_kept(op: Operation, reason: str) -> None:
    errors.tell(errors.OrderKept(op.location, loops=_names(op), reason=reason))


def _titled(transformation: str, op: Operation) -> str:
    return f"{transformation} the loops ({_names(op)})"


def _names(op: Operation) -> str:
    loops = (inner for inner in op.walk() if inner.name == "affine.for")
    return ", ".join(affine.For(loop).iv.name or "?" for loop in loops)


Rewrite = Callable[[Operation, Sequence[Operation], Surroundings], list[Operation]]


def rewrite_nests(module: Module, rewrite: Rewrite) -> Module:
    """Rewrite the outermost ``affine.for`` of functions, given preceding operations."""
    surroundings = Surroundings.of(module)

    def block(operations: Sequence[Operation]) -> list[Operation]:
        made: list[Operation] = []
        for at, op in enumerate(operations):
            is_nest = op.name == "affine.for"
            made += rewrite(op, operations[:at], surroundings) if is_nest else [op]
        return made

    return in_functions(module, lambda op: [with_blocks(op, block)])


@dataclass(frozen=True, slots=True)
class Restructure(ModulePass):
    """Give every nest the order that isl's scheduler finds within its limits."""

    name: ClassVar[str] = "restructure"

    def apply(self, module: Module) -> Module:
        def plan(source: Movable) -> Schedule | Refusal:
            return find_schedule(source.nest)

        return reorder_nests(module, "restructuring", plan)


@dataclass(frozen=True, slots=True)
class Skew(ModulePass):
    """Skew every nest so that its loops may be tiled and interchanged.

    ``factors``: for the second loop its factor of the first, for the third those of the
    first and second, and so on; empty chooses the smallest.  Statements of different
    bodies are shifted against each other and come into common loops.  Values that
    loops carry are kept in cells of local buffers meanwhile.
    """

    name: ClassVar[str] = "skew"
    factors: tuple[int, ...] = ()

    def apply(self, module: Module) -> Module:
        """Skew, or raise IllegalTransformation with a witness."""

        def plan(source: Movable) -> Schedule | Refusal:
            return skewed(source.nest, self.factors)

        def rewrite(module: Module) -> Module:
            return reorder_nests(module, "skewing", plan)

        nests = chosen_loops(module, "", "", is_outermost)
        for site in nests:
            loop_names.demand(holds_numbers(_loops(site.loop)), site.loop, "skewing")
        return through_cells(module, nests, _loops, rewrite)


def _loops(op: Operation) -> list[Operation]:
    return [inner for inner in op.walk() if inner.name == FOR]
