"""gpu: memory of the device, copies, and waiting for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.declare import always, indices, op
from gpucodegen.dialects.framework.definition import Check, Infer, Op
from gpucodegen.dialects.gpu.asynchronous import TOKENS, AsyncClause
from gpucodegen.dialects.gpu.memory import checks
from gpucodegen.ir.types import I32, UnrankedMemRefType

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
    """An operation that may wait for tokens and give one."""
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
        checks_=[checks.check_alloc],
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
        checks_=[checks.check_memcpy],
    ),
    asynchronous(
        "memset",
        "dst value",
        "$dst `,` $value `:` type($dst) `,` type($value) attr-dict",
        types={"dst": constraints.MEMREF},
        checks_=[checks.check_memset],
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
        "-> result",
        "attr-dict `:` type($result)",
        types={"result": constraints.MEMREF},
        checks=[checks.check_dynamic_shared_memory],
    ),
    op(
        "gpu.set_default_device",
        "devIndex",
        "attr-dict $devIndex",
        infer={"devIndex": always(I32)},
    ),
)
