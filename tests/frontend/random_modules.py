"""Random modules for hypothesis: types, attributes, regions, affine nests, branches.

The strategies build operations directly, so that a module is valid by construction and
the printer, the parser and the verifier meet shapes that nobody wrote by hand.
"""

from __future__ import annotations

from hypothesis import strategies as st

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.affine import AffineExpr, AffineMap, Const, Dim, Sym, binary
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    DenseElementsAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
    dictionary,
)
from gpucodegen.ir.operation import Block, Label, Operation, Region, Successor, Value
from gpucodegen.ir.types import (
    F32,
    F64,
    I1,
    I32,
    I64,
    INDEX,
    ComplexType,
    FunctionType,
    IntegerType,
    MemRefType,
    NoneType,
    TensorType,
    TupleType,
    Type,
    UnrankedTensorType,
    VectorType,
)

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)
OPERATIONS = st.builds("{}.{}".format, st.sampled_from(["foo", "my_dialect"]), NAMES)
TEXTS = st.text(max_size=8)
EXTENTS = st.none() | st.integers(0, 9)
SHAPES = st.lists(EXTENTS, max_size=3).map(tuple)

# -- types -----------------------------------------------------------------------------

INTEGERS = st.builds(
    IntegerType, st.integers(1, 129), st.sampled_from(["", "s", "u"]).map(str)
)
SCALARS = st.sampled_from([F32, F64, I1, I32, I64, INDEX]) | INTEGERS
ELEMENTS = SCALARS | st.builds(ComplexType, st.sampled_from([F32, F64]))
VECTORS = st.lists(st.integers(1, 9), max_size=3).flatmap(
    lambda shape: st.builds(VectorType, st.just(tuple(shape)), SCALARS)
)
SHAPED = (
    st.builds(TensorType, SHAPES, ELEMENTS)
    | st.builds(MemRefType, SHAPES, ELEMENTS | VECTORS)
    | st.builds(UnrankedTensorType, ELEMENTS)
    | VECTORS
)


def _nested(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    several = st.lists(inner, max_size=3).map(tuple)
    return st.builds(TupleType, several) | st.builds(FunctionType, several, several)


TYPES: st.SearchStrategy[Type] = st.recursive(
    SCALARS | SHAPED | st.just(NoneType()), _nested, max_leaves=4
)

# -- affine maps -----------------------------------------------------------------------


def _expressions(dims: int, syms: int) -> st.SearchStrategy[AffineExpr]:
    leaves: list[AffineExpr] = [*map(Dim, range(dims)), *map(Sym, range(syms))]
    leaf = st.builds(Const, st.integers(-9, 9))
    if leaves:
        leaf |= st.sampled_from(leaves)
    positive = st.builds(Const, st.integers(1, 9))
    return st.recursive(
        leaf,
        lambda inner: (
            st.builds(binary, st.just("+"), inner, inner)
            | st.builds(
                binary,
                st.sampled_from(["*", "mod", "floordiv", "ceildiv"]),
                inner,
                positive,
            )
        ),
        max_leaves=5,
    )


@st.composite
def affine_maps(draw: st.DrawFn) -> AffineMap:
    dims, syms = draw(st.integers(0, 3)), draw(st.integers(0, 2))
    results = draw(st.lists(_expressions(dims, syms), max_size=3))
    return AffineMap(dims, syms, tuple(results))


# -- attributes ------------------------------------------------------------------------


@st.composite
def integers(draw: st.DrawFn) -> IntegerAttr:
    ty = draw(st.sampled_from([I1, I32, I64, INDEX]))
    bits = {I1: 1, I32: 31}.get(ty, 63)
    low = 0 if bits == 1 else -(2**bits)
    return IntegerAttr(draw(st.integers(low, 2**bits - 1)), ty)


@st.composite
def dense(draw: st.DrawFn) -> DenseElementsAttr:
    shape = draw(st.lists(st.integers(1, 3), max_size=2))
    count = 1
    for extent in shape:
        count *= extent
    values = draw(st.lists(st.integers(-99, 99), min_size=count, max_size=count))
    kept = values[:1] if len(set(values)) == 1 else values
    return DenseElementsAttr(tuple(kept), TensorType(tuple(shape), I32), I32)


FLOATS = st.builds(FloatAttr, st.floats(width=32), st.just(F32)) | st.builds(
    FloatAttr, st.floats(), st.just(F64)
)
PLAIN: st.SearchStrategy[Attribute] = (
    integers()
    | FLOATS
    | dense()
    | st.just(UnitAttr())
    | st.builds(StringAttr, TEXTS)
    | st.builds(TypeAttr, TYPES)
    | st.builds(AffineMapAttr, affine_maps())
    | st.builds(SymbolRefAttr, st.lists(TEXTS, min_size=1, max_size=2).map(tuple))
    | st.builds(
        DenseArrayAttr,
        st.just(I32),
        st.lists(st.integers(-9, 9), max_size=3).map(tuple),
    )
)
ATTRIBUTES: st.SearchStrategy[Attribute] = st.recursive(
    PLAIN,
    lambda inner: (
        st.builds(ArrayAttr, st.lists(inner, max_size=3).map(tuple))
        | st.dictionaries(NAMES | TEXTS.filter(bool), inner, max_size=3).map(dictionary)
    ),
    max_leaves=5,
)
ENTRIES = st.dictionaries(NAMES, ATTRIBUTES, max_size=3)

# -- operations ------------------------------------------------------------------------


@st.composite
def unregistered(draw: st.DrawFn, visible: list[Value], depth: int) -> Operation:
    count = draw(st.integers(0, min(3, len(visible))))
    operands = [draw(st.sampled_from(visible)) for _ in range(count)]
    hints = draw(st.lists(NAMES | st.just(""), max_size=2))
    results = tuple(Value(draw(TYPES), hint) for hint in hints)
    regions: list[Region] = []
    if depth and draw(st.booleans()):
        inner = list(visible)
        regions.append(Region((draw(blocks(inner, depth - 1)),)))
    return Operation(
        draw(OPERATIONS), tuple(operands), results, draw(ENTRIES), tuple(regions)
    )


@st.composite
def loops(draw: st.DrawFn, visible: list[Value], depth: int) -> Operation:
    iv = Value(INDEX, draw(NAMES))
    body = draw(blocks([*visible, iv], depth - 1))
    end = Operation("affine.yield")
    lower, length = draw(st.integers(-9, 9)), draw(st.integers(0, 9))
    bounds = {"lowerBoundMap": lower, "upperBoundMap": lower + length}
    attributes: dict[str, Attribute] = {
        name: AffineMapAttr(AffineMap.constant(value)) for name, value in bounds.items()
    }
    attributes["step"] = IntegerAttr(draw(st.integers(1, 9)), INDEX)
    attributes["operandSegmentSizes"] = DenseArrayAttr(I32, (0, 0, 0))
    block = Block((iv,), (*body.operations, end))
    return Operation("affine.for", (), (), attributes, (Region((block,)),))


@st.composite
def blocks(draw: st.DrawFn, visible: list[Value], depth: int) -> Block:
    """A block whose operations use what is visible and what they define."""
    operations: list[Operation] = []
    for _ in range(draw(st.integers(0, 3))):
        is_loop = depth > 0 and draw(st.booleans())
        op = draw(loops(visible, depth) if is_loop else unregistered(visible, depth))
        operations.append(op)
        visible.extend(op.results)
    return Block((), tuple(operations))


@st.composite
def functions(draw: st.DrawFn, name: str) -> Operation:
    """A function with a few blocks in a row, each branching to the next."""
    types = draw(st.lists(TYPES, max_size=3))
    arguments = tuple(Value(ty, draw(NAMES)) for ty in types)
    visible = list(arguments)
    labels = [Label() for _ in range(draw(st.integers(1, 3)))]
    passed: tuple[Value, ...] = arguments
    parts: list[Block] = []
    for i, label in enumerate(labels):
        body = draw(blocks(visible, 2)).operations
        if i + 1 == len(labels):
            last = Operation("func.return")
            operands: tuple[Value, ...] = ()
        else:
            operands = tuple(visible[:1])
            last = Operation("cf.br", successors=(Successor(labels[i + 1], operands),))
        parts.append(Block(passed, (*body, last), label))
        passed = tuple(value.renewed() for value in operands)
        visible.extend(passed)
    attributes: dict[str, Attribute] = {
        "sym_name": StringAttr(name),
        "function_type": TypeAttr(FunctionType(tuple(types), ())),
    }
    return Operation("func.func", (), (), attributes, (Region(tuple(parts)),))


@st.composite
def modules(draw: st.DrawFn) -> Module:
    """A module of one or two functions."""
    names = draw(st.lists(TEXTS.filter(bool), min_size=1, max_size=2, unique=True))
    return Module.of([draw(functions(name)) for name in names])
