"""Table and verifier rules of device memory: allocation, copies and waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.constraints import (
    TypeConstraint,
    compatible_shapes,
    require,
)
from gpucodegen.dialects.framework.declare import always, indices, op
from gpucodegen.dialects.framework.definition import Check, Infer, Op
from gpucodegen.dialects.gpu.syntax import TOKENS, AsyncClause
from gpucodegen.dialects.memref.layouts import symbols_of
from gpucodegen.ir.operation import Operation, operand_segments
from gpucodegen.ir.types import I8, I32, MemRefType, UnrankedMemRefType, element_type


def check_alloc(o: Operation) -> None:
    """One size per ``?`` and one value per symbol of the layout."""
    _, sizes, symbols = operand_segments(o, 3)
    ty = o.results[0].type
    if not isinstance(ty, MemRefType):
        return
    require(
        len(sizes) == ty.shape.count(None),
        o,
        f"{len(sizes)} sizes for {ty}",
        "Pass one size per '?'",
    )
    require(
        len(symbols) == symbols_of(ty),
        o,
        f"{len(symbols)} symbols for {ty}",
        "Pass one value per symbol of the layout",
    )


def check_memcpy(o: Operation) -> None:
    """Both buffers hold the same elements in compatible shapes."""
    first, second = (v.type for v in o.operands[-2:])
    shapes = [ty.shape for ty in (first, second) if isinstance(ty, MemRefType)]
    require(
        element_type(first) == element_type(second)
        and (len(shapes) < 2 or compatible_shapes(*shapes)),
        o,
        f"cannot copy {second} to {first}",
        "Copy between buffers of one element type and shape",
    )


def check_memset(o: Operation) -> None:
    """The value has the element type of the buffer."""
    buffer, value = (v.type for v in o.operands[-2:])
    require(
        element_type(buffer) == value,
        o,
        f"cannot fill {buffer} with {value}",
        f"Pass a value of type {element_type(buffer)}",
    )


def check_dynamic_shared_memory(o: Operation) -> None:
    """A byte buffer in workgroup memory, of the size that the launch requests."""
    ty = o.results[0].type
    is_bytes = isinstance(ty, MemRefType) and ty.shape == (None,) and ty.element == I8
    space = str(getattr(ty, "memory_space", ""))
    require(
        is_bytes and space == "#gpu.address_space<workgroup>",
        o,
        f"{ty} is no memory of a workgroup",
        "Write memref<?xi8, #gpu.address_space<workgroup>>",
    )


_UNRANKED = TypeConstraint(
    "an unranked memref", lambda ty: isinstance(ty, UnrankedMemRefType)
)


def asynchronous(
    name: str,
    signature: str,
    syntax: str,
    attributes: Mapping[str, kinds.AttributeKind] | None = None,
    infer: Mapping[str, Infer] | None = None,
    types: Mapping[str, TypeConstraint] | None = None,
    checks_: Sequence[Check] = (),
) -> Op:
    """A table entry of an operation that may wait for tokens and return one."""
    operands, _, results = signature.partition(" -> ")
    return op(
        f"gpu.{name}",
        f"asyncDependencies* {operands} -> {results} asyncToken?",
        f"custom<Async> {syntax}",
        attributes=attributes,
        infer=infer,
        types=TOKENS | dict(types or {}),
        custom={"Async": AsyncClause()},
        checks=checks_,
    )


OPERATIONS = (
    asynchronous(
        "alloc",
        "dynamicSizes* symbolOperands* -> memref",
        "(`host_shared` $hostShared^)? `` `(` $dynamicSizes `)`"
        " (`` `[` $symbolOperands^ `]`)? attr-dict `:` type($memref)",
        attributes={"hostShared": kinds.UNIT},
        infer={"dynamicSizes": indices, "symbolOperands": indices},
        types={"memref": constraints.MEMREF},
        checks_=[check_alloc],
    ),
    asynchronous(
        "dealloc",
        "memref",
        "$memref attr-dict `:` type($memref)",
        types={"memref": constraints.MEMREF},
    ),
    asynchronous(
        "memcpy",
        "dst src",
        "$dst `,` $src `:` type($dst) `,` type($src) attr-dict",
        types={"dst": constraints.MEMREF, "src": constraints.MEMREF},
        checks_=[check_memcpy],
    ),
    asynchronous(
        "memset",
        "dst value",
        "$dst `,` $value `:` type($dst) `,` type($value) attr-dict",
        types={"dst": constraints.MEMREF},
        checks_=[check_memset],
    ),
    asynchronous("wait", "", "attr-dict"),
    *(
        op(
            f"gpu.{name}",
            "value",
            "$value attr-dict `:` type($value)",
            types={"value": _UNRANKED},
        )
        for name in ("host_register", "host_unregister")
    ),
    op(
        "gpu.dynamic_shared_memory",
        "-> result:memref",
        "attr-dict `:` type($result)",
        checks=[check_dynamic_shared_memory],
    ),
    op(
        "gpu.set_default_device",
        "devIndex",
        "attr-dict $devIndex",
        infer={"devIndex": always(I32)},
    ),
)
