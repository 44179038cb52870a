"""Vectors to memory: functions whose vectors registers cannot hold use buffers.

Kernels hold vectors of one or two dimensions while they run, and support some
operations on them.  A function is rewritten if it has other vectors or operations, if
it takes or returns vectors, or if a vector lives across host operations; no vector is
left in it.
"""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen.dialects import vector
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.framework.registry import operations
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.shared.combiners import kind_word, of_kind
from gpucodegen.errors import UnsupportedType
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.number_formats import NARROW
from gpucodegen.ir.operation import Block, Operation, Value, operand_segments
from gpucodegen.ir.types import ComplexType, VectorType, element_type
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.outlining.cpu_outliner import needs_host
from gpucodegen.passes.outlining.kernel_operations import is_repeatable
from gpucodegen.passes.prepare.flatten_elements import FlattenElements
from gpucodegen.passes.prepare.vectors import bit_casts, boxes, movement, products
from gpucodegen.passes.prepare.vectors.boxes import Boxes, Handler, is_vector, shape_of
from gpucodegen.records import dataclass


def needs_buffers(function: Operation) -> bool:
    """Whether vectors of a function have to be buffers."""
    operations = [op for op in function.walk() if op is not function]
    if not any(map(_has_vectors, operations)):
        return False
    return not all(map(_fits_kernels, operations)) or _crosses(function)


def refuse_scalable(function: Operation) -> None:
    """Raise UnsupportedType for a scalable vector."""
    for op in function.walk():
        for value in _values(op):
            ty = value.type
            if isinstance(ty, VectorType) and any(ty.scalable):
                raise UnsupportedType(op.location, type=ty, target="buffers")


def _has_vectors(op: Operation) -> bool:
    return op.dialect == "vector" or any(map(is_vector, _values(op)))


def _values(op: Operation) -> tuple[Value, ...]:
    return (*op.used, *op.results)


# -- shapes and operations -------------------------------------------------------------


def _fits_kernels(op: Operation) -> bool:
    """Whether a kernel supports the operation's vectors."""
    values = [value for value in _values(op) if is_vector(value)]
    if not all(_is_register(value) for value in values):
        return False
    if op.dialect != "vector":
        handed_over = op.name in {"func.call", "func.return"} or op.successors
        return not (values and handed_over)
    fits = _KNOWN.get(op.name)
    return fits is not None and fits(op)


def _is_register(value: Value) -> bool:
    ty = value.type
    assert isinstance(ty, VectorType)
    is_complex = isinstance(ty.element, ComplexType)
    return len(ty.shape) in {1, 2} and not is_complex and not any(ty.scalable)


def _always(_: Operation) -> bool:
    return True


def _position(op: Operation) -> bool:
    return all(n >= 0 for n in vector.position(op))


def _transfer(op: Operation) -> bool:
    """Whether a transfer has no mask and the last one or two dimensions."""
    stated = op.attributes.get("permutation_map")
    parts = operand_segments(op, 4)
    if parts[3] or not isinstance(stated, AffineMapAttr):
        return False
    return all(isinstance(result, Dim) for result in stated.map.results)


def _row(op: Operation) -> bool:
    """Whether a mask has one dimension."""
    values = [v for v in (*op.results, *op.operands) if is_vector(v)]
    return all(len(shape_of(value)) == 1 for value in values)


def _broadcast(op: Operation) -> bool:
    source, target = shape_of(op.operands[0]), shape_of(op.result)
    return source in {(), target, target[1:], (target[0], 1)}


def _turned(op: Operation) -> bool:
    return op.numbers("permutation") == (1, 0)


def _added(op: Operation) -> bool:
    return kind_word(op.attributes.get("kind")) == "add" and not _is_narrow(op.result)


def _is_narrow(value: Value) -> bool:
    """Whether the lane width differs from the element width."""
    return str(element_type(value.type)) in {*NARROW, "i1"}


def _bits(op: Operation) -> bool:
    """Whether a vector has one dimension and lanes of the element width."""
    return _row(op) and not any(map(_is_narrow, (op.operands[0], op.result)))


def _combined(op: Operation) -> bool:
    source = op.operands[0]
    kind = kind_word(op.attributes.get("kind"))
    found = of_kind(kind, element_type(source.type))
    return found is not None and bool(found.atomic)


def _rows(op: Operation) -> bool:
    shape, dimensions = shape_of(op.operands[0]), op.numbers("reduction_dims")
    return len(shape) == 2 and dimensions == (1,) and _combined(op)


def _lanes(op: Operation) -> bool:
    return _row(op) and min(op.numbers("mask"), default=0) >= 0


_KNOWN: dict[str, Callable[[Operation], bool]] = {
    "vector.load": _always,
    "vector.store": _always,
    "vector.transfer_read": _transfer,
    "vector.transfer_write": _transfer,
    "vector.maskedload": _row,
    "vector.maskedstore": _row,
    "vector.create_mask": _row,
    "vector.step": _always,
    "vector.bitcast": _bits,
    "vector.broadcast": _broadcast,
    "vector.from_elements": _always,
    "vector.fma": _always,
    "vector.outerproduct": _added,
    "vector.extract": _position,
    "vector.insert": _position,
    "vector.multi_reduction": _rows,
    "vector.reduction": _combined,
    "vector.shape_cast": _always,
    "vector.shuffle": _lanes,
    "vector.transpose": _turned,
}
"""Conditions under which kernels support an operation on vectors."""

# -- lifetimes -------------------------------------------------------------------------


def _crosses(function: Operation) -> bool:
    """Whether a vector is used after a host operation."""
    if not any(map(needs_host, function.walk())):
        return False
    blocks = [block for op in function.walk() for block in op.blocks]
    if len(function.regions[0].blocks) > 1:
        return True
    return any(map(_crosses_in, blocks)) or any(map(_carries, function.walk()))


def _crosses_in(block: Block) -> bool:
    """Whether a vector defined in a block is used there after a host operation."""
    made: dict[Value, int] = {}
    part = 0
    for op in block.operations:
        stays = any(map(needs_host, op.walk()))
        part += stays
        used = (value for inner in op.walk() for value in inner.used)
        if any(value in made and made[value] < part for value in used):
            return True
        part += stays
        if not _is_anew(op):
            made.update((value, part) for value in op.results if is_vector(value))
    return False


def _is_anew(op: Operation) -> bool:
    """Whether every kernel recomputes it: it depends on no vector or number."""
    return is_repeatable(op) and not op.operands


def _carries(op: Operation) -> bool:
    """Whether a loop or branch around host operations carries vectors."""
    if not op.regions or not any(needs_host(inner) for inner in op.walk()):
        return False
    return any(map(is_vector, op.defined))


@dataclass(frozen=True, slots=True)
class VectorsToMemory(ModulePass, name="vectors-to-memory", looks_for="!vector vector"):
    """Lower vectors to buffers where that is needed.

    >>> import gpucodegen as gcg
    >>> text = '''func.func @f(%v: vector<4xf32>) -> vector<4xf32> {
    ...   return %v : vector<4xf32>
    ... }'''
    >>> made = VectorsToMemory().apply(gcg.parse(text)).functions["f"]
    >>> print(made.body.arguments[0].type)
    memref<4xf32>
    """

    def apply(self, module: Module) -> Module:
        functions = [op for op in module.operations if _is_defined(op)]
        if not any(map(needs_buffers, functions)) and not any(map(_hands, functions)):
            return module
        for function in functions:
            refuse_scalable(function)
        flat = FlattenElements().apply(module)
        return flat.with_operations(
            boxes.function(Boxes(handlers=HANDLERS), op)
            if _is_defined(op) and (needs_buffers(op) or _hands(op))
            else op
            for op in flat.operations
        )


def _is_defined(op: Operation) -> bool:
    is_function = op.name == "func.func" and "gcg.kernel" not in op.attributes
    return is_function and not Function(op).is_external


def _hands(op: Operation) -> bool:
    ty = Function(op).type
    return any(isinstance(t, VectorType) for t in (*ty.inputs, *ty.results))


def _arithmetic() -> dict[str, Handler]:
    names = (name for dialect in movement.ARITHMETIC for name in operations(dialect))
    return dict.fromkeys(names, movement.elementwise)


HANDLERS: dict[str, Handler] = (
    _arithmetic()
    | movement.MOVEMENT_HANDLERS
    | movement.ACCESS_HANDLERS
    | bit_casts.BIT_CAST_HANDLERS
    | products.PRODUCT_HANDLERS
    | boxes.CARRIER_HANDLERS
)
