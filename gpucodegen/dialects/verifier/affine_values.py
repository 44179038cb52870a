"""Which values affine operations may use as dimensions and symbols.

A symbol has one value for the whole execution of the enclosing affine scope (a
function): its arguments, values defined at its top level, constants, dims and affine
functions of symbols.  A dimension is a symbol, an affine loop variable, or an affine
function of dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpucodegen import errors
from gpucodegen.dialects import registry
from gpucodegen.dialects.definition import Trait
from gpucodegen.dialects.memref import Alloc
from gpucodegen.ir.attributes import AffineMapAttr, IntegerAttr, IntegerSetAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX, DialectType, MemRefType

Group = tuple[int, Sequence[Value]]
"""A map's number of dimensions, and its operands."""

_FUNCTIONS = (
    "affine.apply",
    "affine.min",
    "affine.max",
    "affine.delinearize_index",
    "affine.linearize_index",
)
_DIMS = ("memref.dim", "tensor.dim")


def check_affine_values(root: Operation) -> None:
    """Look at every operand of every affine operation."""
    if not any(op.dialect == "affine" for op in root.walk()):
        return
    checker = _Checker(root)
    for op in root.walk():
        groups = _GROUPS.get(op.name)
        if groups is None:
            continue
        for num_dims, operands in groups(op):
            checker.check(op, num_dims, operands)


# -- operands of each operation --------------------------------------------------------


def _inputs(op: Operation, name: str) -> tuple[int, int]:
    """Dimensions and all operands that a map or set takes."""
    attribute = op.attributes.get(name)
    if isinstance(attribute, AffineMapAttr):
        return attribute.map.num_dims, attribute.map.num_inputs
    if isinstance(attribute, IntegerSetAttr):
        return attribute.set.num_dims, attribute.set.num_inputs
    return 0, 0


def _maps(
    *names: str, skip: int = 0, memrefs: bool = False
) -> Callable[[Operation], Iterator[Group]]:
    """Operands of the named maps, in order, ``skip`` values before the first."""

    def groups(op: Operation) -> Iterator[Group]:
        start = skip
        for name in names:
            dims, count = _inputs(op, name)
            start += memrefs
            yield dims, op.operands[start : start + count]
            start += count

    return groups


_GROUPS: dict[str, Callable[[Operation], Iterator[Group]]] = {
    "affine.for": _maps("lowerBoundMap", "upperBoundMap"),
    "affine.parallel": _maps("lowerBoundsMap", "upperBoundsMap"),
    "affine.if": _maps("condition"),
    "affine.load": _maps("map", skip=1),
    "affine.vector_load": _maps("map", skip=1),
    "affine.prefetch": _maps("map", skip=1),
    "affine.store": _maps("map", skip=2),
    "affine.vector_store": _maps("map", skip=2),
    "affine.apply": _maps("map"),
    "affine.min": _maps("map"),
    "affine.max": _maps("map"),
    "affine.dma_start": _maps("src_map", "dst_map", "tag_map", memrefs=True),
    "affine.dma_wait": _maps("tag_map", memrefs=True),
}


# -- the rule --------------------------------------------------------------------------


class _Checker:
    """Where every value is defined."""

    def __init__(self, root: Operation) -> None:
        self.parent: dict[Operation, Operation] = {}
        self.holder: dict[Value, Operation] = {}
        self.definition: dict[Value, Operation] = {}
        for op in root.walk():
            self._note(op)

    def _note(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                self.holder.update(dict.fromkeys(block.arguments, op))
                for nested in block.operations:
                    self.parent[nested] = op
                    for value in nested.results:
                        self.holder[value] = op
                        self.definition[value] = nested

    def check(self, op: Operation, num_dims: int, operands: Sequence[Value]) -> None:
        """The first ``num_dims`` operands are dimensions, the others symbols."""
        scope = self.scope(op)
        for position, value in enumerate(operands):
            is_dim = position < num_dims
            if (
                self.is_dimension(value, scope)
                if is_dim
                else self.is_symbol(value, scope)
            ):
                continue
            raise errors.NotADimension(
                op.location,
                value=f"'%{value.name}'" if value.name else "this value",
                role="dimension" if is_dim else "symbol",
                notes=[(value.location, "defined here")],
            )

    def scope(self, op: Operation) -> Operation | None:
        """The nearest surrounding operation that is an affine scope."""
        outer = self.parent.get(op)
        while outer is not None:
            definition = registry.lookup(outer.name)
            if definition is None or definition.has(Trait.AFFINE_SCOPE):
                return outer
            outer = self.parent.get(outer)
        return None

    def is_symbol(self, value: Value, scope: Operation | None) -> bool:
        """Whether the value is constant throughout the scope."""
        if not _is_index(value):
            return False
        if scope is None or self.holder.get(value) is scope:
            return True
        op = self.definition.get(value)
        if op is None:
            return self._is_outside(self.holder.get(value), scope)
        if op.name in _FUNCTIONS:
            return all(self.is_symbol(v, scope) for v in op.operands)
        if op.name in _DIMS:
            return self._is_dim_symbol(op, scope)
        definition = registry.lookup(op.name)
        if definition is not None and definition.has(Trait.PURE) and not op.operands:
            return True
        return self._is_outside(self.parent.get(op), scope)

    def _is_outside(self, holder: Operation | None, scope: Operation) -> bool:
        """Whether a place lies outside the scope, where everything is constant."""
        while holder is not None:
            if holder is scope:
                return False
            holder = self.parent.get(holder)
        return True

    def _is_dim_symbol(self, op: Operation, scope: Operation) -> bool:
        source = op.operands[0]
        if self.holder.get(source) is scope:
            return True
        alloc = self.definition.get(source)
        if alloc is None or alloc.name not in ("memref.alloc", "memref.alloca"):
            return True
        return self._is_size_symbol(alloc, op.operands[1], scope)

    def _is_size_symbol(self, alloc: Operation, index: Value, scope: Operation) -> bool:
        """Whether the size of an allocation along a constant dimension is a symbol."""
        constant = self.definition.get(index)
        number = constant.attributes.get("value") if constant else None
        ty = alloc.result.type
        if not isinstance(number, IntegerAttr) or not isinstance(ty, MemRefType):
            return False
        if not 0 <= number.value < ty.rank or ty.shape[number.value] is not None:
            return True
        position = ty.shape[: number.value].count(None)
        return self.is_symbol(Alloc(alloc).dynamic_sizes[position], scope)

    def is_dimension(self, value: Value, scope: Operation | None) -> bool:
        """Whether the value is a symbol or an affine function of loop variables."""
        if self.is_symbol(value, scope):
            return True
        op = self.definition.get(value)
        if op is not None:
            is_function = op.name in _FUNCTIONS
            return is_function and all(self.is_dimension(v, scope) for v in op.operands)
        holder = self.holder.get(value)
        return _is_index(value) and holder is not None and _is_variable(value, holder)


def _is_index(value: Value) -> bool:
    return value.type == INDEX or isinstance(value.type, DialectType)


def _is_variable(value: Value, holder: Operation) -> bool:
    if holder.name == "affine.for":
        return value is holder.body.arguments[0]
    return holder.name == "affine.parallel"
