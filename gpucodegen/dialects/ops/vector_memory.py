"""vector: masked, gathered and compressed accesses to memory."""

from __future__ import annotations

from gpucodegen.dialects import constraints, kinds
from gpucodegen.dialects.definition import Op
from gpucodegen.dialects.ops.declare import indices, op
from gpucodegen.dialects.ops.memref_checks import indices_after

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
        types={"base": constraints.SHAPED},
    )


def _masked_store(name: str) -> Op:
    return op(
        f"vector.{name}",
        "base indices* mask valueToStore",
        f"$base `[` $indices `]` `,` $mask `,` $valueToStore {_ALIGNED} attr-dict"
        " `:` type($base) `,` type($mask) `,` type($valueToStore)",
        attributes=_ALIGNMENT,
        infer={"indices": indices},
        types={"base": constraints.SHAPED},
    )


OPERATIONS = (
    op(
        "vector.load",
        "base indices* -> result",
        f"$base `[` $indices `]` {_HINTS} attr-dict `:` type($base) `,` type($result)",
        attributes=_NONTEMPORAL,
        infer={"indices": indices},
        types={"base": constraints.MEMREF},
        checks=[indices_after(0)],
    ),
    op(
        "vector.store",
        "valueToStore base indices*",
        f"$valueToStore `,` $base `[` $indices `]` {_HINTS} attr-dict"
        " `:` type($base) `,` type($valueToStore)",
        attributes=_NONTEMPORAL,
        infer={"indices": indices},
        types={"base": constraints.MEMREF},
        checks=[indices_after(1)],
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
        types={"base": constraints.SHAPED, "indices": constraints.VECTOR},
    ),
    op(
        "vector.scatter",
        "base offsets* indices mask valueToStore -> result?",
        f"$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $valueToStore"
        f" {_ALIGNED} attr-dict `:` type($base) `,` type($indices) `,` type($mask)"
        " `,` type($valueToStore) (`->` type($result)^)?",
        attributes=_ALIGNMENT,
        infer={"offsets": indices},
        types={"base": constraints.SHAPED, "indices": constraints.VECTOR},
    ),
)
