"""Contractions of whole vectors become ``linalg.generic`` on buffers.

Comes in: ``d = contract a, b, c``. Goes out: a, b and c in buffers A, B and C, the
operation ``C[i, j] op= A[i, k] * B[k, j]``, and d loaded from C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects import linalg, vector
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.combiners import kind_word, of_kind
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import FloatType, MemRefType, Type, VectorType, element_type
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder


@dataclass(frozen=True, slots=True)
class VectorContract(ModulePass):
    """Every ``vector.contract`` without a mask becomes a structured operation.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... #row = affine_map<(i, k) -> (k)>
    ... #one = affine_map<(i, k) -> (i)>
    ... func.func @f(%a: vector<8xf32>, %b: vector<4x8xf32>, %c: vector<4xf32>)
    ...     -> vector<4xf32> {
    ...   %0 = vector.contract {indexing_maps = [#row, affine_map<(i, k) -> (i, k)>,
    ...     #one], iterator_types = ["parallel", "reduction"]} %a, %b, %c
    ...     : vector<8xf32>, vector<4x8xf32> into vector<4xf32>
    ...   return %0 : vector<4xf32>
    ... }''')
    >>> made = VectorContract().apply(module).functions["f"].body.operations
    >>> [op.name for op in made if op.dialect != "arith"][-4:]
    ['vector.store', 'linalg.generic', 'vector.load', 'func.return']
    """

    name: ClassVar[str] = "vector-contract"

    def apply(self, module: Module) -> Module:
        """Rewrite all that no mask holds."""
        walked = list(module.walk())
        if not any(op.name == "vector.contract" for op in walked):
            return module
        masks = (op for op in walked if op.name == "vector.mask")
        masked = {v for mask in masks for op in mask.walk() for v in op.results}

        def structured(op: Operation) -> Sequence[Operation] | None:
            is_plain = op.name == "vector.contract" and len(op.operands) == 3
            return _structured(op) if is_plain and op.result not in masked else None

        (root,) = rewrite_bottom_up(module.operation, structured)
        return Module(root)


def _structured(op: Operation) -> Sequence[Operation]:
    b = Builder(op.location)
    *factors, total = (_stored(b, value) for value in op.operands)
    arguments = [Value(element_type(v.type), "e", op.location) for v in op.operands]
    b.operations.append(
        linalg.generic(
            factors,
            [total],
            vector.contraction_maps(op),
            vector.contraction_iterators(op),
            arguments,
            _term(op, arguments),
            location=op.location,
        )
    )
    ty = op.result.type
    if isinstance(ty, VectorType):
        b.vector_load(total, [0] * len(ty.shape), ty)
    else:
        b.load(total, [])
    *others, load = b.operations
    return [*others, load.with_(results=op.results)]


def _stored(b: Builder, value: Value) -> Value:
    """A buffer that holds a vector or a number."""
    ty = value.type
    shape = ty.shape if isinstance(ty, VectorType) else ()
    memory = MemRefType(shape, element_type(ty))
    buffer = b.allocate("memref.alloca", memory, value.name)
    if isinstance(ty, VectorType):
        b.vector_store(value, buffer, [0] * len(shape))
    else:
        b.store(value, buffer, [])
    return buffer


def _term(op: Operation, arguments: Sequence[Value]) -> list[Operation]:
    """``total op= a * b``, factors in the type of the total."""
    *factors, total = arguments
    b = Builder(op.location)
    times = of_kind("mul", total.type)
    combine = of_kind(kind_word(op.attributes.get("kind")), total.type)
    assert times is not None
    assert combine is not None
    a, c = (_extended(b, factor, total.type) for factor in factors)
    (product,) = b.add(times.name, (a, c), [total.type])
    (result,) = b.add(combine.name, (total, product), [total.type])
    return [*b.operations, linalg.yield_([result], location=op.location)]


def _extended(b: Builder, value: Value, ty: Type) -> Value:
    """A number in a type that is as wide or wider."""
    if value.type == ty:
        return value
    name = "arith.extf" if isinstance(ty, FloatType) else "arith.extsi"
    return b.add(name, (value,), [ty])[0]
