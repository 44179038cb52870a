"""vector: masked, gathered and compressed accesses to memory."""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.declare import indices, op
from gpucodegen.dialects.framework.definition import Op
from gpucodegen.dialects.vector.memory import checks
from gpucodegen.dialects.vector.shapes.operations import MASK
from gpucodegen.ir.types import IndexType, IntegerType, VectorType

_POSITIONS = TypeConstraint(
    "a vector of integers or indices",
    lambda ty: (
        isinstance(ty, VectorType) and isinstance(ty.element, IntegerType | IndexType)
    ),
)

_ALIGNMENT = {"alignment": kinds.integer(optional=True)}
_ALIGNED = "(`alignment` `=` $alignment^)?"
_HINTS = f"{_ALIGNED} (`nontemporal` `=` $nontemporal^)?"
_NONTEMPORAL = _ALIGNMENT | {"nontemporal": kinds.FALSE_BY_DEFAULT}


def _masked_load(name: str) -> Op:
    return op(
        f"vector.{name}",
        "base indices* mask pass_thru -> result",
        f"$base `[` $indices `]` `,` $mask `,` $pass_thru {_ALIGNED} attr-dict"
        " `:` type($base) `,` type($mask) `,` type($pass_thru) `into` type($result)",
        attributes=_ALIGNMENT,
        infer={"indices": indices},
        types={
            "base": constraints.SHAPED,
            "mask": MASK,
            "pass_thru": constraints.VECTOR,
        },
        checks=[checks.masked()],
    )


def _masked_store(name: str) -> Op:
    return op(
        f"vector.{name}",
        "base indices* mask valueToStore",
        f"$base `[` $indices `]` `,` $mask `,` $valueToStore {_ALIGNED} attr-dict"
        " `:` type($base) `,` type($mask) `,` type($valueToStore)",
        attributes=_ALIGNMENT,
        infer={"indices": indices},
        types={
            "base": constraints.SHAPED,
            "mask": MASK,
            "valueToStore": constraints.VECTOR,
        },
        checks=[checks.masked(stores=True)],
    )


OPERATIONS = (
    op(
        "vector.load",
        "base indices* -> result",
        f"$base `[` $indices `]` {_HINTS} attr-dict `:` type($base) `,` type($result)",
        attributes=_NONTEMPORAL,
        infer={"indices": indices},
        types={"base": constraints.MEMREF, "result": constraints.VECTOR},
        checks=[checks.check_load],
    ),
    op(
        "vector.store",
        "valueToStore base indices*",
        f"$valueToStore `,` $base `[` $indices `]` {_HINTS} attr-dict"
        " `:` type($base) `,` type($valueToStore)",
        attributes=_NONTEMPORAL,
        infer={"indices": indices},
        types={"base": constraints.MEMREF, "valueToStore": constraints.VECTOR},
        checks=[checks.check_store],
    ),
    _masked_load("maskedload"),
    _masked_load("expandload"),
    _masked_store("maskedstore"),
    _masked_store("compressstore"),
    op(
        "vector.gather",
        "base offsets* indices mask pass_thru -> result",
        f"$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $pass_thru {_ALIGNED}"
        " attr-dict `:` type($base) `,` type($indices) `,` type($mask)"
        " `,` type($pass_thru) `into` type($result)",
        attributes=_ALIGNMENT,
        infer={"offsets": indices},
        types={
            "base": constraints.SHAPED,
            "indices": _POSITIONS,
            "mask": MASK,
            "pass_thru": constraints.VECTOR,
        },
        checks=[checks.masked(gathers=True)],
    ),
    op(
        "vector.scatter",
        "base offsets* indices mask valueToStore -> result?",
        f"$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $valueToStore"
        f" {_ALIGNED} attr-dict `:` type($base) `,` type($indices) `,` type($mask)"
        " `,` type($valueToStore) (`->` type($result)^)?",
        attributes=_ALIGNMENT,
        infer={"offsets": indices},
        types={
            "base": constraints.SHAPED,
            "indices": _POSITIONS,
            "mask": MASK,
            "valueToStore": constraints.VECTOR,
        },
        checks=[checks.masked(gathers=True, stores=True)],
    ),
)
