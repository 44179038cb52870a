"""Loop generation: schedules to loops by isl's AST generator.

`generate` takes a `UnitNest` and a `Schedule` and returns the nodes of `schedule_ast`
that run every instance once, in the order of the schedule; None where isl reaches its
limits or the AST is not affine.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

import islpy

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import Set
from gpucodegen.tiling.model.relations import header
from gpucodegen.tiling.schedule.schedule import Schedule, UnitNest
from gpucodegen.tiling.schedule.schedule_ast import (
    Expression,
    Guard,
    Inequality,
    LoopNode,
    Name,
    Node,
    Number,
    StatementNode,
    Term,
    substitute,
)

PATIENCE = 40
"""How much more than a query the loops of a nest may cost: about a second."""

Known = Mapping[str, Expression]


def generate(nest: UnitNest, schedule: Schedule) -> tuple[Node, ...] | None:
    """The loops of a schedule.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.schedule.schedule import Unit
    >>> from gpucodegen.tiling.model.scop import Loop, Scop, Statement, nest
    >>> chain = [Loop("i", "0", "N"), Loop("j", "0", "N")]
    >>> built = model(Scop(("N",), (), (), nest(chain, (Statement("S", ()),))))
    >>> square = UnitNest(built, (), (Unit(("S",)),))
    >>> (outer,) = generate(square, Schedule({"S": ("i + j", "i")}, ("w", "x")))
    >>> (inner,) = outer.body
    >>> print(outer.name, *outer.lowers, *outer.uppers)
    w 0 ((2 * N) - 1)
    >>> print(*inner.body[0].values)
    x (w - x)
    """
    solver = nest.model.solver
    with solver.more(PATIENCE):
        tree = solver.ask(lambda: _tree(nest, schedule), None)
    if tree is None:
        return None
    dimensions = {name: at for at, name in enumerate(schedule.names)}
    units = {f"U{at}": unit.name for at, unit in enumerate(nest.units)}
    try:
        return _Reader(dimensions, units).nodes(tree, {})
    except _NotAffineError:
        return None


def _tree(nest: UnitNest, schedule: Schedule) -> islpy.AstNode:
    """The AST of { U[i] -> T(i) : U[i] in domain }."""
    solver = nest.model.solver
    context = solver.context
    scop = nest.model.scop
    order = islpy.UnionMap.read_from_str(context, f"{header(scop)} {{ }}")
    for at, unit in enumerate(nest.units):
        instances = nest.instances(unit)
        loops = ", ".join(loop.name for loop in instances.loops)
        times = ", ".join(schedule.times[unit.name])
        text = f"{header(scop)} {{ U{at}[{loops}] -> [{times}] }}"
        domain = instances.values.range().set_tuple_name(f"U{at}")
        order = order.union(solver.map(text).intersect_domain(domain))
    known = " and ".join(scop.context) or "1 = 1"
    given = solver.set(f"{header(scop)} {{ : {known} }}")
    iterators = islpy.IdList.alloc(context, len(schedule.names))
    for name in schedule.names:
        iterators = iterators.add(islpy.Id.read_from_str(context, name))
    build = islpy.AstBuild.from_context(given).set_iterators(iterators)
    with _ast_options(context):
        return build.node_from_schedule_map(order)


@contextmanager
def _ast_options(context: islpy.Context) -> Generator[None, None, None]:
    """No disjunctions, one bound of each loop; other queries have isl's defaults."""
    before = context.get_ast_build_allow_or(), context.get_ast_build_detect_min_max()
    atomic = context.get_ast_build_atomic_upper_bound()
    context.set_ast_build_allow_or(0)
    context.set_ast_build_atomic_upper_bound(1)
    context.set_ast_build_detect_min_max(1)
    try:
        yield
    finally:
        context.set_ast_build_allow_or(before[0])
        context.set_ast_build_detect_min_max(before[1])
        context.set_ast_build_atomic_upper_bound(atomic)


def conjunctions(bad: Set, known: Set) -> tuple[tuple[Inequality, ...], ...] | None:
    """A set of parameters as pieces, each a conjunction of constraints.

    ``known`` holds anyway.  None where a piece has no such form.

    >>> from gpucodegen.tiling.model.isl import Solver
    >>> read = Solver().set
    >>> (piece,) = conjunctions(read("[n] -> { : n > 4 }"), read("[n] -> { : n >= 0 }"))
    >>> print(*(constraint.expression for constraint in piece))
    (n - 5)
    """
    build = islpy.AstBuild.from_context(known)
    try:
        return tuple(_piece(build, piece) for piece in bad.get_basic_sets())
    except _NotAffineError:
        return None


def _piece(build: islpy.AstBuild, piece: islpy.BasicSet) -> tuple[Inequality, ...]:
    if piece.is_universe():
        return ()
    return _constraints(build.expr_from_set(islpy.Set.from_basic_set(piece)), {})


class _NotAffineError(Exception):
    """A construct that affine loops cannot express."""


_BINARY = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "floordiv",
    "fdiv_q": "floordiv",
    "pdiv_q": "floordiv",
    "pdiv_r": "mod",
    "zdiv_r": "mod",
}
"""``pdiv_q`` has a dividend >= 0 and ``div`` no remainder, so both round down too."""

_COMPARISONS = {"ge": (0, 1, 0), "le": (1, 0, 0), "gt": (0, 1, 1), "lt": (1, 0, 1)}
"""Greater side, smaller side, how much greater at least."""

_LAST = {"le": 1, "lt": 0}
"""What to add to the bound of a loop's condition to exclude it."""


@dataclass(frozen=True, slots=True)
class _Reader:
    """Converts isl's AST to `schedule_ast`; loops of one iteration are substituted."""

    dimensions: Mapping[str, int]
    units: Mapping[str, str]

    def nodes(self, node: islpy.AstNode, known: Known) -> tuple[Node, ...]:
        match str(islpy.ast_node_type(node.get_type()).name):
            case "for_":
                return self._for(node, known)
            case "if_":
                return (self._if(node, known),)
            case "block":
                children = node.block_get_children()
                inner = [children.get_at(i) for i in range(children.n_ast_node())]
                return tuple(n for child in inner for n in self.nodes(child, known))
            case _:
                return (self._run(node, known),)

    def _for(self, node: islpy.AstNode, known: Known) -> tuple[Node, ...]:
        name = node.for_get_iterator().get_id().get_name()
        start = node.for_get_init()
        if node.for_is_degenerate():
            value = _expression(start, known)
            return self.nodes(node.for_get_body(), {**known, name: value})
        end = node.for_get_cond()
        step = _expression(node.for_get_inc(), known)
        if _operator(end) not in _LAST or not isinstance(step, Number):
            raise _NotAffineError
        more = _LAST[_operator(end)]
        uppers = [_expression(e, known) for e in _flat(end.get_op_arg(1), "min")]
        loop = LoopNode(
            name,
            tuple(_expression(e, known) for e in _flat(start, "max")),
            tuple(_plus(upper, more) for upper in uppers),
            step.value,
            self.nodes(node.for_get_body(), known),
            self.dimensions[name],
        )
        return (loop,)

    def _if(self, node: islpy.AstNode, known: Known) -> Guard:
        constraints = _constraints(node.if_get_cond(), known)
        body = self.nodes(node.if_get_then_node(), known)
        other = node.if_has_else_node()
        orelse = self.nodes(node.if_get_else_node(), known) if other else ()
        return Guard(constraints, body, orelse)

    def _run(self, node: islpy.AstNode, known: Known) -> StatementNode:
        name, *values = _operands(node.user_get_expr())
        unit = self.units[name.get_id().get_name()]
        return StatementNode(unit, tuple(_expression(value, known) for value in values))


def _operator(expression: islpy.AstExpr) -> str:
    """The name of the operator; an empty text for numbers and names."""
    if expression.get_type() != islpy.ast_expr_type.op:
        return ""
    return islpy.ast_expr_op_type(expression.get_op_type()).name


def _operands(expression: islpy.AstExpr) -> list[islpy.AstExpr]:
    return [expression.get_op_arg(i) for i in range(expression.get_op_n_arg())]


def _constraints(condition: islpy.AstExpr, known: Known) -> tuple[Inequality, ...]:
    """A conjunction, one comparison each."""
    operator = _operator(condition)
    if operator in {"and_", "and_then"}:
        return tuple(c for o in _operands(condition) for c in _constraints(o, known))
    if operator != "eq" and operator not in _COMPARISONS:
        raise _NotAffineError
    sides = [_expression(side, known) for side in _operands(condition)]
    if operator == "eq":
        return (Inequality(Term("-", sides[0], sides[1]), equality=True),)
    greater, smaller, least = _COMPARISONS[operator]
    return (Inequality(_plus(Term("-", sides[greater], sides[smaller]), -least)),)


def _flat(expression: islpy.AstExpr, operator: str) -> list[islpy.AstExpr]:
    """The operands of nested minima or maxima."""
    if _operator(expression) != operator:
        return [expression]
    return [flat for o in _operands(expression) for flat in _flat(o, operator)]


def _expression(expression: islpy.AstExpr, known: Known) -> Expression:
    match str(islpy.ast_expr_type(expression.get_type()).name):
        case "int":
            return Number(expression.get_val().to_python())
        case "id":
            return substitute(Name(expression.get_id().get_name()), known)
        case _:
            operator = _operator(expression)
    parts = [_expression(operand, known) for operand in _operands(expression)]
    if operator == "minus":
        return Term("*", parts[0], Number(-1))
    if operator not in _BINARY:
        raise _NotAffineError
    return Term(_BINARY[operator], parts[0], parts[1])


def _plus(expression: Expression, amount: int) -> Expression:
    return Term("+", expression, Number(amount)) if amount else expression
