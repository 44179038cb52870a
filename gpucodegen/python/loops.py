"""Translates loops: ``scf.for`` over a range, ``scf.while``, and carried variables."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, count
from typing import Protocol

from gpucodegen import errors
from gpucodegen.ir.attributes import StringAttr
from gpucodegen.ir.operation import Value, single_block
from gpucodegen.ir.types import INDEX, MemRefType
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python import private_arrays
from gpucodegen.python.arrays import Lazy, View, allocated, fill, may_share
from gpucodegen.python.block_arguments import (
    UNSET,
    Carried,
    Liveness,
    NumberJoin,
    PrefixJoin,
    always_assigned,
    assigned,
    join,
    names,
    narrowed,
)
from gpucodegen.python.context import Bound, Context
from gpucodegen.python.expressions import condition, evaluate
from gpucodegen.python.range_checks import Block, Limits, convert, last_of, limited
from gpucodegen.python.range_flags import after_loop, before_loop
from gpucodegen.python.results import is_tuple, leaves, rebuilt
from gpucodegen.python.scalars import Scalar, integers, known, limits_of
from gpucodegen.python.structured_control_flow import LENGTH, RUNS, range_of
from gpucodegen.python.types import category
from gpucodegen.records import dataclass

Variables = dict[str, Bound]
_HINT = "Count with `for i in range(n)`"


class Statements(Protocol):
    """The translator of a loop's body."""

    c: Context
    live: Liveness

    def block(self, nodes: Iterable[ast.stmt]) -> None: ...


def loop(s: Statements, node: ast.For) -> None:
    """``scf.for`` over a range."""
    c = s.c
    ends = range_of(node, c.refuse)
    items = _known_items(s, node)
    if items is not None:
        assert isinstance(node.target, ast.Name)
        for n in range(len(items)):
            c.variables[node.target.id] = known(n)
            s.block(node.body)
        return
    is_hidden = "range" in c.variables and ast.unparse(node.iter).startswith("range(")
    if not isinstance(node.iter, ast.Call) or is_hidden:
        raise c.refuse(node, "a loop over something else than a range", _HINT)
    start, stop, step = (_whole(s, end) for end in ends)
    c.at(node)
    if step.value is None and step.constant == 0:
        raise c.refuse(node, "a range whose step is 0", "Use another step")
    target = node.target.id if isinstance(node.target, ast.Name) else "i"
    counted = step.value is not None or step.constant < 0
    bounds = (start, stop, step)
    if step.value is not None:
        _refuse_zero(s, step)
    if counted:
        bounds = known(0), _trips(s, start, stop, step), known(1)
    operands = [bound.ssa(c.b) for bound in bounds]

    def head(position: Scalar) -> None:
        if counted:
            passed = integers(c.b, "mul", position, step)
            position = integers(c.b, "add", start, passed)
        c.variables[target] = position

    def body(own: Sequence[Carried]) -> _Body:
        inside = [Value(ty, n.name, c.b.location) for n in own for ty in n.types]
        iv = Value(INDEX, target, c.b.location)
        with c.block("loop") as inner:
            inner.variable, inner.own, inner.ends = iv, (iv, *inside), bounds
            low, high = limits_of(bounds[0])[0], limits_of(bounds[1])[1] - 1
            head(Scalar(int, iv, limits=(low, max(low, high))))
            _received(s, own, inside)
            s.block(node.body)
            return _Body((inner,), inside, c.variables, (iv,))

    is_read = _is_read_after(s, node, target)
    fresh = _initialize_fresh(s, node, body, skip=target)
    own, made, buffers = _translated(s, node, _carried(s, node, skip=target), body)
    (inner,) = made.blocks
    c.at(node)
    inner.add(
        "scf.yield", [v for n in own for v in n.passed(inner, made.after[n.name])]
    )
    first = [v for n in own for v in n.passed(c.b, c.variables[n.name])]
    flags = before_loop(c.b, inner)
    region = single_block(inner.operations, (*made.more, *made.inside))
    results = c.b.add(
        "scf.for", (*operands, *first), [v.type for v in made.inside], {}, [region]
    )
    after_loop(c.b, flags)
    _left(s, node, own, results, buffers)
    if is_read or fresh:
        size = integers(c.b, "sub", bounds[1], bounds[0])
        limited(c.b, size, Limits(1, 2**63 - 1, _NO_ITERATION))
    if is_read:
        head(last_of(c.b, *bounds))


@dataclass(frozen=True, slots=True)
class _Body:
    """A translated body: its blocks, the carried values in the last, ``more`` values.

    ``after``: the variables at its end.
    """

    blocks: tuple[Block, ...]
    inside: Sequence[Value]
    after: Variables
    more: Sequence[Value] = ()

    def passed(self, own: Sequence[Carried]) -> list[Value]:
        """The carried values that an iteration passes to the next one."""
        inner = self.blocks[-1]
        return [v for n in own for v in n.passed(inner, self.after[n.name])]


Translate = Callable[[Sequence[Carried]], _Body]


def _translated(
    s: Statements,
    node: ast.For | ast.While,
    own: list[Carried],
    translate: Translate,
) -> tuple[list[Carried], _Body, Variables]:
    """The carried variables, the body, and variables that the loop has in buffers."""
    place = s.c.source.filename, node.lineno, node.col_offset
    names = private_arrays.candidates(s.c, node, [n.name for n in own])
    if names and place not in s.c.buffers.carrying:
        found = _in_buffers(s, node, own, translate, dict.fromkeys(names, place))
        if found is not None:
            return found
        s.c.buffers.carrying.add(place)
    return *_fixpoint(s, node, own, translate), {}


def _in_buffers(
    s: Statements,
    node: ast.For | ast.While,
    own: Sequence[Carried],
    translate: Translate,
    names: Mapping[str, object],
) -> tuple[list[Carried], _Body, Variables] | None:
    """The loop with these variables in buffers; None if they need references."""
    c = s.c
    variables, private = dict(c.variables), dict(c.private)
    expected = dict(c.buffers.expected)
    with c.block("other") as first:
        made = {n: private_arrays.buffer(c, n, loop) for n, loop in names.items()}
    smaller = private_arrays.shrinking(c, node, [*names])
    c.variables |= made
    c.private |= made
    before = dict(c.buffers.expected)

    def counted(own: Sequence[Carried]) -> _Body:
        c.buffers.expected = dict(before)
        return translate(own)

    rest = [n for n in own if n.name not in names]
    rest += [Carried(n, [PrefixJoin(made[n], n)], made[n]) for n in sorted(smaller)]
    rest, body = _fixpoint(s, node, rest, counted)
    operations = [op for block in body.blocks for op in block.operations]
    is_right = private_arrays.only_assigned(
        c, operations, body.after, made, before, smaller
    )
    c.private = private
    if is_right:
        c.b.operations += first.operations
        return rest, body, {n: view for n, view in made.items() if n not in smaller}
    c.variables, c.buffers.expected = variables, expected
    return None


def _fixpoint(
    s: Statements, node: ast.AST, own: list[Carried], translate: Translate
) -> tuple[list[Carried], _Body]:
    """The carried variables with types that hold before and after each iteration."""
    numbers = rounds(s.c, node)
    while True:
        next(numbers)
        saved = dict(s.c.variables)
        body = translate(own)
        s.c.variables = saved
        after = {n.name: body.after.get(n.name) for n in own}
        wider = _widened(s, node, own, after, body.inside)
        if wider == own:
            return own, body
        own = wider


def _known_items(s: Statements, node: ast.For) -> tuple[Bound, ...] | None:
    """The tuple over which a loop counts: its body is repeated for each item."""
    match node.iter:
        case ast.Call(
            args=[ast.Call(func=ast.Name(id=name), args=[ast.Name() as own])]
        ):
            value = s.c.variables.get(own.id) if name == LENGTH else None
            return value if is_tuple(value) else None
        case _:
            return None


def _refuse_zero(s: Statements, step: Scalar) -> None:
    """Emit an empty loop whose step is 0 if the range's is, else 1."""
    b = s.c.b
    zero, one = (known(n).ssa(b) for n in (0, 1))
    least = b.add("arith.minui", (step.ssa(b), one), [INDEX])
    body = OperationList(b.location)
    body.add("scf.yield")
    region = single_block(body.operations, (Value(INDEX, "i", b.location),))
    b.add("scf.for", (zero, one, *least), (), {}, [region])


def _whole(s: Statements, node: ast.expr) -> Scalar:
    """An integer argument of a range."""
    value = evaluate(s.c, node)
    if not isinstance(value, Scalar) or category(value.kind) not in "iu":
        raise s.c.wrong(node, "`range`", [value], "Use integers")
    return convert(s.c.b, value, int)


def _trips(s: Statements, start: Scalar, stop: Scalar, step: Scalar) -> Scalar:
    """The trip count ``ceil((stop - start) / step)``, at least zero."""
    b = s.c.b
    if step.value is None:
        rest = integers(b, "sub", start, stop)
        size = known(-step.constant)
        more = integers(b, "add", rest, known(-step.constant - 1))
        return integers(b, "floordiv", more, size)
    rest = integers(b, "sub", start, stop)
    return integers(b, "sub", known(0), integers(b, "floordiv", rest, step))


def repeat(s: Statements, node: ast.While) -> None:
    """``scf.while``."""
    c = s.c

    def body(own: Sequence[Carried]) -> _Body:
        asked = [Value(ty, n.name, c.b.location) for n in own for ty in n.types]
        saved = dict(c.variables)
        with c.block("other") as test:
            _received(s, own, asked)
            holds = condition(c, node.test).ssa(test)
        c.variables = saved
        inside = [v.renewed() for v in asked]
        with c.block("other") as inner:
            _received(s, own, inside)
            s.block(node.body)
            c.variables[ran] = known(True)
            return _Body((test, inner), inside, c.variables, (holds, *asked))

    ran = f"ran.{node.lineno}.{node.col_offset}"
    fresh = _initialize_fresh(s, node, body)
    carried = _carried(s, node)
    if fresh and not _always_runs(node):
        c.variables[ran] = known(False)
        carried.append(Carried(ran, [NumberJoin(known(False))], known(False)))
    own, made, buffers = _translated(s, node, carried, body)
    test, inner = made.blocks
    c.at(node)
    test.add("scf.condition", made.more)
    inner.add(
        "scf.yield", [v for n in own for v in n.passed(inner, made.after[n.name])]
    )
    first = [v for n in own for v in n.passed(c.b, c.variables[n.name])]
    regions = [
        single_block(test.operations, made.more[1:]),
        single_block(inner.operations, made.inside),
    ]
    results = c.b.add("scf.while", first, [v.type for v in made.inside], {}, regions)
    _left(s, node, own, results, buffers)
    if ran in c.variables:
        message = {"msg": StringAttr(_NO_ITERATION)}
        c.b.add("cf.assert", (c.variables.pop(ran).ssa(c.b),), (), message)


_NO_ITERATION = "a loop without iterations, whose variables are read behind it"


def _always_runs(node: ast.While) -> bool:
    """Whether a loop certainly has a first iteration: ``while True`` with jumps."""
    tests = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    flag, *others = tests
    is_flag = isinstance(flag, ast.Name) and flag.id.startswith(RUNS)
    return all(
        isinstance(test, ast.Constant) and bool(test.value)
        for test in (others if is_flag else tests)
    )


def _is_read_after(s: Statements, node: ast.For, target: str) -> bool:
    """Whether the last value of the loop's variable is read after the loop."""
    return target in s.live.after[node] and target not in assigned(node.body)


def _initialize_fresh(
    s: Statements, node: ast.For | ast.While, translate: Translate, skip: str = ""
) -> bool:
    """Give values to variables that only the loop assigns and that are read after it.

    Each path through the body assigns them before it reads them, so the values are
    never read if the loop has an iteration. Arrays get memory of the shape that the
    body gives them, if that is known before the loop. False if there are none.
    """
    c = s.c
    body = node.body
    read = Liveness(s.live.always).before(body, frozenset())
    if isinstance(node, ast.While):
        read |= names(node.test, ast.Load)
    wanted = always_assigned(body) & s.live.after[node]
    wanted -= read | c.variables.keys() | {skip}
    if not wanted:
        return False
    saved = dict(c.variables), dict(c.private), dict(c.buffers.expected)
    with c.block("other"):
        _, made = _fixpoint(s, node, _carried(s, node, skip), translate)
    c.variables, c.private, c.buffers.expected = saved
    inner = made.blocks[-1]
    for name in sorted(wanted):
        value = made.after.get(name)
        if isinstance(value, Scalar):
            c.variables[name] = convert(c.b, known(0), value.kind)
        elif isinstance(value, View | Lazy):
            ends = [e.value for e in value.extents if e.value is not None]
            if any(map(inner.defines, ends)):
                c.variables[name] = UNSET
                continue
            view = allocated(c.b, value.dtype, value.extents)
            fill(c.b, view, known(0))
            c.variables[name] = view
    return any(name in c.variables for name in wanted)


ROUNDS = 100
"""Limit of fixpoint iterations over one loop body."""


def rounds(c: Context, node: ast.AST) -> Iterator[int]:
    """Iterations of the fixpoint over a loop body's translation.

    `_widened` only ever makes a type wider, a set of roots larger or ``agree`` false,
    and the roots come from a finite set, so the fixpoint is reached in few rounds.
    Raises UnsupportedPython should it not be.
    """
    yield from range(ROUNDS)
    hint = "Give each variable the type of its last value before the loop"
    raise c.refuse(node, "a loop whose variables change in each iteration", hint)


def _carried(s: Statements, node: ast.For | ast.While, skip: str = "") -> list[Carried]:
    """Variables that an iteration passes to the next."""
    c = s.c
    needed = s.live.inside[node]
    bound = _bound(c, node.body)
    names = [n for n in bound if n in c.variables and n in needed and n != skip]
    return [
        Carried(n, join(s.c, node, n, [c.variables[n]] * 2), c.variables[n])
        for n in names
    ]


def _bound(c: Context, nodes: Sequence[ast.stmt]) -> list[str]:
    """Names that statements bind; ``a += 1`` binds no array, but changes it."""
    updated = Counter(
        inner.target.id
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name)
    )
    stored = Counter(
        inner.id
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    )
    return [
        name
        for name in assigned(nodes)
        if stored[name] > updated[name]
        or not isinstance(c.variables.get(name), View | Lazy)
    ]


def _widened(
    s: Statements,
    node: ast.AST,
    own: Sequence[Carried],
    after: Variables,
    inside: Sequence[Value],
) -> list[Carried]:
    """Types that hold the variables' values before and after an iteration.

    Arrays that are only swapped stay distinct.
    """
    outside = frozenset[object]().union(
        *(view.roots for view in _views(s.c.variables.values()))
    )
    made: list[Carried] = []
    for n in own:
        if after[n.name] is None:
            raise s.c.located(errors.UndefinedName, node, name=n.name)
        if isinstance(n.joins[0] if n.joins else None, PrefixJoin):
            made.append(n)
            continue
        first = rebuilt(n.shape, iter([j.leaf for j in n.joins]))
        handed_on = _of_earlier_iterations(after[n.name], node, outside)
        joins = join(s.c, node, n.name, [first, handed_on])
        made.append(replace(n, joins=[*map(narrowed, joins, n.joins)]))
    whole = [n for n in own if not any(isinstance(j, PrefixJoin) for j in n.joins)]
    before = _views([n.shape for n in whole])
    views = _views([after[n.name] for n in whole])
    arrays = {v for v in inside if isinstance(v.type, MemRefType)}
    swapped = {v.memory for v in views} == arrays and not any(
        may_share(x, y) for x, y in combinations(before, 2)
    )
    if not swapped:
        return made
    numbers = count()
    return [n.apart(node, numbers) for n in made]


def _views(values: Iterable[Bound]) -> list[View]:
    """The arrays among values and nested tuples."""
    return [v for value in values for v in leaves(value) if isinstance(v, View)]


def _of_earlier_iterations(
    value: Bound, node: ast.AST, outside: frozenset[object]
) -> Bound:
    """A value at the end of an iteration as the next one receives it.

    All buffers that one allocation site makes in earlier iterations are one root: an
    array of an earlier iteration differs from this iteration's, and the set of roots
    stays finite.
    """

    def renamed(leaf: Bound) -> Bound:
        if not isinstance(leaf, View):
            return leaf
        roots = frozenset(
            (node, root.location)
            if isinstance(root, Value) and root not in outside
            else root
            for root in leaf.roots
        )
        return replace(leaf, roots=roots)

    return rebuilt(value, map(renamed, leaves(value)))


def _received(s: Statements, own: Sequence[Carried], values: Sequence[Value]) -> None:
    """The variables inside an iteration."""
    given = iter(values)
    for n in own:
        made = iter([join.restored(s.c, given) for join in n.joins])
        s.c.variables[n.name] = rebuilt(n.shape, made)


def _left(
    s: Statements,
    node: ast.For | ast.While,
    own: Sequence[Carried],
    values: Sequence[Value],
    buffers: Variables,
) -> None:
    """The variables after a loop; others that its body assigned are undefined."""
    for name in _bound(s.c, [node]):
        s.c.variables.pop(name, None)
    _received(s, own, values)
    s.c.variables |= buffers
