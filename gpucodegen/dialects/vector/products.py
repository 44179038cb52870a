"""Table, syntax and rules of vector products, contractions, reductions and scans.

``vector.contract`` contracts two vectors into a third by indexing maps;
``vector.outerproduct`` multiplies a column by a row, or a vector by a scalar.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.constraints import (
    TypeConstraint,
    require,
    types_differ,
)
from gpucodegen.dialects.framework.declare import like, pure, with_element
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.dialects.shared.combiners import OLD_KINDS
from gpucodegen.dialects.vector import (
    Extent,
    combines,
    contraction_iterators,
    contraction_maps,
    extents,
    integers,
    vector_of,
    vector_or_scalar,
)
from gpucodegen.ir.affine import AffineMap, Dim
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DictAttr,
    OpaqueAttr,
    StringAttr,
)
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import (
    I1,
    DialectType,
    FloatType,
    Type,
    VectorType,
    element_type,
)


def parse_contract(r: Reader, state: State) -> None:
    """``{trait} %a, %b, %acc : types into type``; two masks may follow until 2022."""
    if r.token[:1] == "#":
        trait = r.attribute()
        entries = dict(trait.entries) if isinstance(trait, DictAttr) else {}
        state.attributes |= entries
    state.attributes |= r.attr_dict()
    start = r.start
    uses = r.separated(r.use)
    masks = uses[3:]
    state.attributes |= r.attr_dict()
    modern_contract(state)
    r.expect(":")
    types = r.types()
    r.one_of(("into",), "'into'")
    result = r.type()
    factors = types[:2]
    masked = [with_element(ty, I1) for ty in factors] if masks else []
    state.operands = r.resolve_all(uses, [*factors, result, *masked], start)
    state.result_types = [result]


TRAIT = ("fastmath", "indexing_maps", "iterator_types", "kind")
_ITERATOR = "#vector.iterator_type<"


def modern_contract(state: State) -> None:
    """Convert iterators and kinds of older text to today's attributes."""
    attributes = state.attributes
    iterators = attributes.get("iterator_types")
    if isinstance(iterators, ArrayAttr):
        attributes["iterator_types"] = ArrayAttr(
            tuple(map(_iterator, iterators.values))
        )
    modern_kind(state)


def modern_kind(state: State) -> None:
    """``"add"`` of 2020 and ``#vector.kind<maxf>`` as today's attribute."""
    kind = state.attributes.get("kind")
    words = kind.value if isinstance(kind, StringAttr) else str(kind or "")
    word = words.removeprefix("#vector.kind<").removesuffix(">")
    if word:
        today = OLD_KINDS.get(word, word)
        state.attributes["kind"] = OpaqueAttr(f"#vector.kind<{today}>")


def _iterator(value: Attribute) -> Attribute:
    is_string = isinstance(value, StringAttr)
    return OpaqueAttr(f"{_ITERATOR}{value.value}>") if is_string else value


def _trait_text(value: Attribute) -> str:
    if not isinstance(value, ArrayAttr):
        return str(value)
    texts = (str(entry) for entry in value.values)
    shown = (f'"{t[len(_ITERATOR) : -1]}"' if _ITERATOR in t else t for t in texts)
    return f"[{', '.join(shown)}]"


def print_contract(w: Writer, o: Operation) -> None:
    """``{trait} %a, %b, %acc : types into type``."""
    attributes = o.attributes
    entries = [f"{k} = {_trait_text(attributes[k])}" for k in TRAIT if k in attributes]
    w.write(f" {{{', '.join(entries)}}}")
    lhs, rhs = (v.type for v in o.operands[:2])
    w.write(f" {w.names(o.operands)}")
    w.attr_dict(o, TRAIT)
    w.write(f" : {lhs}, {rhs} into {o.results[0].type}")


def check_kind(o: Operation, ty: Type) -> None:
    """The combining kind is valid for elements of this type."""
    kind = o.attributes.get("kind")
    require(
        isinstance(ty, DialectType) or combines(kind, ty),
        o,
        f"{kind} does not combine elements of type {ty}",
        "Use a kind for this type, such as add, or maximumf for floats and maxsi"
        " for integers",
    )


def check_reduction(o: Operation) -> None:
    """A vector of rank 0 or 1 is reduced to an element."""
    source, result = o.operands[0].type, o.results[0].type
    require(
        len(extents(source)) <= 1,
        o,
        f"{source} has more than one dimension",
        "Use vector.multi_reduction, which names the dimensions",
    )
    _require_result(o, element_type(source), result)
    check_kind(o, element_type(source))


def check_multi_reduction(o: Operation) -> None:
    """The result keeps the dimensions that are not reduced."""
    source, result = o.operands[0].type, o.results[0].type
    dims = extents(source)
    reduced = integers(o, "reduction_dims")
    check_positions(o, reduced, len(dims))
    kept = [dim for i, dim in enumerate(dims) if i not in reduced]
    _require_result(o, vector_or_scalar(kept, element_type(source)), result)


def check_positions(o: Operation, positions: Sequence[int], rank: int) -> None:
    """Different dimensions, each below the rank."""
    for position in positions:
        if not 0 <= position < rank:
            raise errors.OutOfRange.at(o, what="dimension", value=position, limit=rank)
    require(
        len(set(positions)) == len(positions),
        o,
        f"a dimension occurs twice in {list(positions)}",
        "Name each dimension once",
    )


def check_scan(o: Operation) -> None:
    """The initial value has the source's shape without the scanned dimension."""
    source, start = (v.type for v in o.operands)
    dims = extents(source)
    position = o.integer("reduction_dim")
    check_positions(o, [position], len(dims))
    kept = [dim for i, dim in enumerate(dims) if i != position]
    _require_result(o, vector_of(kept, element_type(source)), start)
    check_kind(o, element_type(source))


def _require_result(o: Operation, expected: Type, actual: Type) -> None:
    if expected != actual:
        raise types_differ(
            o, "the reduced vector", expected, "the accumulator or result", actual
        )


_SIDES = ("left", "right", "accumulator")


def check_contract(o: Operation) -> None:
    """The three maps are projected permutations and agree on every shared extent."""
    iterators = _iterators(o)
    maps = contraction_maps(o)
    require(
        len(maps) == 3,
        o,
        f"{len(maps)} indexing maps for three operands",
        "Write one map for each factor and one for the accumulator",
    )
    for side, map_, value in zip(_SIDES, maps, o.operands, strict=False):
        _check_map(o, side, map_, len(iterators), value.type)
    lhs, rhs, acc = maps
    shared = {e for e in lhs.results if e in rhs.results and e not in acc.results}
    require(
        any(iterators[e.position] == "reduction" for e in shared if isinstance(e, Dim)),
        o,
        "no dimension is contracted",
        "Give both factors a reduction dimension that the accumulator lacks",
    )
    _check_extents(o, maps)
    check_kind(o, element_type(o.results[0].type))


def _iterators(o: Operation) -> list[str]:
    words = contraction_iterators(o)
    for word in words:
        require(
            word in ("parallel", "reduction"),
            o,
            f"{word} is no iterator",
            "Write parallel or reduction",
        )
    return words


def _check_map(o: Operation, side: str, map_: AffineMap, loops: int, ty: Type) -> None:
    results = map_.results
    require(
        map_.num_dims == loops and not map_.num_syms,
        o,
        f"the {side} map {map_} has not the {loops} dimensions of the iterators",
        "Use one dimension per iterator and no symbols",
    )
    require(
        all(isinstance(e, Dim) for e in results) and len(set(results)) == len(results),
        o,
        f"the {side} map {map_} is no list of different dimensions",
        "Map to dimensions only, each at most once",
    )
    require(
        len(results) == len(extents(ty)),
        o,
        f"the {side} map {map_} does not fit {ty}",
        "Map to one dimension per dimension of the operand",
    )


def _check_extents(o: Operation, maps: list[AffineMap]) -> None:
    lhs, rhs, acc = o.operands[:3]
    known: dict[object, Extent] = {}
    for map_, value in zip(maps, (lhs, rhs), strict=False):
        for position, extent in zip(map_.results, extents(value.type), strict=True):
            require(
                known.setdefault(position, extent) == extent,
                o,
                f"{lhs.type} and {rhs.type} differ in the extent of {position}",
                "Give both factors the same extent along a dimension they share",
            )
    require(
        element_type(lhs.type) == element_type(rhs.type),
        o,
        f"{lhs.type} and {rhs.type} have different elements",
        "Convert one of them",
    )
    kept = [known.get(position, (0, False)) for position in maps[2].results]
    expected = vector_or_scalar(kept, element_type(acc.type))
    require(
        expected == acc.type,
        o,
        f"the contraction gives {expected}, not {acc.type}",
        f"Use an accumulator of type {expected}",
    )


_ADD = "#vector.kind<add>"


def parse_outerproduct(r: Reader, state: State) -> None:
    """``%a, %b, %acc {kind} : vector, vector``."""
    start = r.start
    uses = r.separated(r.use)
    state.attributes |= r.attr_dict()
    r.expect(":")
    types = r.types()
    if len(uses) not in (2, 3) or len(types) != 2:
        raise errors.TypeCountMismatch(
            r.location(start), operands=len(uses), types=len(types)
        )
    result = outer_type(*types)
    modern_kind(state)
    if str(state.attributes.get("kind")) == _ADD:
        del state.attributes["kind"]
    all_types = [*types, result][: len(uses)]
    state.operands = r.resolve_all(uses, all_types, start)
    state.result_types = [result]


def outer_type(lhs: Type, rhs: Type) -> Type:
    """The type of the outer product, with the extents of both operands."""
    if not isinstance(lhs, VectorType):
        return rhs
    return vector_of(extents(lhs) + extents(rhs), lhs.element)


def print_outerproduct(w: Writer, o: Operation) -> None:
    """``%a, %b, %acc {kind} : vector, vector``."""
    w.write(f" {w.names(o.operands)}")
    is_add = str(o.attributes.get("kind")) == _ADD
    w.attr_dict(o, ("kind",) if is_add else ())
    w.write(f" : {o.operands[0].type}, {o.operands[1].type}")


def check_outerproduct(o: Operation) -> None:
    """Two vectors of rank 1, or a vector and a scalar; the result has both shapes."""
    lhs, rhs = (v.type for v in o.operands[:2])
    require(
        len(extents(lhs)) == 1
        and (len(extents(rhs)) == 1 or not isinstance(rhs, VectorType))
        and element_type(lhs) == element_type(rhs),
        o,
        f"cannot multiply {lhs} and {rhs}",
        "Use vectors of rank 1, or a vector and a scalar, of one element type",
    )
    check_kind(o, element_type(lhs))
    expected = outer_type(lhs, rhs)
    for value in (*o.operands[2:], *o.results):
        if value.type != expected:
            raise types_differ(
                o, "the product", expected, "the accumulator or result", value.type
            )


_FLOATS = TypeConstraint(
    "a vector of floats",
    lambda ty: isinstance(ty, VectorType) and isinstance(ty.element, FloatType),
)

OPERATIONS = (
    pure(
        "vector.fma",
        "lhs rhs acc -> result",
        "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs)",
        same="lhs rhs acc result",
        types={"lhs": _FLOATS},
    ),
    pure(
        "vector.outerproduct",
        "lhs:vector rhs acc? -> result:vector",
        (parse_outerproduct, print_outerproduct),
        attributes={"kind": kinds.vector_kind("add")},
        adapt=modern_kind,
        checks=[check_outerproduct],
    ),
    pure(
        "vector.contract",
        "lhs:vector rhs:vector acc masks* -> result",
        (parse_contract, print_contract),
        attributes={
            "indexing_maps": kinds.ARRAY,
            "iterator_types": kinds.ARRAY,
            "kind": kinds.OPTIONAL,
            "fastmath": kinds.FASTMATH,
        },
        adapt=modern_contract,
        same="acc result",
        checks=[check_contract],
    ),
    pure(
        "vector.reduction",
        "vector:vector acc? -> dest",
        "$kind `,` $vector (`,` $acc^)? (`fastmath` `` $fastmath^)? attr-dict"
        " `:` type($vector) `into` type($dest)",
        attributes={"kind": kinds.VECTOR_KIND, "fastmath": kinds.FASTMATH},
        infer={"acc": like("dest")},
        adapt=modern_kind,
        checks=[check_reduction],
    ),
    pure(
        "vector.multi_reduction",
        "source:vector acc -> dest",
        "$kind `,` $source `,` $acc attr-dict $reduction_dims"
        " `:` type($source) `to` type($dest)",
        attributes={
            "kind": kinds.VECTOR_KIND,
            "reduction_dims": kinds.integers(),
        },
        same="acc dest",
        adapt=modern_kind,
        checks=[check_multi_reduction],
    ),
    pure(
        "vector.scan",
        "source:vector initial_value -> dest accumulated_value",
        "$kind `,` $source `,` $initial_value (`reduction_dim` `=` $reduction_dim^"
        " `,` `inclusive` `=` $inclusive)? attr-dict"
        " `:` type($source) `,` type($initial_value)",
        attributes={
            "kind": kinds.VECTOR_KIND,
            "reduction_dim": kinds.INT64,
            "inclusive": kinds.BOOL,
        },
        same="source dest; initial_value accumulated_value",
        checks=[check_scan],
    ),
)
