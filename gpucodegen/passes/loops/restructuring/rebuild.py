"""From a schedule back to affine loops around copies of the operations.

Comes in: a `Movable` and the nodes of `gpucodegen.tiling.schedule.schedule_ast`.  Goes
out: ``affine.for``, ``affine.parallel`` and ``affine.if`` with the operations of each
unit, in which ``affine.apply`` gives the old loop variables from the new ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.ir.affine import Constraint, IntegerSet
from gpucodegen.ir.attributes import IntegerSetAttr, UnitAttr
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Region, Value, clone, single_block
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.cpu.parallel_loops import to_parallel
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, merge
from gpucodegen.passes.loops.restructuring.pieces import Movable
from gpucodegen.tiling.schedule import schedule_ast as ast
from gpucodegen.tiling.schedule.schedule import Schedule

Variables = Mapping[str, Index]


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
    for name in (used & lifted.extents.keys()) - known.keys():
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
    """Where the loops with these variables stand."""
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


def index_of(expression: ast.Expression, known: Variables) -> Index:
    """An expression over SSA values."""
    match expression:
        case ast.Name(text):
            return known[text]
        case ast.Number(value):
            return Index.of(value)
        case ast.Term(operator, left, right):
            return _OPERATORS[operator](index_of(left, known), index_of(right, known))


def _product(left: Index, right: Index) -> Index:
    if right.constant is not None:
        return left * right.constant
    assert left.constant is not None, "products of variables are not affine"
    return right * left.constant


def _divisor(index: Index) -> int:
    assert index.constant is not None, "divisors are numbers"
    return index.constant


def _quotient(left: Index, right: Index) -> Index:
    return left // _divisor(right)


def _remainder(left: Index, right: Index) -> Index:
    return left % _divisor(right)


_OPERATORS = {
    "+": Index.__add__,
    "-": Index.__sub__,
    "*": _product,
    "floordiv": _quotient,
    "mod": _remainder,
}
