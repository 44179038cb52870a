"""Host code: state of its emission, external calls, and the single-launch shortcut.

External operations become ``rt.handle("tf.Print", (..), {..}, (..))`` if the caller's
function runs them, and ``rt.routine("vector.print", (..), ("f32",), {..}, ("f.mlir", 3,
5))`` if the runtime's library does. A host function that only allocates its results,
launches one kernel and returns is also described as an `OneLaunch`, so callers can skip
the host program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.emit.context import Emitter
from gpucodegen.emit.expressions import Text
from gpucodegen.emit.kernel import EmittedKernel
from gpucodegen.emit.spelling import HOST, AccessReports, dtype, is_index
from gpucodegen.errors import ExternalFunction, UnregisteredOperation
from gpucodegen.ir.affine import AffineExpr
from gpucodegen.ir.attributes import (
    Attribute,
    DictAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
)
from gpucodegen.ir.locations import file_location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, Type, UnrankedMemRefType, element_type
from gpucodegen.records import dataclass

Form = tuple[tuple[int, ...], str]
"""Extents and element type of an array."""
NUMBERS = frozenset({"f32", "f64", "i32", "i64"})
"""Types whose numbers are returned as NumPy's ``item`` gives them."""


TensorMap = tuple[int, tuple[int, ...], int, int]
"""The described argument, extents of the boxes, swizzle and promotion."""


class OneLaunch(NamedTuple):
    """A host function that only launches one kernel.

    ``order``: the values that the kernel takes, in its order: a number counts the
    function's arguments, then ``results``, the arrays that it makes and returns, then
    the report words, then ``maps``. ``single``: it returns one array, no tuple.
    ``words``: number of report words, and ``told``: their meaning. ``grid`` and
    ``block``: numbers of blocks and threads.  ``numbers``: the results, by position,
    that are returned as the number which they hold.
    """

    kernel: str
    order: tuple[int, ...]
    results: tuple[Form, ...] = ()
    single: bool = False
    words: int = 0
    told: tuple[object, ...] = ()
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    maps: tuple[TensorMap, ...] = ()
    numbers: tuple[int, ...] = ()


class Launched(NamedTuple):
    """A launch: grid and block, or None, and arguments are names or expressions."""

    kernel: str
    arguments: tuple[str, ...]
    status: str
    reports: AccessReports
    grid: str = "None"
    block: str = "None"


@dataclass(slots=True)
class PrintedHost:
    """The printed lines of a function's body by effect.

    ``made``: variables that hold new arrays. ``same``: variables that alias others.
    ``maps``: variables of tensor maps, with the array's variable and the texts of the
    other fields of a `TensorMap`. ``loaded``: variables of numbers, with the array of
    rank 0 that holds them; ``freed``: arrays. ``launches``, and ``returned`` values.
    """

    made: dict[str, Form] = field(default_factory=dict[str, Form])
    same: dict[str, str] = field(default_factory=dict[str, str])
    maps: dict[str, tuple[str, str, str, str]] = field(
        default_factory=dict[str, tuple[str, str, str, str]]
    )
    launches: list[Launched] = field(default_factory=list[Launched])
    returned: tuple[str, ...] = ()
    loaded: dict[str, str] = field(default_factory=dict[str, str])
    freed: list[str] = field(default_factory=list[str])

    def one_launch(self, arguments: Sequence[str], lines: int) -> OneLaunch | None:
        """The only launch, if the ``lines`` contain nothing else.

        All new arrays, or the numbers in them, must be returned, and nothing else.
        Extents must be numbers.

        >>> start = Launched("k", ("b", "a"), "status", AccessReports())
        >>> PrintedHost(launches=[start]).one_launch(["a", "b"], 1).order
        (1, 0)
        >>> PrintedHost(launches=[start]).one_launch(["a", "b"], 2)
        >>> made = PrintedHost({"c": ((4,), "f32")}, {"b": "c"}, {}, [start], ("c",))
        >>> made.one_launch(["a"], 4)[1:4]
        ((1, 0), (((4,), 'f32'),), True)
        >>> box = PrintedHost({"b": ((), "f64")}, {}, {}, [start], ("n",), {"n": "b"})
        >>> box.one_launch(["a"], 4).numbers
        (0,)
        """
        same = self.same | self.loaded
        returned = [same.get(name, name) for name in self.returned]
        numbers = [n for n, name in enumerate(self.returned) if name in self.loaded]
        boxes = sorted(returned[n] for n in numbers)
        if len(self.launches) != 1 or sorted(self.made) != sorted(returned):
            return None
        if sorted(self.loaded.values()) != boxes or not set(self.freed) <= set(boxes):
            return None
        if any(self.made[name][1] not in NUMBERS for name in boxes):
            return None
        kernel, texts, status, reports, *sizes = self.launches[0]
        extents = [_numbers(size) for size in sizes]
        known = len(self.made) + len(self.same) + 2 * bool(reports.words)
        known += len(self.maps) + len(self.loaded) + len(self.freed)
        names = [*arguments, *returned, *[status] * bool(reports.words), *self.maps]
        maps = [self._map(map_, arguments) for map_ in self.maps.values()]
        given = [self.same.get(text, text) for text in texts]
        if lines != known + 1 + bool(returned) or not set(given) <= set(names):
            return None
        grid, block = extents
        if grid is None or block is None or None in maps:
            return None
        return OneLaunch(
            kernel,
            tuple(map(names.index, given)),
            tuple(self.made[name] for name in returned),
            len(returned) == 1,
            reports.words,
            tuple(reports.told),
            grid,
            block,
            tuple(filter(None, maps)),
            tuple(numbers),
        )

    def _map(
        self, texts: tuple[str, str, str, str], arguments: Sequence[str]
    ) -> TensorMap | None:
        """A tensor map of an argument; None for another array or dynamic extents."""
        name, box, swizzle, promotion = texts
        array, extents = self.same.get(name, name), _numbers(box)
        if array not in arguments or extents is None:
            return None
        return arguments.index(array), extents, int(swizzle), int(promotion)


def _numbers(text: str) -> tuple[int, ...] | None:
    """The numbers in a tuple's text, empty for ``None``; None if it has other entries.

    >>> _numbers("(4, 1, 1)"), _numbers("None"), _numbers("(n, 1, 1)")
    ((4, 1, 1), (), None)
    """
    parts = [] if text == "None" else text.strip("()").split(", ")
    return tuple(map(int, parts)) if all(p.isdecimal() for p in parts) else None


Offered = Callable[[str], bool]
"""Whether the runtime has a routine for a name."""


def nothing_offered(_: str) -> bool:
    """The default: a runtime without routines."""
    return False


@dataclass(slots=True)
class HostEmitter(Emitter):
    """An emitter that also knows the functions that a host function can call."""

    kernels: Mapping[tuple[str, ...], EmittedKernel] = field(
        default_factory=dict[tuple[str, ...], EmittedKernel]
    )
    functions: Mapping[str, str] = field(default_factory=dict[str, str])
    constants: Mapping[str, str] = field(default_factory=dict[str, str])
    offered: Offered = nothing_offered
    launched: list[EmittedKernel] = field(default_factory=list[EmittedKernel])
    own_tags: set[Value] = field(default_factory=set[Value])
    printed: PrintedHost = field(default_factory=PrintedHost)


def tuple_text(texts: Sequence[Text]) -> Text:
    inner = ", ".join(text.code for text in texts)
    return Text(f"({inner},)" if len(texts) == 1 else f"({inner})")


def shape_text(e: Emitter, sizes: Sequence[AffineExpr]) -> Text:
    return tuple_text([e.affine(size) for size in sizes])


def handled(e: Emitter, op: Operation) -> None:
    """A call of the handler of an unregistered operation."""
    if op.regions or op.successors:
        raise e.refusal(op, "A handler takes operands and attributes, no regions")
    run_outside(e, op, op.name, op.attributes)


def handle(e: Emitter, op: Operation) -> None:
    """``gcg.handle``: an operation or a function without a body, called by name."""
    given = op.attributes.get("given")
    entries = dict(given.entries) if isinstance(given, DictAttr) else {}
    run_outside(e, op, op.string("operation"), entries)


def is_run_outside(e: HostEmitter, name: str) -> bool:
    """Whether a handler or a runtime routine exists for a name."""
    return e.handlers.get(name) is handled or e.offered(name)


def run_outside(
    e: Emitter, op: Operation, name: str, attributes: Mapping[str, Attribute]
) -> None:
    """A call of the caller's handler, else of the runtime's routine."""
    assert isinstance(e, HostEmitter)
    operands = tuple_text([e.text(value) for value in op.operands])
    given = ", ".join(
        f"{key!r}: {_python(value)!r}" for key, value in attributes.items()
    )
    if e.handlers.get(name) is handled:
        results = tuple_text([Text(repr(_form(v))) for v in op.results])
        text = f"rt.handle({name!r}, {operands}, {{{given}}}, {results})"
    elif e.offered(name):
        kinds = tuple_text([Text(repr(_kind(v))) for v in op.operands])
        found = file_location(op.location)
        place = (found.filename, found.line, found.column) if found else ()
        forms = tuple_text([Text(repr(_form(v))) for v in op.results])
        made = f", {forms}" if any(is_buffer(v.type) for v in op.results) else ""
        taken = f"{name!r}, {operands}, {kinds}, {{{given}}}, {place!r}{made}"
        text = f"rt.routine({taken})"
    elif lookup(name) is None and "." in name:
        raise UnregisteredOperation(op.location, operation=name)
    else:
        raise ExternalFunction(op.location, name=name)
    targets = "".join(f"{e.variable(result)}, " for result in op.results)
    e.writer.line(f"{targets.rstrip()} = {text}" if targets else text)
    for result in op.results:
        _take_in(e, op, result)


def _take_in(e: Emitter, op: Operation, result: Value) -> None:
    """Convert a returned number to its type."""
    if is_buffer(result.type):
        return
    function = "int" if is_index(result.type) else e.constructor(op, result)
    name = e.variable(result)
    e.writer.line(f"{name} = {function}({name})")


def _python(value: Attribute) -> object:
    """An attribute in the form that handlers get: a number, a string, or its text."""
    if isinstance(value, IntegerAttr | FloatAttr | StringAttr):
        return value.value
    return str(value)


def is_buffer(ty: Type) -> bool:
    return isinstance(ty, MemRefType | UnrankedMemRefType)


def _kind(value: Value) -> str:
    """The type of a number, or of a buffer's elements followed by ``[]``."""
    brackets = "[]" if is_buffer(value.type) else ""
    return f"{element_type(value.type)}{brackets}"


def _form(value: Value) -> str:
    """Element type of a result with a buffer's extents: ``f32[4,?]``."""
    name = dtype(element_type(value.type), value.location, HOST.name)
    match value.type:
        case MemRefType(shape):
            return f"{name}[{','.join('?' if n is None else str(n) for n in shape)}]"
        case UnrankedMemRefType():
            return f"{name}[*]"
        case _:
            return name
