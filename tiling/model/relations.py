"""The polyhedral model of a `Scop`: integer relations for iterations and accesses.

Comes in: a `Scop`. Goes out: a `Model`, in which every statement has

* its *instances*: one integer tuple per execution, one dimension per surrounding loop,
  counting trips where the step is not 1, so that steps are always 1 here;
* ``values``: instance -> values of the loop variables, and as one ``formula`` where
  there is one;
* ``relations``: instance -> cell, one per access, restricted to the domain; ``exact``
  tells which of them hold nothing but what is certainly touched when executed;
  ``forms``: the same up to a shift of the cells, and that shift (`translation`);
* ``doubts``: why an instance may not be executed.

Tuples carry no names: relations of different statements are told apart by who holds
them. Cells of arrays allocated in loops begin with the loops' values (`Array.scope`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gpucodegen.tiling.model.isl import Function, Limits, Map, Set, Solver
from gpucodegen.tiling.model.isl_forms import linear_function
from gpucodegen.tiling.model.places import (
    Around,
    Doubt,
    Place,
    conjunction,
    counting,
    iteration,
    places,
    trip,
)
from gpucodegen.tiling.model.scop import (
    Access,
    AccessKind,
    Array,
    Barrier,
    Commit,
    GroupWait,
    Leaf,
    Loop,
    Phase,
    ProxyFence,
    Scop,
    Statement,
    Turn,
    Wait,
)
from gpucodegen.tiling.model.translation import shifts_of

Form = tuple[int, tuple[int, ...]]
"""The number of a shape, and shifts: relations of equal forms are equal."""


@dataclass(frozen=True, slots=True)
class Instances:
    """A statement (or barrier, or wait) with its iteration domain and accesses."""

    node: Leaf
    order: int
    loops: tuple[Loop, ...]
    doubts: tuple[Doubt, ...]
    values: Map
    formula: Function | None
    domain: Set
    relations: tuple[Map, ...]
    exact: tuple[bool, ...]
    forms: tuple[Form, ...]
    cells: tuple[Map, ...]
    tag: Map | None

    @property
    def certain(self) -> bool:
        """Whether every instance is certainly executed."""
        return not self.doubts

    @property
    def name(self) -> str:
        """The statement's name, or what else it is."""
        match self.node:
            case Statement(name=name):
                return name
            case Barrier(what=what):
                return what
            case Wait() | GroupWait():
                return "wait"
            case Commit():
                return "commit"
            case ProxyFence():
                return "fence"

    @property
    def grouped(self) -> bool:
        """Whether it starts a copy that belongs to a group of its thread."""
        return isinstance(self.node, Statement) and self.node.grouped

    @property
    def bulk(self) -> bool:
        """Whether an engine makes the copy that it starts."""
        return isinstance(self.node, Statement) and self.node.bulk

    @property
    def phase(self) -> Phase | None:
        """Its part in the phases of an mbarrier."""
        return self.node.phase if isinstance(self.node, Statement) else None

    @property
    def arrives(self) -> bool:
        """Whether it starts a copy whose bytes arrive at an mbarrier."""
        return self.phase is not None and self.phase.turn is Turn.COPY

    @property
    def copies(self) -> bool:
        """Whether it starts an asynchronous copy."""
        return isinstance(self.node, Statement) and (
            self.tag is not None or self.grouped or self.arrives
        )

    @property
    def accesses(self) -> tuple[Access, ...]:
        """The accesses, parallel to ``relations``."""
        return self.node.accesses if isinstance(self.node, Statement) else ()

    def depth(self, loop: Loop) -> int | None:
        """The position of ``loop`` among the surrounding loops."""
        names = [outer.name for outer in self.loops]
        return names.index(loop.name) if loop.name in names else None


@dataclass(frozen=True, slots=True)
class Reference:
    """One access of one statement."""

    instances: Instances
    position: int

    @property
    def access(self) -> Access:
        """The access itself."""
        return self.instances.accesses[self.position]

    @property
    def relation(self) -> Map:
        """Instance -> cell."""
        return self.instances.relations[self.position]

    @property
    def cells(self) -> Map:
        """Values of the loops -> cell, whether executed or not."""
        return self.instances.cells[self.position]

    @property
    def exact(self) -> bool:
        """Whether each instance certainly touches exactly these cells."""
        return self.instances.exact[self.position]

    @property
    def form(self) -> Form:
        """The relation up to a shift, and that shift."""
        return self.instances.forms[self.position]


@dataclass(frozen=True, slots=True)
class Model:
    """The relations of a whole `Scop`, in one isl context.

    >>> from gpucodegen.tiling.model.scop import Array, Loop, nest, read, write
    >>> shift = Statement("S", (read("A", "i + 1"), write("A", "i")))
    >>> scop = Scop(
    ...     ("N",), (), (Array("A", ("N",)),), nest([Loop("i", "0", "N")], (shift,))
    ... )
    >>> [instances.name for instances in model(scop).statements]
    ['S']
    """

    scop: Scop
    solver: Solver
    everything: tuple[Instances, ...]

    @property
    def statements(self) -> tuple[Instances, ...]:
        """The statements in textual order."""
        return tuple(i for i in self.everything if isinstance(i.node, Statement))

    @property
    def references(self) -> tuple[Reference, ...]:
        """Every access of every statement in textual order."""
        return tuple(
            Reference(instances, position)
            for instances in self.statements
            for position in range(len(instances.accesses))
        )

    def array(self, name: str) -> Array:
        """The array of this name."""
        return next(array for array in self.scop.arrays if array.name == name)

    def statement(self, name: str) -> Instances:
        """The statement of this name."""
        return next(i for i in self.statements if i.name == name)

    def where(self, names: Sequence[str], constraint: str) -> Set:
        """The tuples named ``names`` for which the isl text holds."""
        return self.solver.set(
            f"{header(self.scop)} {{ [{', '.join(names)}] : {constraint} }}"
        )

    def beyond_context(self, relation: Map) -> Map:
        """``relation`` without the constraints that the context states already."""
        if not self.scop.context:
            return relation
        known = self.where((), " and ".join(self.scop.context)).params()
        return self.solver.ask(lambda: relation.gist_params(known), relation)

    def box(self, instances: Instances, kept: Sequence[Loop]) -> Map:
        """Trips -> values by the bounds and steps of the ``kept`` loops only."""
        names = [loop.name for loop in instances.loops]
        trips = ", ".join(trip(name) for name in names)
        bounds = conjunction([bound for loop in kept for bound in iteration(loop)])
        relation = f"[{trips}] -> [{', '.join(names)}] : {bounds}"
        return self.solver.map(f"{header(self.scop)} {{ {relation} }}")

    def times(self, name: str, vector: Sequence[str]) -> Map:
        """Instances of a statement -> the values of isl text over its loops' names."""
        instances = self.statement(name)
        names = ", ".join(loop.name for loop in instances.loops)
        text = f"{header(self.scop)} {{ [{names}] -> [{', '.join(vector)}] }}"
        return instances.values.apply_range(self.solver.map(text))


def model(scop: Scop, limits: Limits | None = None) -> Model:
    """Build the relations of ``scop``; ``limits`` hold for every later isl query."""
    solver = Solver(limits or Limits())
    arrays = {array.name: array for array in scop.arrays}
    builder = _Builder(scop, arrays, solver)
    everything = tuple(
        builder.instances(order, place) for order, place in enumerate(places(scop.body))
    )
    return Model(scop, solver, everything)


def followed(built: Model, statement: Statement) -> Model:
    """The model with one more statement at the end of the program."""
    scop = replace(built.scop, body=(*built.scop.body, statement))
    arrays = {array.name: array for array in scop.arrays}
    builder = _Builder(scop, arrays, built.solver)
    last = builder.instances(len(built.everything), Place(statement, Around()))
    return Model(scop, built.solver, (*built.everything, last))


def header(scop: Scop) -> str:
    """The parameter tuple that opens every isl text of ``scop``."""
    return f"[{', '.join(scop.parameters)}] ->"


def common_loops(a: Instances, b: Instances) -> tuple[Loop, ...]:
    """The loops around both, outermost first."""
    shared: list[Loop] = []
    for x, y in zip(a.loops, b.loops, strict=False):
        if x.name != y.name:
            break
        shared.append(x)
    return tuple(shared)


@dataclass(frozen=True, slots=True)
class _Frame:
    """What all statements at one place share; ``exact``: its text was read in full."""

    exact: bool
    values: Map
    formula: Function | None
    domain: Set


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells of an access; ``exact``: its text was read in full.

    ``cells``: by the values of the loops, executed or not.
    """

    exact: bool
    relation: Map
    cells: Map


@dataclass(frozen=True, slots=True)
class _Builder:
    """Reads isl text; each text once, for statements side by side repeat it."""

    scop: Scop
    arrays: dict[str, Array]
    solver: Solver
    frames: dict[object, _Frame] = field(default_factory=dict[object, _Frame])
    relations: dict[object, _Cells] = field(default_factory=dict[object, "_Cells"])

    def instances(self, order: int, place: Place) -> Instances:
        around, node = place.around, place.node
        frame = self.frames.get(around.key)
        if frame is None:
            frame = self.frames[around.key] = self._frame(around)
        accesses = node.accesses if isinstance(node, Statement) else ()
        cells = [self._relation(around, access) for access in accesses]
        return Instances(
            node=node,
            order=order,
            loops=around.loops,
            doubts=around.doubts,
            values=frame.values,
            formula=frame.formula,
            domain=frame.domain,
            relations=tuple(cell.relation for cell in cells),
            exact=tuple(
                frame.exact and cell.exact and access.exact
                for cell, access in zip(cells, accesses, strict=True)
            ),
            forms=tuple(
                self._form(around, access, cell)
                for cell, access in zip(cells, accesses, strict=True)
            ),
            cells=tuple(cell.cells for cell in cells),
            tag=self._tag(around, node),
        )

    def _frame(self, around: Around) -> _Frame:
        """{ trips -> values : steps }, alone and with bounds, conditions, context."""
        names = [loop.name for loop in around.loops]
        trips = ", ".join(trip(name) for name in names)
        relation = f"[{trips}] -> [{', '.join(names)}]"
        steps = [counting(loop) for loop in around.loops]
        counted = self.solver.map(self._text(relation, steps))
        formula = self.solver.ask(lambda: linear_function(counted), None)
        every = (*around.constraints, *self.scop.context)
        bounded = self.solver.read(self._text(relation, every))
        values = counted if bounded is None else bounded
        return _Frame(bounded is not None, values, formula, values.domain())

    def _relation(self, around: Around, access: Access) -> _Cells:
        """{ trips -> scope, indices : span } over the domain, each text once."""
        key = (around.key, access.array, access.indices, access.span, access.where)
        if key not in self.relations:
            self.relations[key] = self._cells(around, access)
        return self.relations[key]

    def _form(self, around: Around, access: Access, cells: _Cells) -> Form:
        """What decides over the relation, shifts apart."""
        array = self.arrays.get(access.array)
        scope = array.scope if array else ()
        moved, shifts = shifts_of(access.indices)
        shape = (around.key, scope, moved, access.span, access.where, cells.exact)
        return self.solver.number(shape), shifts

    def _cells(self, around: Around, access: Access) -> _Cells:
        names = [loop.name for loop in around.loops]
        array = self.arrays.get(access.array)
        scope = [
            name if name in names else None for name in (array.scope if array else ())
        ]
        indices = (*scope, *access.indices)
        cell = [f"__c{i}" for i in range(len(indices))]
        touched = [
            f"{c} = {index}"
            for c, index in zip(cell, indices, strict=True)
            if index is not None
        ]
        touched += access.ranges
        if access.span:
            local = ", ".join(name for name, _ in access.span)
            touched = [f"exists {local} : ({conjunction(touched)})"]
        target = f"[{', '.join(names)}] -> [{', '.join(cell)}]"
        anywhere = self.solver.map(self._text(target, ()))
        cells = self.solver.read(self._text(target, touched))
        values = self.frames[around.key].values
        unknown = _Cells(
            exact=False, relation=values.apply_range(anywhere), cells=anywhere
        )
        if cells is None:
            return unknown
        return self.solver.ask(
            lambda: _Cells(exact=True, relation=values.apply_range(cells), cells=cells),
            unknown,
        )

    def _tag(self, around: Around, node: Leaf) -> Map | None:
        tag = node.tag if isinstance(node, Statement | Wait) else None
        if tag is None:
            return None
        flag = Access(tag.array, AccessKind.READ, tag.indices)
        return self._relation(around, flag).relation

    def _text(self, relation: str, constraints: Sequence[str]) -> str:
        return f"{header(self.scop)} {{ {relation} : {conjunction(constraints)} }}"
