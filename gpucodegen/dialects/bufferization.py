"""The bufferization dialect: conversions between tensors and memrefs.

The module holds the table of operations, the syntax that formats cannot express, and
the verifier rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.assembly_elements import (
    FormatElement,
    ParsedElements,
    Printed,
)
from gpucodegen.dialects.framework.constraints import (
    compatible_shapes,
    require,
    types_differ,
)
from gpucodegen.dialects.framework.declare import always, indices, like, op
from gpucodegen.dialects.framework.definition import Types
from gpucodegen.dialects.memref.checks import check_copy
from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.operation import Operation, operand_segments
from gpucodegen.ir.types import (
    I1,
    MemRefType,
    TensorType,
    Type,
    UnrankedMemRefType,
    UnrankedTensorType,
    element_type,
)
from gpucodegen.records import dataclass


def tensor_like(ty: Type) -> Type:
    """The tensor type with a memref's shape and element."""
    if isinstance(ty, MemRefType):
        return TensorType(ty.shape, ty.element)
    return UnrankedTensorType(ty.element) if isinstance(ty, UnrankedMemRefType) else ty


@dataclass(frozen=True, slots=True)
class TensorAndMemRef(FormatElement):
    """``type to type``; older text has the memref's only."""

    source: str
    result: str

    def parse(self, parsed: ParsedElements) -> None:
        first = parsed.reader.type()
        if parsed.reader.accept("to"):
            types = [first, parsed.reader.type()]
        elif self.source == "tensor":
            types = [tensor_like(first), first]
        else:
            types = [first, tensor_like(first)]
        parsed.types |= {self.source: types[:1], self.result: types[1:]}

    def print(self, printed: Printed) -> None:
        (source,), (result,) = printed.op.operands, printed.op.results
        printed.put(f"{source.type} to {result.type}")


def one_per_retained(types: Types, _: Mapping[str, Attribute]) -> Sequence[Type]:
    """``bufferization.dealloc`` yields one ``i1`` for every memref that it retains."""
    return [I1] * len(types.get("retained", ()))


def _shape(ty: Type) -> object:
    return ty.shape if isinstance(ty, MemRefType | TensorType) else None


def check_same_array(o: Operation) -> None:
    """The tensor and the buffer have one shape and element type."""
    source, result = o.operands[0].type, o.results[0].type
    if _shape(source) != _shape(result) or element_type(source) != element_type(result):
        raise errors.InvalidCast.at(
            o, source=source, target=result, hint="Keep the shape and the element type"
        )


def check_alloc_tensor(o: Operation) -> None:
    """One size per ``?``, or a tensor to copy, which gives sizes and elements."""
    sizes, copied, _ = operand_segments(o, 3)
    ty = o.results[0].type
    dynamic = ty.shape.count(None) if isinstance(ty, TensorType) else 0
    expected = 0 if copied else dynamic
    if len(sizes) != expected:
        raise errors.WrongOperandCount.at(
            o,
            expected="no sizes beside copy(..)"
            if copied
            else f"{dynamic} sizes (one per '?')",
            actual=len(sizes),
        )
    for value in copied:
        if value.type != ty:
            raise types_differ(o, "the copied tensor", value.type, "the result", ty)


def check_dealloc(o: Operation) -> None:
    """One condition per buffer, and one result per retained buffer."""
    memrefs, conditions, retained = operand_segments(o, 3)
    if len(memrefs) != len(conditions):
        raise errors.WrongOperandCount.at(
            o,
            expected=f"{len(memrefs)} conditions (one per buffer)",
            actual=len(conditions),
        )
    if len(retained) != len(o.results):
        raise errors.WrongResultCount.at(
            o, expected=len(retained), actual=len(o.results)
        )


def check_materialize(o: Operation) -> None:
    """Shapes agree; a tensor destination is a result, a buffer must be writable."""
    source, dest = (v.type for v in o.operands)
    is_tensor = isinstance(dest, TensorType)
    require(
        element_type(source) == element_type(dest) and _compatible(source, dest),
        o,
        f"cannot put {source} into {dest}",
        "Use one shape and element type",
    )
    require(
        is_tensor != ("writable" in o.attributes),
        o,
        "the word 'writable' belongs to buffers, and to all of them",
        "Remove it" if is_tensor else "Add 'writable' before the buffer",
    )
    require(
        not is_tensor or "restrict" not in o.attributes,
        o,
        "the word 'restrict' belongs to buffers",
        "Remove it",
    )
    if len(o.results) != int(is_tensor):
        raise errors.WrongResultCount.at(
            o, expected=int(is_tensor), actual=len(o.results)
        )


def _compatible(source: Type, dest: Type) -> bool:
    if not isinstance(source, TensorType):
        return True
    return isinstance(dest, TensorType | MemRefType) and compatible_shapes(
        source.shape, dest.shape
    )


_FLAGS = "(`restrict` $restrict^)? (`writable` $writable^)?"

OPERATIONS = (
    op(
        "bufferization.to_tensor",
        "buffer:any_memref -> result:any_tensor",
        f"$buffer {_FLAGS} attr-dict `:` custom<Types>",
        custom={"Types": TensorAndMemRef("buffer", "result")},
        attributes={"restrict": kinds.UNIT, "writable": kinds.UNIT},
        checks=[check_same_array],
    ),
    op(
        "bufferization.to_buffer",
        "tensor:any_tensor -> buffer:any_memref",
        "$tensor (`read_only` $read_only^)? attr-dict `:` custom<Types>",
        custom={"Types": TensorAndMemRef("tensor", "buffer")},
        attributes={"read_only": kinds.UNIT},
        checks=[check_same_array],
    ),
    op(
        "bufferization.alloc_tensor",
        "dynamic_sizes* copy? size_hint? -> result:tensor",
        "`` `(` $dynamic_sizes `)` (`copy` `` `(` $copy^ `)`)?"
        " (`size_hint` `` `=` `` $size_hint^)? attr-dict `:` type($result)",
        implied={
            "dynamic_sizes": indices,
            "size_hint": indices,
            "copy": like("result"),
        },
        attributes={"memory_space": kinds.OPTIONAL},
        checks=[check_alloc_tensor],
    ),
    op(
        "bufferization.dealloc_tensor",
        "tensor:any_tensor",
        "$tensor attr-dict `:` type($tensor)",
    ),
    op(
        "bufferization.dealloc",
        "memrefs:any_memref* conditions* retained:any_memref* -> updatedConditions*",
        "(`` `(` $memrefs^ `:` type($memrefs) `)` `if` `(` $conditions `)`)?"
        " (`retain` `(` $retained^ `:` type($retained) `)`)? attr-dict",
        infer={"conditions": always(I1), "updatedConditions": one_per_retained},
        checks=[check_dealloc],
    ),
    op(
        "bufferization.clone",
        "input:any_memref -> output:any_memref",
        "$input attr-dict `:` type($input) `to` type($output)",
        checks=[check_copy],
    ),
    op(
        "bufferization.materialize_in_destination",
        "source dest -> result?",
        f"$source `in` {_FLAGS} $dest attr-dict `:` functional-type(operands, results)",
        attributes={"restrict": kinds.UNIT, "writable": kinds.UNIT},
        infer={"result": like("dest")},
        checks=[check_materialize],
    ),
)
