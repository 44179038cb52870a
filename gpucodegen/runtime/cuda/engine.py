"""The engine of the target ``cuda``: memory, kernels and tensor maps of a device.

NumPy arguments are copied to the device and back.  Their copies keep extents and
strides, since a kernel may be specialised for these, and preserve overlaps. `form_of`
makes from a buffer and a copy's box the `TensorForm` of a tensor map, with the checks
of the driver; `encoded` has the driver write its 128 bytes (CUDA Driver API,
"cuTensorMapEncodeTiled").
"""

from __future__ import annotations

import ctypes
import ctypes.util
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from operator import itemgetter
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.intrinsics.framework.elements import row_major
from gpucodegen.records import dataclass
from gpucodegen.runtime.cuda.kernel_launch import CudaKernel, Recording
from gpucodegen.runtime.devices import choice
from gpucodegen.runtime.devices.protocol import MAP_WORDS, Device, TensorForm
from gpucodegen.runtime.host.buffers import CPU, Buffer
from gpucodegen.runtime.host.engines import (
    Flags,
    Launcher,
    Maker,
    Shape,
    Values,
    Ways,
    contents_of,
    storage,
)
from gpucodegen.runtime.host.spec import KernelSpec
from gpucodegen.tiling.machine.gpu.devices import WIDEST

_CODES = {
    "ui8": 0,
    "i8": 0,
    "si8": 0,
    "f8E4M3FN": 0,
    "f8E5M2": 0,
    "i16": 1,
    "i32": 3,
    "i64": 5,
    "f16": 6,
    "f32": 7,
    "f64": 8,
    "bf16": 9,
}
"""CU_TENSOR_MAP_DATA_TYPE; bytes of any meaning are UINT8."""
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
_PROMOTIONS = {0: 0, 64: 1, 128: 2, 256: 3}
_MOST_BOX, _MOST_RANK, _PIECE = 256, 5, 16


def form_of(
    buffer: Buffer, box: Sequence[int], swizzle: int, promotion: int
) -> TensorForm:
    """The form of a box of a buffer, last dimension first; refused as by a driver."""
    size = buffer.array.itemsize
    extents = tuple(buffer.shape[::-1])
    strides = tuple(step * size for step in buffer.strides[-2::-1])
    form = TensorForm(
        buffer.pointer,
        buffer.dtype,
        size,
        extents,
        strides if len(extents) > 1 else (),
        tuple(map(int, box[::-1])),
        swizzle,
        promotion,
    )
    inner = buffer.strides[-1] if buffer.strides else 0
    problem = _problem(form, inner)
    if problem:
        raise errors.WrongTensorMap(
            shape=list(buffer.shape), box=list(box), problem=problem
        )
    return form


def at(form: TensorForm, address: int) -> TensorForm:
    """The form of a tensor at another address; refused where copies cannot reach it."""
    if address % _PIECE:
        raise errors.WrongTensorMap(
            shape=list(form.extents[::-1]),
            box=list(form.box[::-1]),
            problem=f"its address {address:#x} is no multiple of {_PIECE}",
        )
    return form._replace(address=address)


def _problem(form: TensorForm, inner: int) -> str:
    """The driver's objection to a form, or an empty text."""
    row = form.box[0] * form.size if form.box else 0
    rules = {
        f"{form.element} is no element that copies know": form.element not in _CODES,
        f"the box has {len(form.box)} extents": len(form.box) != len(form.extents),
        f"tensors have 1 to {_MOST_RANK} dimensions": not (
            1 <= len(form.extents) <= _MOST_RANK
        ),
        "the last stride is not 1": inner != 1,
        f"its address {form.address:#x} is no multiple of {_PIECE}": (
            form.address % _PIECE != 0
        ),
        f"rows are not multiples of {_PIECE} bytes apart": any(
            stride % _PIECE for stride in form.strides
        ),
        f"a row of the box has {row} bytes, no multiple of {_PIECE}": row % _PIECE != 0,
        f"a row of the box has {row} bytes, more than the swizzle's {form.swizzle}": (
            0 < form.swizzle < row
        ),
        f"the box has an extent outside of 1 to {_MOST_BOX}": not all(
            1 <= n <= _MOST_BOX for n in form.box
        ),
    }
    return next((text for text, broken in rules.items() if broken), "")


def encoded(form: TensorForm) -> np.ndarray[Any, Any]:
    """The words of a map, as the driver of this machine writes them."""
    rank = len(form.extents)
    room = (ctypes.c_uint64 * (MAP_WORDS + 8))()
    start = ctypes.addressof(room)
    start += -start % 64
    status = _driver().cuTensorMapEncodeTiled(
        ctypes.c_void_p(start),
        ctypes.c_int(_CODES[form.element]),
        ctypes.c_uint32(rank),
        ctypes.c_void_p(form.address),
        (ctypes.c_uint64 * rank)(*form.extents),
        (ctypes.c_uint64 * max(1, rank - 1))(*form.strides),
        (ctypes.c_uint32 * rank)(*form.box),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        ctypes.c_int(0),
        ctypes.c_int(_SWIZZLES[form.swizzle]),
        ctypes.c_int(_PROMOTIONS[form.promotion]),
        ctypes.c_int(0),
    )
    if status:
        raise errors.WrongTensorMap(
            shape=list(form.extents[::-1]),
            box=list(form.box[::-1]),
            problem=f"the driver refuses it: error {status}",
        )
    words = (ctypes.c_int64 * MAP_WORDS).from_address(start)
    return np.array(words, np.int64)


def _driver() -> Any:
    return ctypes.CDLL(ctypes.util.find_library("cuda") or "libcuda.so.1")


Contents = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class CudaEngine:
    """Memory and kernels of one device.

    ``required``: its kind, if the target fixes that.  ``chosen``: that device, or None
    for the current one.  ``wants_numpy``: the caller passed NumPy arrays, and gets
    NumPy results.  ``recorder``: records the operations in place of the device.
    ``kernels``: the loaded ones.
    """

    required: str = ""
    chosen: Device | None = None
    wants_numpy: bool = False
    recorder: Recording | None = None
    kernels: dict[tuple[Device, KernelSpec], CudaKernel] = field(
        default_factory=dict[tuple[Device, KernelSpec], CudaKernel], compare=False
    )

    @property
    def device(self) -> Device:
        """The device of the call."""
        return self.recorder or self.chosen or choice.current(self.required)

    @property
    def memory(self) -> object:
        return self.chosen, self.recorder

    def for_call(self, values: Sequence[Any]) -> CudaEngine:
        """The engine of a call: its device is that of the arguments."""
        arrays = {n: v for n, v in enumerate(values) if isinstance(v, Buffer)}
        there = {n: v.array for n, v in arrays.items() if v.device != CPU}
        device = choice.serving(there, self.required)
        wants_numpy = len(there) < len(arrays) or not arrays
        return replace(self, chosen=device, wants_numpy=wants_numpy)

    def recording(self) -> tuple[CudaEngine, Callable[[], Callable[[], None]]]:
        """A recording engine of this device, and a function that makes the graph."""
        recorder = Recording(self.device)
        made = replace(self, recorder=recorder, kernels={}, wants_numpy=False)
        return made, recorder.recorded

    def alloc(self, shape: Shape, dtype: str) -> Buffer:
        """Memory that is freed when its last array dies."""
        return Buffer.of(self.device.empty(shape, storage(dtype)), dtype)

    def dealloc(self, buffer: Buffer) -> None:
        """Memory goes back when the last array dies."""

    def read(self, buffer: Buffer, index: Shape) -> Any:
        """One element; waits for the kernels before."""
        return self.device.fetch(self._element(buffer, index).array)()[()]

    def write(self, buffer: Buffer, index: Shape, value: Any) -> None:
        number = np.asarray(value)[()]
        self.device.fill(self._element(buffer, index).array, number)

    def fill(self, buffer: Buffer, value: Any) -> None:
        self.device.fill(buffer.array, value)

    def copy(self, source: Buffer, target: Buffer) -> None:
        self.device.copy(target.array, source.array)

    def contents(self, buffer: Buffer) -> Contents:
        """A copy in main memory."""
        return self.device.fetch(buffer.array)()

    def assign(self, buffer: Buffer, contents: Any) -> None:
        """Copies from main memory or the device, with any strides on both sides."""
        device, there = self.device, buffer.array
        if choice.is_device_array(contents):
            device.copy(there, contents)
            return
        order = np.argsort([-abs(stride) for stride in there.strides], kind="stable")
        shape = tuple(there.shape[axis] for axis in order)
        row = contiguous(contents.astype(there.dtype, copy=False).transpose(order))
        strides = tuple(there.strides[axis] for axis in order)
        if strides == row.strides or 0 in shape:
            place = there.data.ptr
            in_order = device.view(there, place, shape, row.strides, there.dtype)
            device.upload(in_order, row)
            return
        straight = device.empty(contents.shape, there.dtype)
        device.upload(straight, contiguous(contents.astype(there.dtype, copy=False)))
        device.copy(there, straight)

    def _element(self, buffer: Buffer, index: Shape) -> Buffer:
        steps = zip(index, buffer.strides, strict=True)
        return self.view(buffer, sum(i * step for i, step in steps), (), ())

    def view(self, buffer: Buffer, offset: int, shape: Shape, strides: Shape) -> Buffer:
        kind = buffer.array.dtype, buffer.dtype
        return self._shown(buffer, offset * kind[0].itemsize, kind, shape, strides)

    def byte_view(self, buffer: Buffer, shift: int, dtype: str, shape: Shape) -> Buffer:
        """Row-major elements of another type; must stay inside the allocation."""
        kind = storage(dtype), dtype
        return self._shown(buffer, shift, kind, shape, row_major(shape))

    def _shown(
        self,
        buffer: Buffer,
        shift: int,
        kind: tuple[np.dtype, str],
        shape: Shape,
        strides: Shape,
    ) -> Buffer:
        """Elements of another type in a buffer's memory, at a byte offset."""
        array, device = buffer.array, self.device
        size = kind[0].itemsize
        in_bytes = tuple(stride * size for stride in strides)
        made = device.view(array, buffer.pointer + shift, shape, in_bytes, kind[0])
        view = Buffer.of(made, kind[1])
        start, end = view.byte_range
        first, after = device.allocation(array)
        if start < end and not first <= start <= end <= after:
            offset = shift // array.itemsize
            raise errors.IndexOutOfBounds(
                index=offset, buffer=f"a view of shape {shape}", shape=buffer.shape
            )
        return view

    def tensor_map(
        self, buffer: Buffer, box: Shape, swizzle: int, promotion: int
    ) -> Buffer:
        """The tensor map of a box of a buffer, in device memory."""
        form = form_of(buffer, box, swizzle, promotion)
        return Buffer.of(self.device.tensor_map(form, encoded), "i64")

    def map_of(
        self, buffer: Buffer, box: Shape, swizzle: int, promotion: int
    ) -> Callable[[int], Any]:
        """The function from the address of such a buffer to the array of its map."""
        form, device = form_of(buffer, box, swizzle, promotion), self.device
        return lambda address: device.tensor_map(at(form, address), encoded)

    def constant(self, value: Any) -> Buffer:
        """A copy on the device, made now even while recording."""
        contents, dtype = contents_of(value)
        at_work = replace(self, recorder=None)
        buffer = at_work.alloc(contents.shape, dtype)
        at_work.assign(buffer, contents)
        return buffer

    def launcher(self, spec: KernelSpec) -> Launcher:
        """A kernel, loaded on the device."""
        launch = self._loaded(spec).launch
        if not spec.wide:
            return launch

        def start(*given: Any) -> None:
            try:
                launch(*given)
            except errors.IndexTooLarge:
                self._wide(spec).launch(*given)

        return start

    def kernel(
        self, spec: KernelSpec, grid: Shape, block: Shape, values: Sequence[Any]
    ) -> Callable[..., None]:
        """A kernel as a function of its words; extents are checked now."""

        def in_words(*words: Any) -> None:
            self._wide(spec).prepared(grid, block, words, values)()

        def start(kernel: CudaKernel) -> Callable[..., None]:
            return kernel.repeated(grid, block, values, in_words)

        return self._reaching(spec, start)

    def prepared(
        self, spec: KernelSpec, grid: Shape, block: Shape, words: Values, values: Values
    ) -> Callable[..., None]:
        """A launch with words packed now."""
        return self._reaching(
            spec, lambda kernel: kernel.prepared(grid, block, words, values)
        )

    def _reaching(
        self, spec: KernelSpec, use: Callable[[CudaKernel], Callable[..., None]]
    ) -> Callable[..., None]:
        """Applies ``use`` to the kernel, with 64-bit indices where needed."""
        try:
            return use(self._loaded(spec))
        except errors.IndexTooLarge:
            return use(self._wide(spec))

    def _wide(self, spec: KernelSpec) -> CudaKernel:
        """The kernel with 64-bit indices, compiled when a call needs it."""
        return self._loaded(spec.with_wide_indices() or spec)

    def _loaded(self, spec: KernelSpec) -> CudaKernel:
        """A kernel on the device of the call, loaded once."""
        key = self.device, spec
        if key not in self.kernels:
            self.kernels[key] = CudaKernel.on(*key)
        return self.kernels[key]

    def address(self, spec: KernelSpec) -> int:
        """0, which stands for none: the driver launches kernels."""
        del spec
        return 0

    def transfers(
        self, values: Values, written: Flags, overwritten: Flags = ()
    ) -> Ways:
        """Allocates device memory for NumPy arguments; each call copies their contents.

        Overwritten arguments are not copied in, arguments that are not written are not
        copied back.
        """
        resident = list(values)
        inbound: list[tuple[Buffer, Buffer]] = []
        outbound: list[tuple[Buffer, Buffer]] = []
        here = {i: v for i, v in enumerate(values) if isinstance(v, Buffer)}
        here = {i: v for i, v in here.items() if v.device == CPU}
        for i, there in self.copies(here).items():
            resident[i] = there
            if not any(overwritten[i : i + 1]):
                inbound.append((here[i], there))
            if written[i]:
                outbound.append((here[i], there))

        def to_device() -> Sequence[Any]:
            for here, there in inbound:
                self.assign(there, here.array)
            return resident

        def from_device() -> None:
            fetch = self.device.fetch
            under_way = [(here, fetch(there.array)) for here, there in outbound]
            for here, contents in under_way:
                here.array[...] = contents()
            if self.wants_numpy:  # the caller looks at memory that no device waits for
                self.device.synchronize()

        return to_device, from_device

    def copies(self, buffers: Mapping[int, Buffer]) -> dict[int, Buffer]:
        """Memory for copies with the extents and strides of buffers.

        Buffers that share bytes get copies that share theirs.  A divisor of a buffer's
        address, up to the widest access, divides that of its copy, too.
        """
        device = self.device
        ranges = (buffer.byte_range for buffer in buffers.values())
        spans = joined((low - low % WIDEST, high) for low, high in ranges)
        rooms = [device.empty((end - at,), np.dtype(np.uint8)) for at, end in spans]
        made: dict[int, Buffer] = {}
        for i, buffer in buffers.items():
            array = buffer.array
            number = bisect_right(spans, buffer.byte_range[0], key=itemgetter(0)) - 1
            room = rooms[number]
            address = room.data.ptr + buffer.pointer - spans[number][0]
            place = device.view(room, address, buffer.shape, array.strides, array.dtype)
            made[i] = Buffer.of(place, buffer.dtype)
        return made

    def array(self, buffer: Buffer) -> Any:
        """The device's array, or a NumPy copy where the caller passed NumPy arrays."""
        return self.contents(buffer) if self.wants_numpy else buffer.array

    def shown(self, buffer: Buffer) -> Any:
        """The array for functions of the caller."""
        return self.array(buffer)

    def taken_back(self, buffer: Buffer, shown: Any) -> None:
        """Takes back what a function of the caller wrote into a NumPy copy."""
        if self.wants_numpy:
            self.assign(buffer, shown)

    def maker(self, shape: Shape, dtype: str) -> Maker:
        device, kind = self.device, storage(dtype)

        def make() -> tuple[int, Any]:
            array = device.empty(shape, kind)
            return array.data.ptr, array

        return make


def joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sorted ranges; overlapping ones are merged.

    >>> joined([(8, 12), (0, 4), (2, 6), (6, 8)])
    [(0, 6), (6, 8), (8, 12)]
    """
    found: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def contiguous(array: Contents) -> Contents:
    """A contiguous copy of an array's contents, with its shape.

    >>> contiguous(np.zeros((3, 4))[:, ::2]).strides, contiguous(np.zeros(())).shape
    ((16, 8), ())
    """
    return np.ascontiguousarray(array).reshape(array.shape)
