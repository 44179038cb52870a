"""The shape dialect: computing with shapes, extents and the constraints between them.

The module holds the table, hand-written syntax and verifier rules. In text of 2020
types may be omitted; the types that can hold errors were the only choice then.
"""

from __future__ import annotations

from dataclasses import replace

from gpucodegen import errors
from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.assembly_elements import (
    FormatElement,
    ParsedElements,
    Printed,
    RegionOf,
    ResultTypes,
)
from gpucodegen.dialects.framework.constraints import (
    TypeConstraint,
    check_no_arguments,
    require,
    types_differ,
)
from gpucodegen.dialects.framework.declare import (
    always,
    each_of,
    indices,
    op,
    pure,
    terminator,
)
from gpucodegen.dialects.framework.definition import Check, Op, Trait
from gpucodegen.dialects.framework.kinds import ANY
from gpucodegen.dialects.framework.signatures import (
    FUNCTION_ATTRIBUTES,
    parse_signature,
    print_function,
)
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.shared.control_flow import check_yield
from gpucodegen.ir.attributes import (
    Attribute,
    DenseElementsAttr,
    DictAttr,
    StringAttr,
    dictionary,
    print_entry,
    print_symbol,
)
from gpucodegen.ir.operation import Block, Operation, Region
from gpucodegen.ir.types import (
    I1,
    INDEX,
    DialectType,
    MemRefType,
    TensorType,
    Type,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
)
from gpucodegen.records import dataclass

SHAPE = DialectType("shape.shape")
SIZE = DialectType("shape.size")
VALUE_SHAPE = DialectType("shape.value_shape")
WITNESS = DialectType("shape.witness")


def _is_extent_type(attribute: Attribute) -> bool:
    is_dense = isinstance(attribute, DenseElementsAttr)
    return is_dense and attribute.element == INDEX and _rank(attribute.type) == 1


def _is_dictionary(attribute: Attribute) -> bool:
    return isinstance(attribute, DictAttr)


def _rank(ty: Type) -> int:
    return len(ty.shape) if isinstance(ty, TensorType) else 0


EXTENTS = replace(ANY, what="a tensor of extents", accepts=_is_extent_type)
MAPPING = replace(ANY, what="a dictionary", accepts=_is_dictionary)


@dataclass(frozen=True, slots=True)
class Types(FormatElement):
    """``: operand types -> result type``, or nothing in old text.

    Without a default the result's type is not written.
    """

    operands: tuple[str, ...]
    result: str = ""
    default: Type | None = None

    def parse(self, parsed: ParsedElements) -> None:
        r = parsed.reader
        if self.default is not None:
            parsed.types[self.result] = [self.default]
        if not r.accept(":"):
            return
        start = r.start
        types = r.types()
        self._distribute(parsed, types, start)
        if self.default is not None and r.accept("->"):
            parsed.types[self.result] = [r.type()]

    def _distribute(
        self, parsed: ParsedElements, types: list[Type], start: int
    ) -> None:
        counts = [len(parsed.uses[name]) for name in self.operands]
        if sum(counts) != len(types):
            raise errors.TypeCountMismatch(
                parsed.reader.location(start), operands=sum(counts), types=len(types)
            )
        for name, count in zip(self.operands, counts, strict=True):
            parsed.types[name], types = types[:count], types[count:]

    def print(self, printed: Printed) -> None:
        types = [str(v.type) for n in self.operands for v in printed.values[n]]
        if types:
            printed.put(":")
            printed.put(", ".join(types))
        if self.default is not None:
            (result,) = printed.values[self.result]
            printed.put("->")
            printed.put(str(result.type))


# -- constants -------------------------------------------------------------------------


def parse_const_shape(r: Reader, state: State) -> None:
    """``{attrs} [1, 2] : type``."""
    state.attributes |= r.attr_dict()
    extents = r.listed("[", "]", r.integer)
    ty = TensorType((len(extents),), INDEX)
    values = tuple(extents[:1] if len(set(extents)) == 1 else extents)
    state.attributes["shape"] = DenseElementsAttr(values, ty, INDEX)
    state.result_types = [r.type() if r.accept(":") else SHAPE]


def print_const_shape(w: Writer, o: Operation) -> None:
    """``{attrs} [1, 2] : type``."""
    w.attr_dict(o, ("shape",))
    w.write(f" [{', '.join(map(str, extents_of(o)))}] : {o.results[0].type}")


def extents_of(o: Operation) -> tuple[object, ...]:
    """The numbers of a constant shape."""
    value = o.attributes.get("shape")
    if not isinstance(value, DenseElementsAttr):
        return ()
    count = value.type.shape[0] if isinstance(value.type, TensorType) else 0
    return tuple(value.values) * (count or 0) if value.is_splat else value.values


# -- functions -------------------------------------------------------------------------


def parse_library(r: Reader, state: State) -> None:
    """``@name attributes {..} { .. } mapping {operation = @function}``."""
    if r.token[:1] == "@":
        state.attributes["sym_name"] = StringAttr(r.symbol_name())
    state.attributes |= r.attr_dict_with_keyword()
    region = r.region(isolated=True, dialect="shape")
    state.regions = [region if region.blocks else Region((Block(),))]
    r.one_of(("mapping",), "'mapping'")
    state.attributes["mapping"] = dictionary(r.attr_dict())


def print_library(w: Writer, o: Operation) -> None:
    """``@name attributes {..} { .. } mapping {operation = @function}``."""
    _print_name(w, o)
    w.attr_dict(o, ("sym_name", "mapping"), keyword=True)
    w.write(" ")
    w.region(o.regions[0])
    mapping = o.attributes.get("mapping")
    entries = mapping.entries if isinstance(mapping, DictAttr) else ()
    w.write(f" mapping {{{', '.join(map(_entry, entries))}}}")


def _entry(entry: tuple[str, Attribute]) -> str:
    return print_entry(*entry)


def _print_name(w: Writer, o: Operation) -> None:
    name = o.attributes.get("sym_name")
    if isinstance(name, StringAttr):
        w.write(f" {print_symbol(name.value)}")


def parse_func(r: Reader, state: State) -> None:
    """``private? @name(arguments) -> results attributes {..} { .. }``."""
    if r.token in ("public", "private", "nested"):
        state.attributes["sym_visibility"] = StringAttr(r.advance())
    state.attributes["sym_name"] = StringAttr(r.symbol_name())
    signature = parse_signature(r)
    state.attributes |= signature.attributes | r.attr_dict_with_keyword()
    state.regions = [Region()]
    if r.token == "{":
        body = r.region(signature.arguments, isolated=True, dialect="shape")
        state.regions = [body]


def print_func(w: Writer, o: Operation) -> None:
    """``private? @name(arguments) -> results attributes {..} { .. }``."""
    visibility = o.attributes.get("sym_visibility")
    if isinstance(visibility, StringAttr):
        w.write(f" {visibility.value}")
    _print_name(w, o)
    print_function(w, o)


_FALLIBLE = (SHAPE, SIZE, VALUE_SHAPE)


def check_errors_kept(o: Operation) -> None:
    """A result can hold an error if an operand can."""
    fallible = [v.type for v in o.operands if v.type in _FALLIBLE]
    for result in o.results:
        require(
            not fallible or result.type in _FALLIBLE,
            o,
            f"loses the error that {(fallible or [''])[0]} may hold in {result.type}",
            "Make the result a !shape.shape or !shape.size",
        )


def check_extremum(o: Operation) -> None:
    """The maximum or minimum of two shapes is a shape, of two sizes a size."""
    (lhs, rhs), (result,) = o.operands, o.results
    if lhs.type == rhs.type != result.type:
        raise types_differ(o, "each operand", lhs.type, "the result", result.type)


def at_least(count: int) -> Check:
    """A check for at least ``count`` operands."""

    def check(o: Operation) -> None:
        if len(o.operands) < count:
            raise errors.WrongOperandCount.at(
                o, expected=f"at least {count}", actual=len(o.operands)
            )

    return check


def check_const_shape(o: Operation) -> None:
    """A tensor of extents has one element per number."""
    ty, count = o.results[0].type, len(extents_of(o))
    fits = not isinstance(ty, TensorType) or ty.shape in ((count,), (None,))
    require(fits, o, f"{count} extents for {ty}", "Write one number per element")


def check_assuming(o: Operation) -> None:
    """The results are the values that the region yields."""
    check_no_arguments(o)
    check_yield(o, [v.type for v in o.results], "shape.assuming_yield")


def check_reduce(o: Operation) -> None:
    """The body takes a position, an extent and the values accumulated so far."""
    shape, *start = (v.type for v in o.operands)
    extent = SIZE if shape == SHAPE else INDEX
    expected = [INDEX, extent, *start]
    (block,) = o.regions[0].blocks
    actual = [a.type for a in block.arguments]
    require(
        actual == expected,
        o,
        f"the body takes ({', '.join(map(str, actual))})",
        f"Let it take ({', '.join(map(str, expected))})",
    )
    check_yield(o, start, "shape.yield")


def check_func(o: Operation) -> None:
    """Arguments and returned values fit the signature."""
    function = Function(o)
    if function.is_external:
        return
    arguments = tuple(a.type for a in function.arguments)
    require(
        arguments == function.type.inputs,
        o,
        f"the body takes ({', '.join(map(str, arguments))})",
        f"Let it take the arguments of {function.type}",
    )
    check_yield(o, function.result_types, "shape.return")


_SHAPED = (
    TensorType,
    UnrankedTensorType,
    MemRefType,
    UnrankedMemRefType,
    VectorType,
)


def _is_extents(ty: Type) -> bool:
    return isinstance(ty, TensorType) and len(ty.shape) == 1 and ty.element == INDEX


_SIZE = TypeConstraint("a !shape.size or index", lambda ty: ty in (SIZE, INDEX))
_EXTENTS = TypeConstraint("a tensor of rank 1 of index", _is_extents)
_SHAPE = TypeConstraint(
    "a !shape.shape or a tensor of rank 1 of index",
    lambda ty: ty == SHAPE or _is_extents(ty),
)
_ANY = TypeConstraint(
    "a shape or a size", lambda ty: _SHAPE.accepts(ty) or _SIZE.accepts(ty)
)


def _only(expected: Type) -> TypeConstraint:
    return TypeConstraint(f"{expected}", lambda ty: ty == expected)


_WITNESS = _only(WITNESS)
_VALUE = TypeConstraint(
    "a shaped value or a !shape.value_shape",
    lambda ty: isinstance(ty, _SHAPED) or ty == VALUE_SHAPE,
)


def _binary(name: str, takes: TypeConstraint, default: Type, *check: Check) -> Op:
    return pure(
        f"shape.{name}",
        "lhs rhs -> result",
        "$lhs `,` $rhs attr-dict custom<Types>",
        custom={"Types": Types(("lhs", "rhs"), "result", default)},
        types={"lhs": takes, "rhs": takes, "result": takes},
        checks=check,
    )


def _unary(
    name: str, takes: TypeConstraint, gives: TypeConstraint, default: Type
) -> Op:
    return pure(
        f"shape.{name}",
        "input -> result",
        "$input attr-dict custom<Types>",
        custom={"Types": Types(("input",), "result", default)},
        types={"input": takes, "result": gives},
        checks=[check_errors_kept] if name != "to_extent_tensor" else [],
    )


def _indexed(name: str, takes: TypeConstraint, *check: Check) -> Op:
    return pure(
        f"shape.{name}",
        "source index -> extent",
        "$source `,` $index attr-dict custom<Types>",
        custom={"Types": Types(("source", "index"), "extent", SIZE)},
        types={"source": takes, "index": _SIZE, "extent": _SIZE},
        checks=check,
    )


def _joined(name: str, result: Type | None = None) -> Op:
    """The table entry of an operation that joins any number of shapes."""
    default = SHAPE if result is None else None
    attributes = {"error": kinds.optional(kinds.STRING)}
    return op(
        f"shape.{name}",
        "shapes* -> result",
        "$shapes attr-dict custom<Types>",
        custom={"Types": Types(("shapes",), "result", default)},
        attributes=attributes if name == "broadcast" else {},
        infer={} if result is None else {"result": always(result)},
        types={"shapes": _SHAPE, "result": _SHAPE if result is None else _only(result)},
        traits=Trait.NONE if name.startswith("cstr") else Trait.PURE,
        checks=[
            at_least(2 if name == "cstr_broadcastable" else 1),
            *([check_errors_kept] if result is None else []),
        ],
    )


OPERATIONS = (
    op(
        "shape.const_shape",
        "-> result",
        (parse_const_shape, print_const_shape),
        attributes={"shape": EXTENTS},
        types={"result": _SHAPE},
        traits=Trait.PURE | Trait.CONSTANT,
        checks=[check_const_shape],
    ),
    op(
        "shape.const_size",
        "-> result",
        "$value attr-dict",
        attributes={"value": kinds.INDEX_INT},
        infer={"result": always(SIZE)},
        types={"result": _only(SIZE)},
        traits=Trait.PURE | Trait.CONSTANT,
    ),
    op(
        "shape.const_witness",
        "-> result",
        "$passing attr-dict",
        attributes={"passing": kinds.BOOL},
        infer={"result": always(WITNESS)},
        types={"result": _WITNESS},
        traits=Trait.PURE | Trait.CONSTANT,
    ),
    _binary("add", _SIZE, SIZE, check_errors_kept),
    _binary("mul", _SIZE, SIZE, check_errors_kept),
    _binary("div", _SIZE, SIZE, check_errors_kept),
    _binary("max", _ANY, SHAPE, check_extremum),
    _binary("min", _ANY, SHAPE, check_extremum),
    _binary("concat", _SHAPE, SHAPE),
    pure(
        "shape.meet",
        "arg0 arg1 -> result",
        "$arg0 `,` $arg1 (`,` `error` `=` $error^)? attr-dict custom<Types>",
        custom={"Types": Types(("arg0", "arg1"), "result", SHAPE)},
        attributes={"error": kinds.optional(kinds.STRING)},
        types={"arg0": _ANY, "arg1": _ANY, "result": _ANY},
    ),
    _unary("rank", _SHAPE, _SIZE, SIZE),
    _unary("num_elements", _SHAPE, _SIZE, SIZE),
    _unary("to_extent_tensor", _SHAPE, _EXTENTS, TensorType((None,), INDEX)),
    _unary("shape_of", _VALUE, _SHAPE, SHAPE),
    _unary("value_as_shape", constraints.ANY, _SHAPE, SHAPE),
    _indexed("dim", _VALUE),
    _indexed("get_extent", _SHAPE, check_errors_kept),
    _joined("broadcast"),
    _joined("any"),
    _joined("shape_eq", I1),
    _joined("is_broadcastable", I1),
    _joined("cstr_broadcastable", WITNESS),
    _joined("cstr_eq", WITNESS),
    op(
        "shape.cstr_require",
        "pred -> result",
        "$pred `,` $msg attr-dict",
        attributes={"msg": kinds.STRING},
        infer={"pred": always(I1), "result": always(WITNESS)},
        types={"pred": constraints.BOOL, "result": _WITNESS},
    ),
    pure(
        "shape.assuming_all",
        "inputs* -> result",
        "$inputs attr-dict",
        infer={"inputs": always(WITNESS), "result": always(WITNESS)},
        types={"inputs": _WITNESS, "result": _WITNESS},
        checks=[at_least(1)],
    ),
    op(
        "shape.assuming",
        "witness -> results*",
        "$witness custom<Types> custom<Body> attr-dict",
        custom={"Types": ResultTypes(), "Body": RegionOf("shape.assuming_yield")},
        implied={"witness": always(WITNESS)},
        types={"witness": _WITNESS},
        regions=1,
        terminators=["shape.assuming_yield"],
        checks=[check_assuming],
    ),
    terminator(
        "shape.assuming_yield",
        "operands*",
        "attr-dict ($operands^ `:` type($operands))?",
        parents=["shape.assuming"],
    ),
    pure(
        "shape.from_extents",
        "extents* -> shape",
        "$extents attr-dict custom<Types>",
        custom={"Types": Types(("extents",))},
        infer={"shape": always(SHAPE)},
        types={"extents": _SIZE, "shape": _only(SHAPE)},
    ),
    pure(
        "shape.from_extent_tensor",
        "input -> result",
        "$input attr-dict custom<Types>",
        custom={"Types": Types(("input",))},
        infer={"result": always(SHAPE)},
        types={"input": _EXTENTS, "result": _only(SHAPE)},
    ),
    pure(
        "shape.index_to_size",
        "arg -> result",
        "$arg attr-dict",
        infer={"arg": indices, "result": always(SIZE)},
        types={"arg": constraints.INDEX_TYPE, "result": _only(SIZE)},
    ),
    pure(
        "shape.size_to_index",
        "arg -> result:index",
        "$arg attr-dict custom<Types>",
        custom={"Types": Types(("arg",))},
        types={"arg": _SIZE},
    ),
    pure(
        "shape.value_of",
        "arg -> result",
        "$arg attr-dict `:` type($result)",
        infer={"arg": always(VALUE_SHAPE)},
        types={"arg": _only(VALUE_SHAPE), "result": _VALUE},
    ),
    pure(
        "shape.with_shape",
        "operand shape -> result",
        "$operand `,` $shape attr-dict custom<Types>",
        custom={"Types": Types(("operand", "shape"))},
        infer={"result": always(VALUE_SHAPE)},
        types={"operand": _VALUE, "shape": _SHAPE, "result": _only(VALUE_SHAPE)},
    ),
    op("shape.debug_print", "input -> output", None, types={"input": _ANY}),
    pure(
        "shape.split_at",
        "operand index -> head tail",
        None,
        types={"operand": _SHAPE, "index": _SIZE, "head": _SHAPE, "tail": _SHAPE},
    ),
    op(
        "shape.reduce",
        "shape initVals* -> result*",
        "`` `(` $shape (`,` $initVals^)? `)` (`:` type($shape)^)?"
        " custom<Types> custom<Body> attr-dict",
        custom={"Types": ResultTypes("result", bare=True), "Body": RegionOf()},
        implied={"shape": always(SHAPE), "initVals": each_of("result")},
        types={"shape": _SHAPE},
        regions=1,
        terminators=["shape.yield"],
        checks=[check_reduce],
    ),
    terminator(
        "shape.yield",
        "operands*",
        "attr-dict ($operands^ `:` type($operands))?",
        parents=["shape.reduce"],
    ),
    op(
        "shape.function_library",
        "",
        (parse_library, print_library),
        attributes={
            "sym_name": kinds.optional(kinds.SYMBOL_NAME),
            "mapping": MAPPING,
        },
        traits=Trait.ISOLATED
        | Trait.SYMBOL_TABLE
        | Trait.NO_TERMINATOR
        | Trait.AFFINE_SCOPE,
        regions=1,
        checks=[check_no_arguments],
    ),
    op(
        "shape.func",
        "",
        (parse_func, print_func),
        attributes=FUNCTION_ATTRIBUTES,
        traits=Trait.ISOLATED | Trait.AFFINE_SCOPE,
        regions=1,
        checks=[check_func],
    ),
    terminator(
        "shape.return",
        "operands*",
        "attr-dict ($operands^ `:` type($operands))?",
        parents=["shape.func"],
    ),
)
