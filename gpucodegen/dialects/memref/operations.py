"""Table and hand-written syntax of memref allocations, accesses, globals and DMA."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects import memref as view
from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.assembly_elements import RegionOf, ResultTypes
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.declare import (
    element_of,
    indices,
    op,
    pure,
    terminator,
)
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.dialects.framework.syntax import Reader, State, Use, Writer
from gpucodegen.dialects.memref import checks, element_checks
from gpucodegen.dialects.memref.views import VIEWS, is_line
from gpucodegen.dialects.shared.combiners import ATOMIC_KINDS, OLD_ATOMIC_KINDS
from gpucodegen.dialects.shared.dma import end_types
from gpucodegen.ir.attributes import (
    Attribute,
    ElementsAttr,
    IntegerAttr,
    StringAttr,
    TypeAttr,
    UnitAttr,
    print_symbol,
)
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    I64,
    INDEX,
    MemRefType,
    TensorType,
    Type,
)

# -- globals ---------------------------------------------------------------------------


def parse_global(r: Reader, state: State) -> None:
    """``"private" constant @name : memref<..> = dense<..> {attrs}``."""
    if r.token[:1] == '"':
        state.attributes["sym_visibility"] = StringAttr(r.string())
    if r.accept("constant"):
        state.attributes["constant"] = UnitAttr()
    state.attributes["sym_name"] = StringAttr(r.symbol_name())
    r.expect(":")
    ty = r.type()
    state.attributes["type"] = TypeAttr(ty)
    if r.accept("="):
        state.attributes["initial_value"] = _initial_value(r, ty)
    if r.accept("alignment"):
        r.expect("=")
        state.attributes["alignment"] = IntegerAttr(r.integer(), I64)
    state.attributes |= r.attr_dict()


def _initial_value(r: Reader, ty: Type) -> Attribute:
    if r.accept("uninitialized"):
        return UnitAttr()
    start = r.start
    is_memref = isinstance(ty, MemRefType)
    value = r.attribute(TensorType(ty.shape, ty.element) if is_memref else None)
    if not isinstance(value, ElementsAttr):
        raise errors.InvalidAttribute(
            r.location(start),
            problem=f"{value} cannot initialise a memref",
            hint="Write dense<...> with one value per element",
        )
    return value


def print_global(w: Writer, o: Operation) -> None:
    """``"private" constant @name : memref<..> = dense<..>``."""
    attributes = o.attributes
    if "sym_visibility" in attributes:
        w.write(f" {attributes['sym_visibility']}")
    if "constant" in attributes:
        w.write(" constant")
    name = attributes["sym_name"]
    w.write(f" {print_symbol(name.value) if isinstance(name, StringAttr) else name}")
    w.write(f" : {attributes['type']}")
    value = attributes.get("initial_value")
    if isinstance(value, UnitAttr):
        w.write(" = uninitialized")
    elif value is not None:
        text = str(value)
        w.write(f" = {text.rpartition(' : ')[0] or text}")
    if "alignment" in attributes:
        w.write(f" alignment = {o.integer('alignment')}")
    w.attr_dict(o, _GLOBAL_ATTRIBUTES)


_GLOBAL_ATTRIBUTES = (
    "sym_visibility",
    "constant",
    "sym_name",
    "type",
    "initial_value",
    "alignment",
)


# -- transfers -------------------------------------------------------------------------


def _element(r: Reader) -> tuple[Use, list[Use]]:
    return r.use(), r.listed("[", "]", r.use)


def parse_dma_start(r: Reader, state: State) -> None:
    """``%src[..], %dst[..], %n, %tag[..] (, %stride, %per_stride)? : types``."""
    ends = [_element(r)]
    r.expect(",")
    ends.append(_element(r))
    r.expect(",")
    count = r.use()
    r.expect(",")
    ends.append(_element(r))
    stride: list[Use] = []
    while r.accept(","):
        stride.append(r.use())
    types = end_types(r, state, 1 + len(stride))
    (src, dst, tag) = (
        [r.resolve(memref, ty), *(r.resolve(i, INDEX) for i in indices)]
        for (memref, indices), ty in zip(ends, types, strict=True)
    )
    rest = [r.resolve(use, INDEX) for use in stride]
    state.operands = [*src, *dst, r.resolve(count, INDEX), *tag, *rest]


def print_dma_start(w: Writer, o: Operation) -> None:
    """``%src[..], %dst[..], %n, %tag[..] : types``."""
    dma = view.DmaStart(o)
    ends = [_subscripted(w, end) for end in (dma.source, dma.target, dma.tag)]
    parts = [*ends[:2], w.name(dma.num_elements), ends[2], *map(w.name, dma.stride)]
    w.write(f" {', '.join(parts)}")
    w.attr_dict(o)
    types = ", ".join(str(end[0].type) for end in (dma.source, dma.target, dma.tag))
    w.write(f" : {types}")


def _subscripted(w: Writer, end: tuple[Value, ...]) -> str:
    return f"{w.name(end[0])}[{w.names(end[1:])}]"


_NONTEMPORAL = {
    "nontemporal": element_checks.FLAG,
    "alignment": element_checks.ALIGNMENT,
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
        "dynamicSizes:index* symbolOperands:index* -> memref:memref",
        "`(` $dynamicSizes `)` (`` `[` $symbolOperands^ `]`)?"
        " (`alignment` `=` $alignment^)? attr-dict `:` type($memref)",
        attributes={"alignment": element_checks.ALIGNMENT},
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
        checks=[element_checks.check_alloca_scope],
    ),
    terminator(
        "memref.alloca_scope.return",
        "results*",
        "attr-dict ($results^ `:` type($results))?",
        parents=["memref.alloca_scope"],
    ),
    op("memref.dealloc", "memref:any_memref", "$memref attr-dict `:` type($memref)"),
    pure(
        "memref.dim",
        "source index -> result",
        "attr-dict $source `,` $index `:` type($source)",
        infer={"result": indices, "index": indices},
        types={"source": constraints.ANY_MEMREF, "index": constraints.INDEX_TYPE},
        checks=[constraints.check_dim],
    ),
    pure(
        "memref.rank",
        "memref:any_memref -> result:index",
        "$memref attr-dict `:` type($memref)",
    ),
    op(
        "memref.load",
        "memref:memref indices:index* -> result",
        f"$memref `[` $indices `]` {_HINTS} attr-dict `:` type($memref)",
        attributes=_NONTEMPORAL,
        infer={"result": element_of("memref")},
        checks=[checks.indices_after(0)],
    ),
    op(
        "memref.store",
        "value memref:memref indices:index*",
        f"$value `,` $memref `[` $indices `]` {_HINTS} attr-dict `:` type($memref)",
        attributes=_NONTEMPORAL,
        infer={"value": element_of("memref")},
        checks=[checks.indices_after(1)],
    ),
    op(
        "memref.copy",
        "source:any_memref target:any_memref",
        "$source `,` $target attr-dict `:` type($source) `to` type($target)",
        checks=[checks.check_copy],
    ),
    op(
        "memref.global",
        "",
        (parse_global, print_global),
        attributes={
            "sym_name": kinds.SYMBOL_NAME,
            "type": kinds.TYPE,
            "sym_visibility": kinds.optional(kinds.VISIBILITY),
            "initial_value": kinds.OPTIONAL,
            "constant": kinds.UNIT,
            "alignment": element_checks.ALIGNMENT,
        },
        checks=[element_checks.check_global],
    ),
    pure(
        "memref.get_global",
        "-> result:memref",
        "$name `:` type($result) attr-dict",
        attributes={"name": kinds.SYMBOL},
    ),
    op(
        "memref.dma_start",
        "operands*",
        (parse_dma_start, print_dma_start),
        traits=Trait.BARE,
        checks=[checks.check_dma_start],
    ),
    op(
        "memref.dma_wait",
        "tagMemRef:memref tagIndices:index* numElements:index",
        "$tagMemRef `[` $tagIndices `]` `,` $numElements attr-dict"
        " `:` type($tagMemRef)",
        checks=[element_checks.check_dma_wait],
    ),
    op(
        "memref.atomic_rmw",
        "value memref:memref indices:index* -> result",
        "$kind $value `,` $memref `[` $indices `]` attr-dict"
        " `:` `(` type($value) `,` type($memref) `)` `->` type($result)",
        attributes={"kind": kinds.enumeration(ATOMIC_KINDS, renamed=OLD_ATOMIC_KINDS)},
        same="value result",
        checks=[element_checks.check_atomic],
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
        checks=[element_checks.check_generic_atomic],
    ),
    terminator(
        "memref.atomic_yield",
        "result",
        "$result attr-dict `:` type($result)",
        parents=["memref.generic_atomic_rmw"],
    ),
    op(
        "memref.prefetch",
        "memref:memref indices*",
        f"$memref `[` $indices `]` {PREFETCH} attr-dict `:` type($memref)",
        attributes=PREFETCHED | {"localityHint": element_checks.LOCALITY},
        implied={"indices": indices},
        checks=[element_checks.check_prefetch],
    ),
    op(
        "memref.realloc",
        "source dynamicResultSize:index? -> result",
        "$source (`(` $dynamicResultSize^ `)`)? (`alignment` `=` $alignment^)?"
        " attr-dict `:` type($source) `to` type($result)",
        attributes={"alignment": element_checks.ALIGNMENT},
        types={"source": _LINE, "result": _LINE},
        checks=[checks.check_realloc],
    ),
    *VIEWS,
)
