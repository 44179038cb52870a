"""State of emitting one function: names of values, atoms of indices, printed lines.

A handler per operation prints lines. Scalars and vectors are :class:`Text`; index
values are also available as affine expressions over *atoms* (index variables and
integer parameters), so that address arithmetic is simplified before it is printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from types import MappingProxyType

from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.emit.addressing import Descriptor
from gpucodegen.emit.copy_plan import BulkPlan, PlannedTransfer
from gpucodegen.emit.expressions import HELPERS, Text, affine_text, call, number
from gpucodegen.emit.source import Argument, Header, PythonNames, SourceWriter
from gpucodegen.emit.spelling import (
    COMPLEX,
    CONSTRUCTORS,
    AccessReports,
    Spelling,
    dtype,
    in_range,
    is_float,
    is_index,
)
from gpucodegen.emit.variables import (
    Offsets,
    Prefetches,
    VariableAllocator,
    is_inlined,
    uses_of,
)
from gpucodegen.errors import (
    CompileError,
    InternalError,
    UnregisteredOperation,
    UnsupportedOperation,
    UnsupportedType,
)
from gpucodegen.ir.affine import (
    AffineExpr,
    AffineMap,
    Const,
    Dim,
    divisor_of,
    leaves,
    substitute,
)
from gpucodegen.ir.attributes import DenseElementsAttr
from gpucodegen.ir.operation import Block, Label, Operation, Value
from gpucodegen.ir.types import Type, VectorType
from gpucodegen.records import dataclass

Handler = Callable[["Emitter", Operation], None]
Handlers = Mapping[str, Handler]


@dataclass(slots=True)
class Atoms:
    """Index variables and integer parameters of affine expressions.

    ``divisors`` holds a known divisor of each; it limits the width of vector accesses.
    ``extents`` are the positions of memref sizes.
    """

    names: list[str] = field(default_factory=list[str])
    divisors: list[int] = field(default_factory=list[int])
    used: set[int] = field(default_factory=set[int])
    extents: set[int] = field(default_factory=set[int])

    def is_nonnegative(self, expr: AffineExpr) -> bool:
        """Whether an expression is a natural number or an extent."""
        match expr:
            case Const(value):
                return value >= 0
            case Dim(position):
                return position in self.extents
            case _:
                return False

    def add(self, name: str, divisor: int = 1) -> Dim:
        """A new atom that prints as ``name``."""
        self.names.append(name)
        self.divisors.append(divisor)
        return Dim(len(self.names) - 1)


@dataclass(slots=True)
class Facts:
    """Facts about a kernel, known before its body is printed.

    ``tags`` maps the tag memrefs of transfers to the transferred dtype, ``in_flight``
    to the number of groups in flight. ``block`` is the block shape; ``dynamic_shared``:
    launches provide the shared memory, which is too large for static arrays;
    ``spaces``: "shared", "private" or "heap" for each pointer that the kernel creates;
    a later buffer may take the name, in another space;
    ``failing``: the reports behind which the kernel returns.
    ``alignments``: required alignment of buffers in shared memory; ``spans``: swizzle
    spans of the matrix descriptors' layouts. ``bulk``: the transfers that are bulk
    copies. ``wrapping``: loops whose variable may leave the range of its type at the
    last addition of the step. ``codes``: variables of fragments that hold bit patterns,
    not numbers.
    """

    tags: Mapping[Value, str] = field(default_factory=dict[Value, str])
    in_flight: Mapping[Value, int] = field(default_factory=dict[Value, int])
    block: tuple[int, int, int] | None = None
    dynamic_shared: bool = False
    spaces: dict[str, str] = field(default_factory=dict[str, str])
    failing: list[int] = field(default_factory=list[int])
    alignments: Mapping[Value, int] = field(default_factory=dict[Value, int])
    spans: dict[Value, int] = field(default_factory=dict[Value, int])
    bulk: BulkPlan = field(default_factory=BulkPlan)
    wrapping: frozenset[Operation] = frozenset()
    codes: dict[Value, Text] = field(default_factory=dict[Value, Text])


@dataclass(slots=True)
class Emitter:
    """Prints operations through a table of handlers."""

    spelling: Spelling
    handlers: Handlers
    names: PythonNames
    header: Header
    writer: SourceWriter = field(default_factory=SourceWriter)
    sharing: VariableAllocator = field(default_factory=VariableAllocator)
    uses: Mapping[Value, int] = field(default_factory=dict[Value, int])
    atoms: Atoms = field(default_factory=Atoms)
    literals: dict[Value, int | float] = field(default_factory=dict[Value, int | float])
    texts: dict[Value, Text] = field(default_factory=dict[Value, Text])
    indices: dict[Value, AffineExpr] = field(default_factory=dict[Value, AffineExpr])
    buffers: dict[Value, Descriptor] = field(default_factory=dict[Value, Descriptor])
    facts: Facts = field(default_factory=Facts)
    shared_bytes: int = 0
    transfers: list[PlannedTransfer] = field(default_factory=list[PlannedTransfer])
    reports: AccessReports = field(default_factory=AccessReports)
    yielded: Sequence[Value] = ()
    """Results of the multi-block region that is being printed."""
    branches: tuple[str, Mapping[Label, tuple[int, Block]]] = ("", MappingProxyType({}))
    in_parallel: bool = False
    has_parallel: bool = False
    is_structured: bool = True
    swept: AffineExpr | None = None
    """The variable of the enclosing long innermost CPU loop, if any."""
    offsets: Offsets = field(init=False)
    prefetches: Prefetches = field(init=False)
    _variables: dict[Value, str] = field(default_factory=dict[Value, str])

    def __post_init__(self) -> None:
        """Offsets and prefetches use the same writer."""
        self.offsets = Offsets(self.writer)
        self.prefetches = Prefetches(self.writer)

    # -- operations ------------------------------------------------------------------

    def begin(self, blocks: Sequence[Block]) -> None:
        """Decide which values of a body share variables.

        With branches between blocks every value has its own variable.
        """
        self.uses = uses_of(op for block in blocks for op in block.operations)
        self.is_structured = len(blocks) == 1
        if self.is_structured:
            self.sharing = VariableAllocator.of(blocks[0].operations)

    def emit(self, operations: Iterable[Operation]) -> None:
        """Print operations in sequence."""
        for op in operations:
            handler = self.handlers.get(op.name)
            if handler is None:
                raise self.refusal(op)
            self.writer.location = op.location
            handler(self, op)

    def is_inlined(self, op: Operation) -> bool:
        """Whether an operation is printed at its uses."""
        return self.is_structured and is_inlined(op, self.uses)

    def refusal(self, op: Operation, advice: str = "") -> CompileError:
        """The error for an operation that the target does not support."""
        if lookup(op.name) is None:
            return UnregisteredOperation(op.location, operation=op.name)
        return UnsupportedOperation(
            op.location, operation=op.name, target=self.spelling.name, advice=advice
        )

    def broken(self, op: Operation, problem: str) -> InternalError:
        """The error for input that preceding passes should have lowered."""
        return InternalError(op.location, stage="emit", problem=f"{op.name}: {problem}")

    # -- values ----------------------------------------------------------------------

    def text(self, value: Value) -> Text:
        """The expression of a scalar or vector, and on the host of a buffer."""
        if value in self.texts:
            return self.texts[value]
        if value not in self.indices:
            name, ty = self.spelling.name, value.type
            raise UnsupportedType(value.location, type=ty, target=name)
        return self.affine(self.indices[value])

    def typed(self, value: Value) -> Text:
        """Like :meth:`text`, but an index expression gets the target's index type."""
        text = self.text(value)
        if self.spelling.index_operand and is_index(value.type):
            return call(self.use(self.spelling.index_operand), text)
        if value in self.texts:
            return text
        if isinstance(self.indices[value], Const):
            return call(self.use(self.spelling.index or "int64"), text)
        return self.narrow(text)

    def variable(self, value: Value) -> str:
        """The variable of a value and of those that share it."""
        leader = self.sharing.leader(value)
        if leader not in self._variables:
            self._variables[leader] = self.names.fresh(self.sharing.hint(value), "v")
        name = self._variables[leader]
        self.rename(value, name)
        return name

    @contextmanager
    def block(self, head: str) -> Generator[None]:
        """A compound statement with a scope of names."""
        with self.names.scope(), self.writer.block(head), self.offsets.scope():
            yield

    @contextmanager
    def repeated(self) -> Generator[None]:
        """A copy of a repeated body, with its own variables."""
        known = set(self._variables)
        with self.names.scope():
            yield
        for leader in set(self._variables) - known:
            del self._variables[leader]

    def rename(self, value: Value, name: str, divisor: int = 1) -> None:
        """Bind a value to an existing variable."""
        self.texts[value] = Text(name)
        if is_index(value.type):
            self.indices[value] = self.atoms.add(name, divisor)

    def alias(self, value: Value, other: Value) -> None:
        """Make a value a second name of another."""
        self.texts[value] = self.text(other)
        if is_index(value.type):
            self.indices[value] = self.index(other)

    def define(self, value: Value, text: Text) -> None:
        """Assign an expression to the variable of a value."""
        name = self.variable(value)
        if name != text.code:
            self.writer.line(f"{name} = {text}")

    def define_index(self, value: Value, expr: AffineExpr) -> None:
        """Assign an index expression and record its divisor."""
        divisor = self.divisor(expr)
        self.define(value, self.narrow(self.affine(expr)))
        self.rename(value, self.text(value).code, divisor)

    def assign(self, targets: Sequence[Value], sources: Sequence[Text]) -> None:
        """Assign several variables simultaneously."""
        pairs = [(self.variable(t), s) for t, s in zip(targets, sources, strict=True)]
        pairs = [(name, text) for name, text in pairs if name != text.code]
        written = {name for name, _ in pairs}
        if any(text.code in written for _, text in pairs[1:]):
            left = ", ".join(name for name, _ in pairs)
            right = ", ".join(text.code for _, text in pairs)
            self.writer.line(f"{left} = {right}")
            return
        for name, text in pairs:
            self.writer.line(f"{name} = {text}")

    # -- index expressions -----------------------------------------------------------

    def index(self, value: Value) -> AffineExpr:
        return self.indices[value]

    def applied(self, map_: AffineMap, operands: Sequence[Value]) -> list[AffineExpr]:
        inputs = [self.index(value) for value in operands]
        dims, syms = inputs[: map_.num_dims], inputs[map_.num_dims :]
        return [substitute(expr, dims, syms) for expr in map_.results]

    def affine(self, expr: AffineExpr) -> Text:
        """Python text of an expression over atoms."""
        dims = (leaf for leaf in leaves(expr) if isinstance(leaf, Dim))
        self.atoms.used.update(dim.position for dim in dims)
        text = affine_text(expr, self.atoms.names, self.spelling.division)
        for name in HELPERS:
            if f"{name}(" in text.code:
                self.use(name)
        return text

    def offset(self, expr: AffineExpr) -> Text:
        """The text of an offset for the next line; recurring sums get variables."""
        shared = self.spelling.shares_offsets and self.is_structured
        known = self.offsets.text(expr, self.affine) if shared else None
        return known or self.narrow(self.affine(expr))

    def narrow(self, text: Text) -> Text:
        """An index expression cast to the target's index type."""
        plain = text.code.isidentifier() or text.code.isdecimal()
        if plain or not self.spelling.index:
            return text
        return call(self.use(self.spelling.index), text)

    def divisor(self, expr: AffineExpr) -> int:
        """A known divisor of the expression (0 for the constant zero)."""
        return divisor_of(expr, self.atoms.divisors)

    # -- intrinsics ------------------------------------------------------------------

    def use(self, name: str) -> str:
        """The name of an imported intrinsic."""
        ready = self.spelling.ready
        if ready and name not in ready:
            return self.header.made(name, "operation", name)
        return self.header.plain(name)

    def make(self, hint: str, factory: str, *arguments: Argument) -> str:
        """The name of an intrinsic that ``factory`` makes for the arguments."""
        return self.header.made(hint, factory, *arguments)

    def dtype(self, op: Operation, value: Value) -> str:
        """The dtype name of a scalar value."""
        return dtype(value.type, op.location, self.spelling.name)

    def constructor(self, op: Operation, value: Value) -> str:
        """The intrinsic that converts a number to the value's type."""
        kind = self.dtype(op, value)
        kind = self.spelling.index_dtype if kind == "index" else kind
        return self.use(CONSTRUCTORS[kind])

    def constant(self, value: float, kind: str) -> Text:
        """A typed scalar constant."""
        if kind == "index":
            return number(int(value))
        if kind == "i1":
            return Text(str(bool(value)))
        value = in_range(value, kind)
        finite = math.isfinite(value)
        text = number(value) if finite else Text(self.header.special(value))
        return call(self.use(CONSTRUCTORS[kind]), text)


ZEROS = frozenset({"0", "0.0"})
"""Texts of zero; -0.0 is equal but different."""


def shape_of(ty: Type) -> tuple[int, ...]:
    """Shape of a vector type; empty for a scalar."""
    return ty.shape if isinstance(ty, VectorType) else ()


def vector_type(e: Emitter, op: Operation, value: Value) -> VectorType:
    if not isinstance(value.type, VectorType):
        raise e.broken(op, "a vector was expected")
    return value.type


def vector_dtype(e: Emitter, op: Operation, ty: VectorType) -> str:
    """The dtype of a vector's elements; complex numbers have none."""
    kind = dtype(ty.element, op.location, e.spelling.name)
    if kind.startswith(COMPLEX) or any(ty.scalable) or len(ty.shape) not in {1, 2}:
        raise UnsupportedType(op.location, type=ty, target=e.spelling.name)
    return e.spelling.index_dtype if kind == "index" else kind


def suffix(shape: tuple[int, ...], kind: str) -> str:
    """A name suffix such as ``12x32xf32``."""
    return "x".join([*map(str, shape), kind])


def numbers_in(value: DenseElementsAttr) -> tuple[complex, ...]:
    """The elements of a dense attribute that are numbers."""
    return tuple(v for v in value.values if isinstance(v, int | float | complex))


def vector_constant(e: Emitter, op: Operation, value: DenseElementsAttr) -> Text:
    """A call of the intrinsic that makes a dense constant."""
    ty = value.type
    assert isinstance(ty, VectorType)
    kind = vector_dtype(e, op, ty)
    make = float if is_float(kind) else int
    given = (v for v in value.values if isinstance(v, int | float))
    numbers = tuple(in_range(make(v), kind) for v in given)
    shape = suffix(ty.shape, kind)
    content = numbers[0] if value.is_splat else numbers
    hint = f"{'zeros' if repr(content) in ZEROS else 'constant'}_{shape}"
    return call(e.make(hint, "constant", ty.shape, kind, content))
