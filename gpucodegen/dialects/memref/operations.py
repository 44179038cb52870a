"""memref: allocation, element access, views, globals, asynchronous copies."""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.assembly_elements import RegionOf, ResultTypes
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.declare import element_of, indices, op
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.dialects.memref import checks, custom
from gpucodegen.dialects.memref import value_checks as values
from gpucodegen.dialects.memref.views import VIEWS, is_line
from gpucodegen.dialects.shared.combiners import ATOMIC_KINDS, OLD_ATOMIC_KINDS

_NONTEMPORAL = {
    "nontemporal": values.FLAG,
    "alignment": values.ALIGNMENT,
}
_HINTS = (
    "(`alignment` `` `(` $alignment^ `)`)? (`nontemporal` `` `(` $nontemporal^ `)`)?"
)
PREFETCH = "`,` $isWrite `,` `locality` `` `<` $localityHint `>` `,` $isDataCache"
PREFETCHED = {
    "isWrite": kinds.either("read", "write"),
    "localityHint": kinds.INT32,
    "isDataCache": kinds.either("instr", "data"),
}
_LINE = TypeConstraint("a memref of rank 1", is_line)


def _alloc(name: str) -> Op:
    return op(
        f"memref.{name}",
        "dynamicSizes* symbolOperands* -> memref",
        (custom.parse_alloc, custom.print_alloc),
        attributes={"alignment": values.ALIGNMENT},
        types={"memref": constraints.MEMREF, "dynamicSizes": constraints.INDEX_TYPE},
        checks=[checks.check_alloc],
    )


OPERATIONS = (
    _alloc("alloc"),
    _alloc("alloca"),
    op(
        "memref.alloca_scope",
        "-> results*",
        "custom<Types> custom<Body> attr-dict",
        custom={"Types": ResultTypes(), "Body": RegionOf("memref.alloca_scope.return")},
        regions=1,
        terminators=["memref.alloca_scope.return"],
        checks=[values.check_alloca_scope],
    ),
    op(
        "memref.alloca_scope.return",
        "results*",
        "attr-dict ($results^ `:` type($results))?",
        traits=Trait.TERMINATOR,
        parents=["memref.alloca_scope"],
    ),
    op(
        "memref.dealloc",
        "memref",
        "$memref attr-dict `:` type($memref)",
        types={"memref": constraints.ANY_MEMREF},
    ),
    op(
        "memref.dim",
        "source index -> result",
        "attr-dict $source `,` $index `:` type($source)",
        infer={"result": indices, "index": indices},
        types={"source": constraints.ANY_MEMREF, "index": constraints.INDEX_TYPE},
        traits=Trait.PURE,
        checks=[values.check_dim],
    ),
    op(
        "memref.rank",
        "memref -> result",
        "$memref attr-dict `:` type($memref)",
        infer={"result": indices},
        types={"memref": constraints.ANY_MEMREF},
        traits=Trait.PURE,
    ),
    op(
        "memref.load",
        "memref indices* -> result",
        f"$memref `[` $indices `]` {_HINTS} attr-dict `:` type($memref)",
        attributes=_NONTEMPORAL,
        infer={"result": element_of("memref"), "indices": indices},
        types={"memref": constraints.MEMREF},
        checks=[checks.indices_after(0)],
    ),
    op(
        "memref.store",
        "value memref indices*",
        f"$value `,` $memref `[` $indices `]` {_HINTS} attr-dict `:` type($memref)",
        attributes=_NONTEMPORAL,
        infer={"value": element_of("memref"), "indices": indices},
        types={"memref": constraints.MEMREF},
        checks=[checks.indices_after(1)],
    ),
    op(
        "memref.copy",
        "source target",
        "$source `,` $target attr-dict `:` type($source) `to` type($target)",
        types={"source": constraints.ANY_MEMREF, "target": constraints.ANY_MEMREF},
        checks=[checks.check_copy],
    ),
    op(
        "memref.global",
        "",
        (custom.parse_global, custom.print_global),
        attributes={
            "sym_name": kinds.SYMBOL_NAME,
            "type": kinds.TYPE,
            "sym_visibility": kinds.optional(kinds.VISIBILITY),
            "initial_value": kinds.OPTIONAL,
            "constant": kinds.UNIT,
            "alignment": values.ALIGNMENT,
        },
        checks=[values.check_global],
    ),
    op(
        "memref.get_global",
        "-> result",
        "$name `:` type($result) attr-dict",
        attributes={"name": kinds.SYMBOL},
        types={"result": constraints.MEMREF},
        traits=Trait.PURE,
    ),
    op(
        "memref.dma_start",
        "operands*",
        (custom.parse_dma_start, custom.print_dma_start),
        traits=Trait.BARE,
        checks=[checks.check_dma_start],
    ),
    op(
        "memref.dma_wait",
        "tagMemRef tagIndices* numElements",
        "$tagMemRef `[` $tagIndices `]` `,` $numElements attr-dict"
        " `:` type($tagMemRef)",
        infer={"tagIndices": indices, "numElements": indices},
        types={"tagMemRef": constraints.MEMREF},
        checks=[values.check_dma_wait],
    ),
    op(
        "memref.atomic_rmw",
        "value memref indices* -> result",
        "$kind $value `,` $memref `[` $indices `]` attr-dict"
        " `:` `(` type($value) `,` type($memref) `)` `->` type($result)",
        attributes={"kind": kinds.enumeration(ATOMIC_KINDS, renamed=OLD_ATOMIC_KINDS)},
        infer={"indices": indices},
        same="value result",
        types={"memref": constraints.MEMREF},
        checks=[values.check_atomic],
    ),
    op(
        "memref.generic_atomic_rmw",
        "memref indices* -> result",
        "$memref `[` $indices `]` `:` type($memref) custom<Body> attr-dict",
        custom={"Body": RegionOf()},
        implied={"result": element_of("memref"), "indices": indices},
        types={"memref": constraints.MEMREF, "indices": constraints.INDEX_TYPE},
        regions=1,
        terminators=["memref.atomic_yield"],
        checks=[values.check_generic_atomic],
    ),
    op(
        "memref.atomic_yield",
        "result",
        "$result attr-dict `:` type($result)",
        traits=Trait.TERMINATOR,
        parents=["memref.generic_atomic_rmw"],
    ),
    op(
        "memref.prefetch",
        "memref indices*",
        f"$memref `[` $indices `]` {PREFETCH} attr-dict `:` type($memref)",
        attributes=PREFETCHED | {"localityHint": values.LOCALITY},
        implied={"indices": indices},
        types={"memref": constraints.MEMREF},
        checks=[values.check_prefetch],
    ),
    op(
        "memref.realloc",
        "source dynamicResultSize? -> result",
        "$source (`(` $dynamicResultSize^ `)`)? (`alignment` `=` $alignment^)?"
        " attr-dict `:` type($source) `to` type($result)",
        attributes={"alignment": values.ALIGNMENT},
        infer={"dynamicResultSize": indices},
        types={"source": _LINE, "result": _LINE},
        checks=[checks.check_realloc],
    ),
    *VIEWS,
)
