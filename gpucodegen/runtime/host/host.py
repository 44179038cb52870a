"""The runtime API of generated host programs (``rt``): memory, launches, transfers.

One `HostApi` serves one compiled program.  Its memory is that of its engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from math import prod
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.intrinsics.framework.elements import TAG_WORDS
from gpucodegen.ir.locations import UNKNOWN, FileLoc, Location
from gpucodegen.library.prints import RoutineCall
from gpucodegen.library.routines import routine
from gpucodegen.records import dataclass
from gpucodegen.runtime.cpu.arithmetic import carried, stored
from gpucodegen.runtime.host.buffers import Buffer
from gpucodegen.runtime.host.engines import Engine, Maker, storage
from gpucodegen.runtime.host.spec import KernelSpec
from gpucodegen.runtime.host.views import HostTransfers, Shape, Views, check_shape

Told = tuple[tuple[str, int, int] | tuple[()], str, str, int, int, tuple[str, ...]]
"""Place, verb, buffer, dimension, its extent or -1, and names of values of a report."""
Index = tuple[int, ...]


@dataclass(slots=True)
class _Kept:
    """The program's data in one memory that outlives a call: constants and the like."""

    transfers: HostTransfers
    launchers: dict[str, Callable[..., None]] = field(default_factory=dict[str, Any])
    constants: dict[str, Buffer] = field(default_factory=dict[str, Buffer])
    tags: dict[int, Buffer] = field(default_factory=dict[int, Buffer])


class HostApi(Views):
    """The runtime of one program.

    ``constants`` maps keys to arrays, or to records with shape, dtype and values;
    ``handlers`` maps operations to the functions that run them.

    >>> from gpucodegen.runtime.cpu.engine import NumpyEngine, compiled
    >>> rt = HostApi(NumpyEngine(compiled))
    >>> a = rt.alloc((2, 3), "f32")
    >>> rt.store(a, (1, 2), 5.0); float(rt.load(a, (1, 2))), rt.dim(a, 1)
    (5.0, 3)
    """

    def __init__(
        self,
        engine: Engine,
        kernels: Iterable[KernelSpec] = (),
        constants: Mapping[str, Any] | None = None,
        handlers: Mapping[str, Callable[..., Any]] | None = None,
        kept: _Kept | None = None,
    ) -> None:
        self._handlers = dict(handlers or {})
        self._engine = engine
        self._specs = {spec.name: spec for spec in kernels}
        self._constants = dict(constants or {})
        self._kept = kept or _Kept(HostTransfers(engine))
        self._keepers = {engine.memory: self._kept}
        self._calls: dict[Engine, HostApi] = {}

    def for_call(self, values: Sequence[Any]) -> HostApi:
        """The runtime for a call: its memory is that of the arguments' device."""
        engine = self._engine.for_call(values)
        if engine is self._engine:
            return self
        if engine not in self._calls:
            fresh = _Kept(HostTransfers(engine))
            kept = self._keepers.setdefault(engine.memory, fresh)
            self._calls[engine] = HostApi(
                engine, self._specs.values(), self._constants, self._handlers, kept
            )
        return self._calls[engine]

    @property
    def device(self) -> Any:
        """The device of the kernels (`gpucodegen.runtime.devices.protocol`).

        None for the processor that this process runs on.
        """
        return self._engine.device

    def recording(self) -> tuple[HostApi, Callable[[], Callable[[], None]]]:
        """A runtime that records operations, and a function that makes the graph.

        Raises NotRecordable where the program waits for a device result.
        """
        engine, finish = self._engine.recording()
        kernels = self._specs.values()
        return HostApi(engine, kernels, self._constants, self._handlers), finish

    # Memory.

    def alloc(self, shape: Shape, dtype: str) -> Buffer:
        """Uninitialised memory; tags are cleared."""
        if shape and min(shape) < 0:
            raise errors.NegativeExtent(shape=shape)
        if dtype == "tag":
            buffer = self._engine.alloc((*shape, TAG_WORDS), dtype)
            self._engine.fill(buffer, 0)
            return self._without_words(buffer, shape)
        return self._engine.alloc(shape, dtype)

    def maker(self, shape: Shape, dtype: str) -> Maker:
        """A function that allocates uninitialised results and returns their addresses.

        >>> from gpucodegen.runtime.cpu.engine import NumpyEngine, compiled
        >>> runtime = HostApi(NumpyEngine(compiled))
        >>> place, array = runtime.maker((2, 3), "f32")()
        >>> place == array.ctypes.data, array.shape
        (True, (2, 3))
        """
        return self._engine.maker(shape, dtype)

    @staticmethod
    def _without_words(buffer: Buffer, shape: Shape) -> Buffer:
        """Tags as the program sees them: one element each."""
        return Buffer(
            buffer.array,
            buffer.dtype,
            shape,
            tuple(s // TAG_WORDS for s in buffer.strides[:-1]),
            buffer.pointer,
            buffer.device,
        )

    def dealloc(self, buffer: Buffer) -> None:
        """Frees memory; memory that this program did not allocate stays."""
        self._kept.tags.pop(buffer.pointer, None)
        self._engine.dealloc(buffer)

    def load(self, buffer: Buffer, index: Index) -> Any:
        """One element, as kernels represent it."""
        _check_index(buffer, index)
        return carried(self._engine.read(buffer, index), buffer.dtype)

    def store(self, buffer: Buffer, index: Index, value: Any) -> None:
        _check_index(buffer, index)
        self._engine.write(buffer, index, stored(value, buffer.dtype))

    def fill(self, buffer: Buffer, value: Any) -> None:
        self._engine.fill(buffer, value)

    def copy(self, source: Buffer, target: Buffer) -> None:
        """``memref.copy``: shapes agree."""
        check_shape("memref.copy", target.shape, source)
        self._engine.copy(source, target)

    def constant(self, key: str) -> Buffer:
        """A ``memref.global``."""
        if key not in self._kept.constants:
            self._kept.constants[key] = self._engine.constant(self._constants[key])
        return self._kept.constants[key]

    def tags(self, buffer: Buffer) -> Buffer:
        """Descriptors for a tag memref of the program's caller."""
        if buffer.dtype == "tag":
            return buffer
        if buffer.pointer not in self._kept.tags:
            self._kept.tags[buffer.pointer] = self.alloc(buffer.shape, "tag")
        return self._kept.tags[buffer.pointer]

    def tensor_map(
        self, buffer: Buffer, box: Index, swizzle: int, promotion: int
    ) -> Buffer:
        """``nvgpu.tma.create.descriptor``: the tensor map of boxes of a buffer."""
        return self._engine.tensor_map(buffer, box, swizzle, promotion)

    def map_of(
        self, buffer: Buffer, box: Index, swizzle: int, promotion: int
    ) -> Callable[[int], Any]:
        """The function from the address of such a buffer to the array of its map."""
        return self._engine.map_of(buffer, box, swizzle, promotion)

    # Kernels and transfers.

    def kernel(
        self, name: str, grid: Shape, block: Shape, values: Sequence[Any]
    ) -> Callable[..., None]:
        """A kernel as a function of addresses and numbers.

        ``values``: buffers and numbers of a call of the host function.
        """
        return self._engine.kernel(self._specs[name], grid, block, values)

    def prepared(
        self,
        name: str,
        grid: Shape,
        block: Shape,
        words: Sequence[Any],
        values: Sequence[Any],
    ) -> Callable[..., None]:
        """A launch of a kernel with these addresses and numbers.

        ``values``: buffers and numbers of the call of the host function.
        """
        spec = self._specs[name]
        return self._engine.prepared(spec, grid, block, words, values)

    def address(self, name: str) -> int:
        """The address of a kernel for calls from C; 0 if there is none."""
        return self._engine.address(self._specs[name])

    def launch(
        self,
        name: str,
        grid: Shape | None,
        block: Shape | None,
        args: Sequence[Any],
        shared: int = 0,
    ) -> None:
        """Runs a kernel; it is compiled on first use.

        ``shared``: bytes of dynamic shared memory of a block.
        """
        launcher = self._kept.launchers.get(name)
        if launcher is None:
            launcher = self._engine.launcher(self._specs[name])
            self._kept.launchers[name] = launcher
        if shared:
            launcher(grid, block, args, shared)
        else:
            launcher(grid, block, args)

    def status(self, words: int) -> Buffer:
        """Zeroed words for a kernel's error reports."""
        buffer = self._engine.alloc((words,), "i64")
        self._engine.fill(buffer, 0)
        return buffer

    def check(self, status: Buffer, reports: Sequence[Told]) -> None:
        """Raises the error of the first report in a status buffer."""
        self.look(self._engine.contents(status), reports)
        self._engine.dealloc(status)

    def look(self, status: np.ndarray, reports: Sequence[Told]) -> None:
        """As `check`, on the words alone."""
        words = status.tolist()
        if not any(words):
            return
        for told in reports:
            noted, *values = words[: 1 + len(told[-1])]
            if noted:
                self.refuse(told, values)
            del words[: 1 + len(told[-1])]

    def refuse(self, told: Told, values: Sequence[int]) -> None:
        """Raises an error: an access would leave its buffer, or shapes do not match."""
        place, verb, buffer, dimension, extent, names = told
        pairs = zip(names, map(int, values), strict=True)
        given = ", ".join(f"{name} = {value}" for name, value in pairs)
        where = FileLoc(*place) if place else UNKNOWN
        if verb == "step":
            raise errors.InvalidLoopStep(where, step=int(values[0]))
        if verb == "fit":
            raise errors.ShapesDisagree(where, problem=given)
        if verb == "assert":
            raise errors.AssertionFailed(where, message=buffer)
        if verb == "allocate":
            raise _failed_allocation(where, [*map(int, values)], dimension)
        size = "" if extent < 0 else f" (extent {extent})"
        raise errors.AccessOutOfBounds(
            where,
            verb=verb,
            buffer=f"{buffer}{size}",
            dimension=dimension,
            given=given and f", where {given}",
        )

    def handle(
        self,
        operation: str,
        operands: tuple[Any, ...],
        attributes: Mapping[str, Any],
        results: tuple[str, ...],
    ) -> tuple[Any, ...]:
        """Runs an operation by the caller's function.

        It gets arrays and numbers, and the attributes by keyword; ``results`` holds the
        element type of each result, and the extents of a buffer: ``"f32[4,?]"``.
        """
        shown = self._engine.shown
        given = [shown(v) if isinstance(v, Buffer) else scalar(v) for v in operands]
        answer = self._handlers[operation](*given, **attributes)
        for operand, array in zip(operands, given, strict=True):
            if isinstance(operand, Buffer):
                self._engine.taken_back(operand, array)
        answers = answer if isinstance(answer, tuple) else (answer,)
        found = answers if results else ()
        if len(found) != len(results):
            raise errors.HandlerResult(
                operation=operation, expected=len(results), actual=len(found)
            )
        forms = zip(found, results, strict=True)
        return tuple(self._taken_in(operation, *pair) for pair in forms)

    def routine(
        self,
        name: str,
        operands: tuple[Any, ...],
        kinds: tuple[str, ...],
        attributes: Mapping[str, Any],
        place: tuple[str, int, int] | tuple[()],
        results: tuple[str, ...] = (),
    ) -> tuple[Any, ...]:
        """Runs a library operation, or a function without a body.

        ``results``: their types, as for `handle`, if one of them is a buffer.
        """
        run = routine(name)
        assert run is not None
        contents = self._engine.contents
        made = run(RoutineCall(name, operands, kinds, attributes, place, contents))
        forms = zip(made, results, strict=False)
        return tuple(self._taken_in(name, *pair) for pair in forms) if results else made

    def _taken_in(self, operation: str, value: Any, form: str) -> Any:
        """A handler's result in the program's representation."""
        dtype, bracket, extents = form.partition("[")
        if not bracket:
            return value
        array = value if hasattr(value, "shape") else np.asarray(value)
        shape = tuple(map(int, array.shape))
        if not _fits(shape, extents.rstrip("]")):
            raise errors.HandlerShape(
                operation=operation, expected=f"[{extents}", actual=list(shape)
            )
        buffer = self.alloc(shape, dtype)
        self._engine.assign(buffer, array)
        return buffer

    def dma_start(
        self,
        source: Buffer,
        source_index: Index,
        target: Buffer,
        target_index: Index,
        count: int,
        tag: Buffer,
        tag_index: Index,
        stride: int | None,
        run: int | None,
        *,
        strided_source: bool = True,
    ) -> None:
        """``memref.dma_start`` between host-visible buffers."""
        self._kept.transfers.start(
            (source, source_index),
            (target, target_index),
            count,
            (tag, tag_index),
            stride,
            run,
            strided_source=strided_source,
        )

    def dma_wait(self, tag: Buffer, tag_index: Index, count: int) -> None:
        """``memref.dma_wait``."""
        self._kept.transfers.wait((tag, tag_index), count)

    # The way in and out of a call.

    def transfers(
        self,
        values: Sequence[Any],
        written: Sequence[bool],
        overwritten: Sequence[bool] = (),
    ) -> tuple[Callable[[], Sequence[Any]], Callable[[], None]]:
        """(arguments where kernels can reach them, functions that copy results back).

        ``overwritten`` arguments are not copied in.
        """
        return self._engine.transfers(values, written, overwritten)

    def copied(self, value: Any) -> Any:
        """A copy of a buffer; numbers are returned as they are."""
        if not isinstance(value, Buffer):
            return value
        made = self._engine.alloc(value.shape, value.dtype)
        self._engine.copy(value, made)
        return made

    def result(self, value: Any, unsigned: str = "") -> Any:
        """Converts a result to the caller's type: an array, or a Python number.

        ``unsigned``: its element type, where that is ``ui8``, ``ui16`` and so on.
        """
        if isinstance(value, Buffer):
            array = self._engine.array(value)
            return array.view(storage(unsigned)) if unsigned else array
        number = scalar(value)
        return number & ((1 << int(unsigned[2:])) - 1) if unsigned else number


def _failed_allocation(
    where: Location, shape: Sequence[int], element: int
) -> errors.LaunchError:
    """The error of a buffer of a shape, whose elements have ``element`` bytes."""
    if min(shape) < 0:
        return errors.NegativeExtent(where, shape=tuple(shape))
    return errors.OutOfMemory(where, size=prod(shape) * element)


def _fits(shape: Shape, extents: str) -> bool:
    """Whether a shape matches an extents text.

    >>> _fits((4, 3), "4,?"), _fits((4, 3), "4"), _fits((), ""), _fits((2,), "*")
    (True, False, True, True)
    """
    if extents == "*":
        return True
    wanted = extents.split(",") if extents else []
    pairs = zip(wanted, shape, strict=False)
    return len(wanted) == len(shape) and all(w in ("?", str(n)) for w, n in pairs)


def scalar(value: Any) -> Any:
    """A number as a Python number."""
    return value.item() if isinstance(value, np.generic) else value


def _check_index(buffer: Buffer, index: Index) -> None:
    inside = len(index) == len(buffer.shape) and all(
        0 <= i < n for i, n in zip(index, buffer.shape, strict=False)
    )
    if not inside:
        raise errors.IndexOutOfBounds(
            index=index, buffer=f"a buffer of {buffer.dtype}", shape=buffer.shape
        )
