"""The polyhedral model of a `Scop`: iteration domains and access relations in isl.

`model` turns a `Scop` into a `Model`, in which every statement has

* ``instances``: one integer tuple per execution with one dimension per surrounding
loop, which counts trips where the step is not 1, so that steps are always 1 here; *
``values``: instance -> values of the loop variables, and one ``formula`` for them where
there is one; * ``relations``: instance -> cell, one per access, restricted to the
domain.  ``exact`` marks relations that hold only cells that are certainly touched.
``forms`` are the relations up to a shift of the cells, and that shift; * ``doubts``:
conditions that may keep an instance from being executed.

Tuples carry no names: relations of different statements are told apart by who holds
them. Cells of arrays allocated in loops begin with the loops' values (`Array.scope`).

The conflicts of two accesses depend on their indices without constants and on the
difference of the constants, so accesses that differ by the same shift share one isl
query:

    { x -> y : L(x) + a = M(y) + b }  =  { x -> y : L(x) + (a - b) = M(y) }
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import Function, Limits, Map, Set, Solver
from gpucodegen.tiling.model.isl_forms import linear_function
from gpucodegen.tiling.model.scop import (
    Access,
    AccessKind,
    Array,
    Barrier,
    Commit,
    GroupWait,
    If,
    Leaf,
    Loop,
    Node,
    Phase,
    ProxyFence,
    Scop,
    Statement,
    Turn,
    Wait,
)

TRIPS = "the number of a loop's trips is not proven to be the same for all"
CONDITION = "a condition is not proven to be the same for all"


@dataclass(frozen=True, slots=True)
class Doubt:
    """A condition around a statement that may keep it from being executed.

    ``depth`` counts the surrounding loops that fix it: two executions in the same
    iteration of these, with the same ``cause`` around, happen both or not at all.
    ``uniform``: threads of one block that differ in nothing else decide it alike.
    ``what`` describes the unknown condition; ``loc`` is its location.
    """

    depth: int
    cause: object
    uniform: bool = False
    what: str = field(default="", compare=False)
    loc: object = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class EnclosingScope:
    """The loops and conditions around a node, and the doubts about its execution."""

    loops: tuple[Loop, ...] = ()
    conditions: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    @property
    def certain(self) -> bool:
        """Whether the node is certainly executed in all iterations."""
        return not self.doubts

    @property
    def key(self) -> object:
        """A key that is equal for nodes inside the same loops and conditions."""
        return tuple(loop.name for loop in self.loops), self.conditions

    @property
    def constraints(self) -> tuple[str, ...]:
        """All constraints on the loop variables and trip counters."""
        bounds = [bound for loop in self.loops for bound in iteration(loop)]
        return (*bounds, *self.conditions)

    def loop(self, loop: Loop) -> EnclosingScope:
        known = bool(loop.lowers and loop.uppers) and not loop.opaque
        loops = (*self.loops, loop)
        if known:
            return replace(self, loops=loops)
        doubt = Doubt(len(loops), loop.name, what=TRIPS, loc=loop.loc)
        return replace(self, loops=loops, doubts=(*self.doubts, doubt))

    def branch(self, node: If, *, taken: bool) -> EnclosingScope:
        if node.constraints is None:
            cause = id(node), taken
            doubt = Doubt(len(self.loops), cause, node.uniform, CONDITION, node.loc)
            return replace(self, doubts=(*self.doubts, doubt))
        holds = conjunction(node.constraints)
        condition = holds if taken else f"not ({holds})"
        return replace(self, conditions=(*self.conditions, condition))


@dataclass(frozen=True, slots=True)
class Place:
    """A statement, barrier or wait with its enclosing scope."""

    node: Leaf
    around: EnclosingScope


def places(
    body: tuple[Node, ...], around: EnclosingScope | None = None
) -> Iterator[Place]:
    """Every statement, barrier and wait in textual order.

    >>> from gpucodegen.tiling.model.scop import Statement
    >>> inside = If(("i >= 2",), (Statement("S", ()),))
    >>> (place,) = places((Loop("i", "0", "N", body=(inside,)),))
    >>> place.around.constraints
    ('i = __t_i', 'i >= 0', 'i < N', '(i >= 2)')
    """
    around = around or EnclosingScope()
    for node in body:
        match node:
            case Loop():
                yield from places(node.body, around.loop(node))
            case If():
                yield from places(node.body, around.branch(node, taken=True))
                yield from places(node.orelse, around.branch(node, taken=False))
            case _:
                yield Place(node, around)


def iteration(loop: Loop) -> list[str]:
    """The constraint that relates a loop's variable to its trip counter.

    step 1:  i = t and lower <= i < upper
    step s:  i = max(lower) + s*t and t >= 0 and i < upper
    """
    if loop.opaque:
        return [counting(loop)]
    below = [f"{loop.name} < {bound}" for bound in loop.uppers]
    if loop.step == 1 or not loop.lowers:
        above = [f"{loop.name} >= {bound}" for bound in loop.lowers]
        return [counting(loop), *above, *below]
    return [counting(loop), f"{trip(loop.name)} >= 0", *below]


def counting(loop: Loop) -> str:
    """The loop's variable as a formula of its trip counter."""
    if loop.opaque or loop.step == 1 or not loop.lowers:
        return f"{loop.name} = {trip(loop.name)}"
    start = loop.lowers[0]
    if len(loop.lowers) > 1:
        start = f"max({', '.join(loop.lowers)})"
    return f"{loop.name} = ({start}) + {loop.step}*{trip(loop.name)}"


def trip(name: str) -> str:
    """The name of a loop's trip counter."""
    return f"__t_{name}"


def conjunction(constraints: Sequence[str]) -> str:
    return " and ".join(f"({constraint})" for constraint in constraints) or "1 = 1"


_NUMBER = re.compile(r"-?\d+")
_SHIFTED = re.compile(r"(?P<head>.*[\w)]) (?P<sign>[+-]) (?P<by>\d+)(?P<tail> \+ \w+)?")


def shift_of(index: str | None) -> tuple[str | None, int]:
    """Splits an index into a part without constant and its constant.

    >>> shift_of("2*i + n - 5"), shift_of("7"), shift_of("j + 4 + lane")
    (('2*i + n', -5), ('', 7), ('j + lane', 4))
    >>> shift_of("floor((i + 3)/2)"), shift_of(None)
    (('floor((i + 3)/2)', 0), (None, 0))
    """
    if index is None:
        return None, 0
    if _NUMBER.fullmatch(index):
        return "", int(index)
    found = _SHIFTED.fullmatch(index)
    if found is None:
        return index, 0
    amount = int(found["by"])
    by = amount if found["sign"] == "+" else -amount
    return found["head"] + (found["tail"] or ""), by


def shifts_of(
    indices: Sequence[str | None],
) -> tuple[tuple[str | None, ...], tuple[int, ...]]:
    """Splits all indices of an access into parts without constants and the constants.

    >>> shifts_of(("i", "j + 1"))
    (('i', 'j'), (0, 1))
    """
    moved = [shift_of(index) for index in indices]
    return tuple(index for index, _ in moved), tuple(by for _, by in moved)


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
        """The name of the statement, or a description of the barrier or wait."""
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
        """Whether it starts a copy in a commit group of its thread (``cp.async``)."""
        return isinstance(self.node, Statement) and self.node.grouped

    @property
    def bulk(self) -> bool:
        """Whether it starts a copy by the copy engine (``cp.async.bulk``)."""
        return isinstance(self.node, Statement) and self.node.bulk

    @property
    def phase(self) -> Phase | None:
        """The role of the statement in the phases of an mbarrier."""
        return self.node.phase if isinstance(self.node, Statement) else None

    @property
    def arrives(self) -> bool:
        """Whether it starts a copy that completes on an mbarrier."""
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
        return self.instances.forms[self.position]


@dataclass(frozen=True)
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

    @cached_property
    def statements(self) -> tuple[Instances, ...]:
        """The statements in textual order."""
        return tuple(i for i in self.everything if isinstance(i.node, Statement))

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """Every access of every statement in textual order."""
        return tuple(
            Reference(instances, position)
            for instances in self.statements
            for position in range(len(instances.accesses))
        )

    @cached_property
    def writes(self) -> Mapping[str, Sequence[Reference]]:
        """By array: the references that write it, in textual order."""
        found: dict[str, list[Reference]] = {}
        for reference in self.references:
            if reference.access.writes:
                found.setdefault(reference.access.array, []).append(reference)
        return found

    @cached_property
    def places(self) -> Mapping[str, int]:
        """By loop: the textual position of its first node."""
        return {
            loop.name: instances.order
            for instances in reversed(self.everything)
            for loop in instances.loops
        }

    @cached_property
    def depth(self) -> int:
        """The most loops around a node."""
        return max((len(i.loops) for i in self.everything), default=0)

    @cached_property
    def _arrays(self) -> Mapping[str, Array]:
        return {array.name: array for array in self.scop.arrays}

    @cached_property
    def _named(self) -> Mapping[str, Instances]:
        return {i.name: i for i in reversed(self.statements)}

    def array(self, name: str) -> Array:
        return self._arrays[name]

    def statement(self, name: str) -> Instances:
        return self._named[name]

    def where(self, names: Sequence[str], constraint: str) -> Set:
        """The tuples named ``names`` for which the isl text holds."""
        return self.solver.set(
            f"{header(self.scop)} {{ [{', '.join(names)}] : {constraint} }}"
        )

    def beyond_context(self, relation: Map) -> Map:
        """``relation`` without the constraints that the context implies."""
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
    found = tuple(places(scop.body))
    solver = Solver((limits or Limits()).of(len(found)))
    arrays = {array.name: array for array in scop.arrays}
    builder = _Builder(scop, arrays, solver)
    everything = tuple(
        builder.instances(order, place) for order, place in enumerate(found)
    )
    return Model(scop, solver, everything)


def followed(built: Model, statement: Statement) -> Model:
    """The model with ``statement`` appended at the end of the program."""
    scop = replace(built.scop, body=(*built.scop.body, statement))
    arrays = {array.name: array for array in scop.arrays}
    builder = _Builder(scop, arrays, built.solver)
    last = builder.instances(len(built.everything), Place(statement, EnclosingScope()))
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
    """The isl objects of all statements at one place; ``exact``: nothing was lost."""

    exact: bool
    values: Map
    formula: Function | None
    domain: Set


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells of an access; ``exact``: no part of its text was dropped.

    ``cells``: by the values of the loops, executed or not.
    """

    exact: bool
    relation: Map
    cells: Map


@dataclass(frozen=True, slots=True)
class _Builder:
    """Reads isl text; equal texts of neighbouring statements are read once."""

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

    def _frame(self, around: EnclosingScope) -> _Frame:
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

    def _relation(self, around: EnclosingScope, access: Access) -> _Cells:
        """{ trips -> scope, indices : span } over the domain, each text once."""
        key = (around.key, access.array, access.indices, access.span, access.where)
        if key not in self.relations:
            self.relations[key] = self._cells(around, access)
        return self.relations[key]

    def _form(self, around: EnclosingScope, access: Access, cells: _Cells) -> Form:
        """The relation without its shift; equal forms share isl queries."""
        array = self.arrays.get(access.array)
        scope = array.scope if array else ()
        moved, shifts = shifts_of(access.indices)
        shape = (around.key, scope, moved, access.span, access.where, cells.exact)
        return self.solver.number(shape), shifts

    def _cells(self, around: EnclosingScope, access: Access) -> _Cells:
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
        cells = self.solver.read(self._text(target, touched))
        values = self.frames[around.key].values
        if cells is not None:
            relation = self.solver.ask(lambda: values.apply_range(cells), None)
            if relation is not None:
                return _Cells(exact=True, relation=relation, cells=cells)
        anywhere = self.solver.map(self._text(target, ()))
        return _Cells(
            exact=False, relation=values.apply_range(anywhere), cells=anywhere
        )

    def _tag(self, around: EnclosingScope, node: Leaf) -> Map | None:
        tag = node.tag if isinstance(node, Statement | Wait) else None
        if tag is None:
            return None
        flag = Access(tag.array, AccessKind.READ, tag.indices)
        return self._relation(around, flag).relation

    def _text(self, relation: str, constraints: Sequence[str]) -> str:
        return f"{header(self.scop)} {{ {relation} : {conjunction(constraints)} }}"
