"""Verifies the operands of affine operations as dimensions and symbols.

A symbol has one value for the whole execution of the enclosing affine scope (a
function): its arguments, values defined at its top level, constants, sizes that are
symbols, and pure functions of symbols. A dimension is a symbol, an affine loop
variable, a size of a memref defined at the top level, or an affine function of
dimensions. ``affine.apply``, ``min`` and ``max`` take any index, but no dimension as a
symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework import registry
from gpucodegen.dialects.framework.constraints import defined_here, name_of
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.ir.attributes import AffineMapAttr, IntegerAttr, IntegerSetAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX, DialectType, MemRefType

Group = tuple[int, Sequence[Value]]
"""A map's number of dimensions, and its operands."""

_FUNCTIONS = ("affine.apply", "affine.delinearize_index", "affine.linearize_index")
_DIMS = ("memref.dim", "tensor.dim")
_SIZES = {
    "memref.alloc": "dynamicSizes",
    "memref.alloca": "dynamicSizes",
    "memref.subview": "sizes",
    "memref.view": "sizes",
}
"""Operations with dynamic result sizes, and the operand slot that holds them."""


def check_affine_values(root: Operation) -> None:
    """Check every operand of every affine operation."""
    if not any(op.dialect == "affine" for op in root.walk()):
        return
    checker = AffineValues(root)
    for op in root.walk():
        for num_dims, operands in _GROUPS.get(op.name, _no_groups)(op):
            checker.check(op, num_dims, operands)
        if op.name == "affine.apply":
            checker.check_apply(op)


def variable_symbols(root: Operation) -> Iterator[Value]:
    """Values that are used as symbols although they may only be dimensions."""
    checker = AffineValues(root)
    for op in root.walk():
        for num_dims, operands in _GROUPS.get(op.name, _of_function)(op):
            scope = checker.scope(op)
            for value in operands[num_dims:]:
                is_symbol = checker.is_symbol(value, scope)
                if not is_symbol and checker.is_dimension(value, scope):
                    yield value


# -- operands of each operation --------------------------------------------------------


def _inputs(op: Operation, name: str) -> tuple[int, int]:
    """Dimensions and all operands of a map or set."""
    attribute = op.attributes.get(name)
    if isinstance(attribute, AffineMapAttr):
        return attribute.map.num_dims, attribute.map.num_inputs
    if isinstance(attribute, IntegerSetAttr):
        return attribute.set.num_dims, attribute.set.num_inputs
    return 0, 0


def _maps(
    *names: str, skip: int = 0, memrefs: bool = False
) -> Callable[[Operation], Iterator[Group]]:
    """Operands of the named maps, in order, after ``skip`` other values."""

    def groups(op: Operation) -> Iterator[Group]:
        start = skip
        for name in names:
            dims, count = _inputs(op, name)
            start += memrefs
            yield dims, op.operands[start : start + count]
            start += count

    return groups


def _no_groups(_: Operation) -> Iterator[Group]:
    yield from ()


def _of_function(op: Operation) -> Iterator[Group]:
    """Operands of ``affine.apply``, ``min`` and ``max``."""
    if op.dialect == "affine":
        yield from _maps("map")(op)


_GROUPS: dict[str, Callable[[Operation], Iterator[Group]]] = {
    "affine.for": _maps("lowerBoundMap", "upperBoundMap"),
    "affine.parallel": _maps("lowerBoundsMap", "upperBoundsMap"),
    "affine.if": _maps("condition"),
    "affine.load": _maps("map", skip=1),
    "affine.vector_load": _maps("map", skip=1),
    "affine.prefetch": _maps("map", skip=1),
    "affine.store": _maps("map", skip=2),
    "affine.vector_store": _maps("map", skip=2),
    "affine.dma_start": _maps("src_map", "dst_map", "tag_map", memrefs=True),
    "affine.dma_wait": _maps("tag_map", memrefs=True),
}


# -- the rule --------------------------------------------------------------------------


class AffineValues:
    """Definitions of all values, to classify them as dimensions and symbols."""

    def __init__(self, root: Operation) -> None:
        self.parent: dict[Operation, Operation] = {}
        self.holder: dict[Value, Operation] = {}
        self.definition: dict[Value, Operation] = {}
        for op in root.walk():
            self._note(op)

    def _note(self, op: Operation) -> None:
        for block in op.blocks:
            self.holder.update(dict.fromkeys(block.arguments, op))
            for nested in block.operations:
                self.parent[nested] = op
                for value in nested.results:
                    self.holder[value] = op
                    self.definition[value] = nested

    def check(self, op: Operation, num_dims: int, operands: Sequence[Value]) -> None:
        """The first ``num_dims`` operands are dimensions, the others symbols."""
        scope = self.scope(op)
        for value in operands[:num_dims]:
            if not self.is_dimension(value, scope):
                raise _not_usable(op, value, "dimension")
        for value in operands[num_dims:]:
            if not self.is_symbol(value, scope):
                raise _not_usable(op, value, "symbol")

    def check_apply(self, op: Operation) -> None:
        """No dimension is used as a symbol; any other index is accepted."""
        scope = self.scope(op)
        for value in op.operands[_inputs(op, "map")[0] :]:
            is_symbol = self.is_symbol(value, scope)
            if not is_symbol and self.is_dimension(value, scope):
                raise _not_usable(op, value, "symbol")

    def scope(self, op: Operation) -> Operation | None:
        """The nearest surrounding operation that is an affine scope."""
        outer = self.parent.get(op)
        while outer is not None and not _is_scope(outer):
            outer = self.parent.get(outer)
        return outer

    def is_symbol(self, value: Value, scope: Operation | None) -> bool:
        """Whether the value is constant throughout the scope."""
        if not _is_index(value):
            return False
        if scope is None or self.holder.get(value) is scope:
            return True
        op = self.definition.get(value)
        if op is None:
            return self._is_outside(self.holder.get(value), scope)
        definition = registry.lookup(op.name)
        is_pure = definition is not None and definition.has(Trait.PURE)
        if is_pure and all(self.is_symbol(v, scope) for v in op.operands):
            return True
        if op.name in _DIMS:
            return self._is_dim_symbol(op, scope)
        return self._is_outside(self.parent.get(op), scope)

    def _is_outside(self, holder: Operation | None, scope: Operation) -> bool:
        """Whether a place is outside the scope, so that its values are constant."""
        while holder is not None:
            if holder is scope:
                return False
            holder = self.parent.get(holder)
        return True

    def _is_dim_symbol(self, op: Operation, scope: Operation) -> bool:
        """Whether a size is of a top-level memref or a symbol itself."""
        source = op.operands[0]
        if self._is_top_level(source):
            return True
        made = self.definition.get(source)
        while made is not None and made.name == "memref.cast":
            made = self.definition.get(made.operands[0])
        if made is None or made.name not in _SIZES:
            return False
        return self._is_size_symbol(made, op.operands[1], scope)

    def _is_top_level(self, value: Value) -> bool:
        holder = self.holder.get(value)
        return holder is not None and _is_scope(holder)

    def _is_size_symbol(self, made: Operation, index: Value, scope: Operation) -> bool:
        """Whether the size of a result along a constant dimension is a symbol."""
        constant = self.definition.get(index)
        number = constant.attributes.get("value") if constant else None
        known = isinstance(number, IntegerAttr)
        return known and self._is_symbolic_size(made, number.value, scope)

    def _is_symbolic_size(self, made: Operation, number: int, scope: Operation) -> bool:
        definition, ty = registry.lookup(made.name), made.result.type
        if not isinstance(ty, MemRefType):
            return False
        if definition is None or not 0 <= number < ty.rank:
            return False
        if ty.shape[number] is not None:
            return True
        sizes = definition.operand_groups(made)[_SIZES[made.name]]
        position = ty.shape[:number].count(None)
        return position < len(sizes) and self.is_symbol(sizes[position], scope)

    def is_extent(self, op: Operation, memref: Value, dimension: int) -> bool:
        """Whether an extent may bound an affine loop without being an operation."""
        if self._is_top_level(memref):
            return True
        scope, made = self.scope(op), self.definition.get(memref)
        if scope is None or made is None or made.name not in _SIZES:
            return scope is None
        return self._is_symbolic_size(made, dimension, scope)

    def is_dimension(self, value: Value, scope: Operation | None) -> bool:
        """Whether the value is a symbol or an affine function of loop variables."""
        if self.is_symbol(value, scope):
            return True
        op = self.definition.get(value)
        if op is not None and op.name in _DIMS:
            return self._is_top_level(op.operands[0])
        if op is not None:
            is_function = op.name in _FUNCTIONS
            return is_function and all(self.is_dimension(v, scope) for v in op.operands)
        holder = self.holder.get(value)
        return _is_index(value) and holder is not None and _is_variable(value, holder)


def _not_usable(op: Operation, value: Value, role: str) -> errors.VerifyError:
    return errors.NotADimension(
        op.location, value=name_of(value), role=role, notes=defined_here(value)
    )


def _is_scope(op: Operation) -> bool:
    """Whether the operation is an affine scope, if it is registered."""
    definition = registry.lookup(op.name)
    return definition is None or definition.has(Trait.AFFINE_SCOPE)


def _is_index(value: Value) -> bool:
    return value.type == INDEX or isinstance(value.type, DialectType)


def _is_variable(value: Value, holder: Operation) -> bool:
    if holder.name == "affine.for":
        return value is holder.body.arguments[0]
    return holder.name == "affine.parallel"
