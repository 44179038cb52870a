"""CUDA kernel launches: argument packing, loading, and recording into CUDA graphs.

`ArgumentLayout` packs the words of a launch, addresses and numbers, at their natural
alignment, with a row of the addresses of the parts; a complex number is two parts.
`CudaKernel` is a kernel loaded on one device.  `Recording` stands for a device and
records launches, copies and fills, to be replayed as one graph; a program whose next
step depends on a device result cannot be recorded.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import chain
from math import prod
from operator import mul
from typing import Any, NoReturn

import numpy as np

from gpucodegen import errors
from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.ir.number_formats import MAX_OFFSET, MOST_THREADS
from gpucodegen.records import dataclass
from gpucodegen.runtime.cuda.compilation import (
    Capability,
    compile_ptx,
    stated_capability,
)
from gpucodegen.runtime.devices.protocol import (
    Device,
    Extents,
    LaunchLimits,
    Shape,
    Stream,
    TensorForm,
    Triple,
)
from gpucodegen.runtime.host.buffers import Buffer
from gpucodegen.runtime.host.spec import KernelSpec, Param
from gpucodegen.tiling.machine.gpu.devices import BULK_COPIES, has_warpgroups


class Recording:
    """A device that records launches, copies and fills, and delegates all other calls.

    It keeps the arrays that it makes as long as its graph.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._operations: list[Callable[[], None]] = []
        self._arrays: list[Any] = []

    def recorded(self) -> Callable[[], None]:
        """All recorded operations as one operation of the device."""
        return partial(_replayed, self.device.graph(self._operations), self._arrays)

    @property
    def limits(self) -> LaunchLimits:
        return self.device.limits

    @property
    def compute_capability(self) -> tuple[int, int]:
        return self.device.compute_capability

    @property
    def architecture(self) -> str:
        return self.device.architecture

    def empty(self, shape: Shape, dtype: np.dtype[Any]) -> Any:
        self._arrays.append(self.device.empty(shape, dtype))
        return self._arrays[-1]

    def view(
        self, array: Any, address: int, shape: Shape, strides: Shape, dtype: Any
    ) -> Any:
        return self.device.view(array, address, shape, strides, dtype)

    def allocation(self, array: Any) -> tuple[int, int]:
        return self.device.allocation(array)

    def upload(self, array: Any, contents: np.ndarray[Any, Any]) -> NoReturn:
        """Refuses: contents of main memory differ in a later run."""
        del array, contents
        raise errors.NotRecordable(operation="a copy from main memory")

    def fetch(self, array: Any) -> NoReturn:
        """Refuses: the program would wait for a recorded operation."""
        del array
        raise errors.NotRecordable(operation="a copy to main memory")

    def copy(self, target: Any, source: Any) -> None:
        self._operations.append(partial(self.device.copy, target, source))

    def fill(self, array: Any, value: Any) -> None:
        self._operations.append(partial(self.device.fill, array, value))

    def tensor_map(self, form: TensorForm, encoded: Callable[..., Any]) -> Any:
        """A map made now: the arrays of a graph keep their addresses."""
        self._arrays.append(self.device.tensor_map(form, encoded))
        return self._arrays[-1]

    def load(self, name: str, code: bytes, *, cooperative: bool = False) -> Any:
        return self.device.load(name, code, cooperative=cooperative)

    def launch(self, *given: Any, stream: Stream | None = None) -> None:
        """Records a launch, for the stream in which the graph runs."""
        del stream
        self._operations.append(partial(self.device.launch, *given))

    def stream(self, given: object) -> Stream:
        return self.device.stream(given)

    def new_stream(self) -> Stream:
        return self.device.new_stream()

    def on(self, stream: Stream) -> AbstractContextManager[object]:
        """No effect on the recording: a graph runs in one stream."""
        return self.device.on(stream)

    def graph(self, operations: Sequence[Callable[[], None]]) -> NoReturn:
        """Refuses a graph within a graph."""
        del operations
        raise errors.NotRecordable(operation="a graph")

    def synchronize(self) -> NoReturn:
        """Refuses: the program would wait for a recorded operation."""
        raise errors.NotRecordable(operation="a synchronisation")


def _replayed(graph: Callable[[], None], arrays: Sequence[Any]) -> None:
    """Runs a graph, whose arrays live as long as this function is bound to them."""
    del arrays
    graph()


_FORMATS = {
    "boolean": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "float32": "f",
    "float64": "d",
    "complex64": "ff",
    "complex128": "dd",
}
"""Format of `struct` by the carrier of a number."""
_POINTER = struct.calcsize("@P")


@dataclass(frozen=True, slots=True)
class Packed:
    """The packed arguments of one launch, after a row of their addresses."""

    memory: ctypes.Array[ctypes.c_char]
    pointers: int
    offsets: tuple[int, ...]

    @property
    def contents(self) -> bytes:
        """The parts; each begins at its offset."""
        return self.memory.raw[_POINTER * len(self.offsets) :]


@dataclass(frozen=True, slots=True)
class ArgumentLayout:
    """How the arguments of one kernel are packed.

    ``form``: the row of addresses, then the arguments at their ``offsets``.
    ``index_bits``: the width of the kernel's indices. ``converted``: conversions of
    words to the types that `struct` takes.
    """

    kernel: str
    params: tuple[Param, ...]
    form: struct.Struct
    offsets: tuple[int, ...]
    memory: type[ctypes.Array[ctypes.c_char]]
    converted: tuple[tuple[int, Callable[[Any], Any]], ...]
    index_bits: int = 32

    @classmethod
    def of(cls, spec: KernelSpec) -> ArgumentLayout:
        """The layout of a kernel's parameters.

        >>> params = Param("a", "pointer", "f32"), Param("n", "scalar", "index")
        >>> ArgumentLayout.of(KernelSpec("k", "", (*params, params[0]))).offsets
        (0, 8, 16)
        """
        parts = "".join(map(_format, spec.params))
        sizes = (struct.calcsize(f"={part}") for part in parts)
        ends = (struct.calcsize(f"@{parts[: n + 1]}") for n in range(len(parts)))
        offsets = tuple(end - size for end, size in zip(ends, sizes, strict=True))
        form = struct.Struct("@" + "P" * len(parts) + parts)
        converted = ((n, _conversion(p)) for n, p in enumerate(spec.params))
        return cls(
            spec.name,
            spec.params,
            form,
            offsets,
            ctypes.c_char * form.size,
            tuple((n, convert) for n, convert in converted if convert is not None),
            spec.index_bits,
        )

    def pack(self, values: Sequence[Any]) -> Packed:
        """Packs buffers and numbers.

        Raises MisalignedAccess, and IndexTooLarge for extents and numbers that do not
        fit the indices of the kernel.
        """
        return self.pack_words(
            [
                value if param.kind != "pointer" else self._address(param, value)
                for param, value in zip(self.params, values, strict=True)
            ]
        )

    def pack_words(self, words: Sequence[Any]) -> Packed:
        """Packs addresses and numbers; only the numbers are checked.

        >>> params = Param("a", "pointer", "f32"), Param("n", "scalar", "i8")
        >>> packed = ArgumentLayout.of(KernelSpec("k", "", params)).pack_words((64, -1))
        >>> packed.contents.hex(" ", 8), packed.offsets
        ('40 00000000000000ff', (0, 8))
        """
        memory = self.memory()
        start = ctypes.addressof(memory)
        first = start + _POINTER * len(self.offsets)
        parts: Sequence[Any] = words
        if self.converted:
            parts = self._converted(words)
        places = [first + offset for offset in self.offsets]
        try:
            self.form.pack_into(memory, 0, *places, *parts)
        except (struct.error, OverflowError) as problem:
            raise self._too_large(words) from problem
        return Packed(memory, start, self.offsets)

    def _converted(self, words: Sequence[Any]) -> list[Any]:
        parts = list(words)
        for n, convert in self.converted:
            parts[n] = convert(words[n])
        if any(len(_format(param)) > 1 for param in self.params):
            parts = list(chain.from_iterable(map(_real_parts, parts)))
        return parts

    def _address(self, param: Param, value: Any) -> int:
        assert isinstance(value, Buffer)
        self.check_extent(value, param.name)
        start, size = value.byte_range[0], value.array.itemsize
        if start % size:
            raise errors.MisalignedAccess(
                align=size, buffer=param.name, index=f"address {start:#x}"
            )
        return value.pointer

    def check_extent(self, buffer: Buffer, name: str = "an argument") -> None:
        """Raises IndexTooLarge for a buffer that 32-bit indices do not reach."""
        if self.index_bits > 32:
            return
        start, end = buffer.byte_range
        elements = max((end - start) // buffer.array.itemsize, prod(buffer.shape))
        if elements > MAX_OFFSET:
            name = f"the extent in elements of {name}"
            raise errors.IndexTooLarge(kernel=self.kernel, name=name, value=elements)

    def _too_large(self, words: Sequence[Any]) -> errors.IndexTooLarge:
        pairs = zip(self.params, words, strict=True)
        name, value = next(
            (p.name, v)
            for p, v in pairs
            if p.dtype == "index" and p.kind == "scalar" and abs(int(v)) > MAX_OFFSET
        )
        return errors.IndexTooLarge(kernel=self.kernel, name=name, value=value)


def _format(param: Param) -> str:
    if param.kind == "pointer":
        return "Q"
    return "i" if param.dtype == "index" else _FORMATS[element(param.dtype).carrier]


def _conversion(param: Param) -> Callable[[Any], Any] | None:
    """The conversion of a number to a parameter's type; None where `struct` does it."""
    if param.kind == "pointer" or param.dtype in ("index", "f64"):
        return None
    carrier = element(param.dtype).carrier
    if carrier in _WRAPPED:
        return partial(_wrapped, _WRAPPED[carrier])
    return partial(_rounded, np.dtype(carrier.replace("boolean", "bool")).type)


_WRAPPED = {
    "int8": ctypes.c_int8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
}


def _wrapped(kind: Callable[[int], Any], value: Any) -> int:
    return kind(int(value)).value


def _rounded(kind: Callable[[Any], np.generic], value: Any) -> Any:
    return kind(value).item()


def _real_parts(part: Any) -> tuple[float, ...]:
    if isinstance(part, complex):
        return part.real, part.imag
    return (part,)


@dataclass(frozen=True, slots=True)
class CudaKernel:
    """A kernel on one device.

    ``static``: bytes of shared memory that it declares; ``dynamic``: bytes that each of
    its launches has to provide.
    """

    device: Device
    name: str
    layout: ArgumentLayout
    loaded: Any
    static: int = 0
    dynamic: int = 0

    @classmethod
    def on(cls, device: Device, spec: KernelSpec) -> CudaKernel:
        """Loads a kernel on a device; it is compiled, or taken from the disk cache."""
        cc: Capability = device.compute_capability
        if (
            spec.specific
            and device.architecture
            and not has_warpgroups(device.architecture)
        ):
            raise errors.LaunchFailed(
                kernel=spec.name,
                reason=f"it uses what sm_90a alone has, and {device} is"
                f" {device.architecture}",
                hint="Leave out arch= and plan=, or name this architecture",
            )
        if spec.bulk and cc < BULK_COPIES:
            raise errors.LaunchFailed(
                kernel=spec.name,
                reason=f"it uses what devices have from sm_90 on, and {device} is"
                f" sm_{cc[0]}{cc[1]}",
                hint="Leave out arch=, or name this architecture",
            )
        if not device.architecture:  # it runs PTX of any
            cc = stated_capability(spec)
        code = compile_ptx(spec, cc).encode()
        loaded = device.load(spec.name, code, cooperative=spec.cooperative)
        shared = spec.shared_bytes, 0
        static, dynamic = shared[::-1] if spec.dynamic_shared else shared
        layout = ArgumentLayout.of(spec)
        return cls(device, spec.name, layout, loaded, static, dynamic)

    def launch(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        shared: int = 0,
    ) -> None:
        """Starts the kernel; an empty grid or block launches nothing."""
        if not all((*grid, *block)):
            return
        extents = self._extents(grid, block, shared)
        packed, given = self.layout.pack(args), self.dynamic + shared
        self.device.launch(self.loaded, extents, packed, given)

    def repeated(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        values: Sequence[Any],
        otherwise: Callable[..., None],
    ) -> Callable[..., None]:
        """Such launches as a function of addresses and numbers.

        ``values``: buffers of one such call, whose extents are checked now.
        ``otherwise`` is called with the words if a number does not fit the indices.
        """
        if not all((*grid, *block)):
            return _nothing
        extents = self._checked(grid, block, values)
        launch, pack = self.device.launch, self.layout.pack_words
        loaded, shared = self.loaded, self.dynamic

        def start(*words: Any) -> None:
            try:
                packed = pack(words)
            except errors.IndexTooLarge:
                otherwise(*words)
                return
            launch(loaded, extents, packed, shared)

        return start

    def prepared(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        words: Sequence[Any],
        values: Sequence[Any],
    ) -> Callable[..., None]:
        """One launch with arguments packed now; it takes a keyword ``stream``."""
        if not all((*grid, *block)):
            return _nothing
        extents = self._checked(grid, block, values)
        packed = self.layout.pack_words(words)
        return partial(self.device.launch, self.loaded, extents, packed, self.dynamic)

    def _checked(
        self, grid: Sequence[int], block: Sequence[int], values: Sequence[Any]
    ) -> Extents:
        """Grid and block, after a check that the indices reach all elements."""
        for value in values:
            if isinstance(value, Buffer):
                self.layout.check_extent(value)
        return self._extents(grid, block, 0)

    def _extents(
        self, grid: Sequence[int], block: Sequence[int], shared: int
    ) -> Extents:
        """Grid and block, after a check against the device's limits."""
        blocks, threads = _triple(grid), _triple(block)
        problem = self.device.limits.problem(
            blocks, threads, self.static + self.dynamic + shared
        )
        most = max(map(mul, blocks, threads))
        if most > MOST_THREADS and self.layout.index_bits == 32:
            what = "the number of threads along a dimension"
            raise errors.IndexTooLarge(kernel=self.name, name=what, value=most)
        if problem:
            raise errors.LaunchFailed(
                kernel=self.name,
                reason=problem,
                hint="Use smaller arrays, blocks or tiles",
            )
        return blocks, threads


def _nothing(*_: object, **__: object) -> None:
    """An empty launch."""


def _triple(extents: Sequence[int]) -> Triple:
    x, y, z = extents
    return int(x), int(y), int(z)
