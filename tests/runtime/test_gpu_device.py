"""What CuPy is asked for: launches, streams, graphs and copies; how faults are told."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpucodegen import errors
from gpucodegen.runtime.cuda.kernel_launch import ArgumentLayout, Recording
from gpucodegen.runtime.devices import cupy_device
from gpucodegen.runtime.devices.cupy_device import CupyDevice, GpuKernel
from gpucodegen.runtime.devices.protocol import LaunchLimits, TensorForm
from gpucodegen.runtime.host.spec import KernelSpec, Param

KIB = 1024


class DriverError(RuntimeError):
    pass


class OutOfMemoryError(MemoryError):
    pass


class Cuda:
    """Stands in for ``cupy.cuda``: notes the calls that reach the driver."""

    memory = SimpleNamespace(OutOfMemoryError=OutOfMemoryError)

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.places, self.streams = [0], [self.stream(100)]
        self.refuses = self.fails = ""
        self.events = 0
        self.driver = SimpleNamespace(
            CUDADriverError=DriverError,
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8,
            CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES=1,
            launchKernel=self.launch,
            funcSetAttribute=lambda *given: self.calls.append(("attribute", *given)),
            funcGetAttribute=lambda attribute, _: 16 * KIB if attribute == 1 else 0,
        )
        self.runtime = SimpleNamespace(
            CUDARuntimeError=DriverError,
            memcpyHostToDevice=1,
            memcpyDeviceToHost=2,
            getDevice=lambda: self.places[-1],
            free=lambda pointer: self.calls.append(("free", pointer)),
            memcpyAsync=self.copy,
        )
        self.function = SimpleNamespace(Module=self.module)
        self.Stream = type("Stream", (FakeStream,), {"cuda": self})
        self.ExternalStream = self.external

    def launch(self, *given: int) -> None:
        if self.refuses:
            raise DriverError(self.refuses)
        pointers = (ctypes.c_void_p * 2).from_address(given[9])
        number = ctypes.c_int32.from_address(pointers[0] or 0).value
        real = ctypes.c_double.from_address(pointers[1] or 0).value
        self.calls.append((*given[:9], number, real, self.places[-1]))

    def copy(self, target: int, source: int, size: int, kind: int, stream: int) -> None:
        self.calls.append(("copy", kind, size, stream))
        ctypes.memmove(target, source, size)

    def module(self) -> Any:
        function = SimpleNamespace(ptr=42)
        load = lambda code: self.calls.append(("load", code))  # noqa: E731
        return SimpleNamespace(load=load, get_function=lambda _: function)

    def stream(self, ptr: int) -> Any:
        made = FakeStream()
        made.cuda, made.ptr = self, ptr
        return made

    def external(self, ptr: int, number: int) -> Any:
        self.calls.append(("external", ptr, number))
        return self.stream(ptr)

    def get_current_stream(self, number: int | None = None) -> Any:
        del number
        return self.streams[-1]

    def alloc_pinned_memory(self, size: int) -> Any:
        memory: Any = (ctypes.c_char * size)()
        memory.ptr = ctypes.addressof(memory)
        return memory

    def Device(self, number: int) -> Any:  # noqa: N802 - as CuPy calls it
        return FakeDevice(self, number)


class FakeDevice:
    compute_capability = "90"

    def __init__(self, cuda: Cuda, number: int) -> None:
        self.cuda, self.number = cuda, number

    def __enter__(self) -> None:
        self.cuda.places.append(self.number)

    def __exit__(self, *_: object) -> None:
        self.cuda.places.pop()

    def synchronize(self) -> None:
        if self.cuda.fails:
            raise DriverError(self.cuda.fails)


class FakeStream:
    cuda: Any
    ptr, device_id = 7, 1

    def __init__(self, *, non_blocking: bool = False) -> None:
        self.non_blocking = non_blocking

    def __enter__(self) -> Any:
        self.cuda.streams.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.cuda.streams.pop()

    def begin_capture(self) -> None:
        assert self.non_blocking
        self.cuda.calls.append(("begin", self.ptr))

    def end_capture(self) -> Any:
        self.cuda.calls.append(("end", self.ptr))
        run = lambda: self.cuda.calls.append(("graph", self.cuda.streams[-1].ptr))  # noqa: E731
        return SimpleNamespace(launch=run)

    def record(self) -> Any:
        self.cuda.events += 1
        return SimpleNamespace(done=self.cuda.events > 1, synchronize=lambda: None)

    def synchronize(self) -> None:
        self.cuda.calls.append(("synchronize", self.ptr))


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Cuda:
    made = Cuda()
    empty = lambda shape, dtype: There(np.empty(shape, dtype))  # noqa: E731
    fake = SimpleNamespace(cuda=made, ascontiguousarray=lambda a: a, empty=empty)
    monkeypatch.setattr(cupy_device, "_cupy", lambda: fake)
    return made


@pytest.fixture
def gpu() -> Iterator[CupyDevice]:
    cupy_device._capability.cache_clear()
    yield CupyDevice(1)
    cupy_device._capability.cache_clear()


def packed() -> Any:
    params = Param("n", "scalar", "index"), Param("x", "scalar", "f64")
    return ArgumentLayout.of(KernelSpec("k", "", params)).pack([5, 2.5])


def launch(gpu: Any, name: str = "k", **named: Any) -> None:
    kernel = GpuKernel(name, SimpleNamespace(ptr=42), 32 * KIB)
    gpu.launch(kernel, ((7, 1, 1), (32, 2, 1)), packed(), **named)


STARTED = (42, 7, 1, 1, 32, 2, 1, 0)


def test_a_launch_passes_the_address_of_each_argument(
    cuda: Cuda, gpu: CupyDevice
) -> None:
    launch(gpu)
    launch(gpu, stream=cuda.stream(9))
    assert cuda.calls == [
        ("free", 0),  # makes the context of a thread that is new to the device
        (*STARTED, 100, 5, 2.5, 1),
        (*STARTED, 9, 5, 2.5, 1),
    ]


def test_dynamic_shared_memory_beyond_the_usual_is_asked_for_once(
    cuda: Cuda, gpu: CupyDevice
) -> None:
    kernel = gpu.load("k", b"code")
    for size in (32 * KIB, 100 * KIB, 64 * KIB):
        gpu.launch(kernel, ((1, 1, 1), (1, 1, 1)), packed(), size)
    asked = [call for call in cuda.calls if call[0] == "attribute"]
    assert asked == [("attribute", 42, 8, 100 * KIB)]
    assert [call[7] for call in cuda.calls if call[0] == 42] == [
        32 * KIB,
        100 * KIB,
        64 * KIB,
    ]


@pytest.mark.parametrize(
    ("architecture", "most"), [((9, 0), 227), ((8, 6), 99), ((8, 0), 163)]
)
def test_shared_memory_has_a_limit(architecture: tuple[int, int], most: int) -> None:
    limits = LaunchLimits.of(architecture)
    assert not limits.problem((1, 1, 1), (1, 1, 1), most * KIB)
    assert "exceed" in limits.problem((1, 1, 1), (1, 1, 1), most * KIB + 1)


def test_faults_name_the_kernels_since_the_last_synchronisation(
    cuda: Cuda, gpu: CupyDevice
) -> None:
    launch(gpu, "first")
    launch(gpu, "second")
    cuda.fails = "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal address"
    with pytest.raises(errors.LaunchFailed, match=r"first or second failed: .*ILLEGAL"):
        gpu.synchronize()
    assert not gpu.launched


def test_a_refused_launch_names_its_own_kernel(cuda: Cuda, gpu: CupyDevice) -> None:
    gpu.launched.append("before")
    cuda.refuses = "CUDA_ERROR_INVALID_VALUE: invalid argument"
    with pytest.raises(errors.LaunchFailed, match=r"kernel k failed: .*INVALID_VALUE"):
        launch(gpu)


# -- streams and graphs ----------------------------------------------------------------


def test_streams_of_other_libraries(cuda: Cuda, gpu: CupyDevice) -> None:
    own = cuda.Stream()
    assert gpu.stream(own) is own
    of_torch = SimpleNamespace(cuda_stream=11)
    by_protocol = SimpleNamespace(__cuda_stream__=lambda: (0, 12))
    assert [gpu.stream(s).ptr for s in (of_torch, by_protocol, 13)] == [11, 12, 13]
    with pytest.raises(errors.UnknownStream, match="'fast' is not a stream of GPU 1"):
        gpu.stream("fast")
    own.device_id = 0
    with pytest.raises(errors.UnknownStream, match="is not a stream of GPU 1"):
        gpu.stream(own)


def test_a_stream_is_current_on_its_device(cuda: Cuda, gpu: CupyDevice) -> None:
    with gpu.on(gpu.stream(11)):
        launch(gpu)
        assert cuda.places[-1] == 1
    assert cuda.calls[-1] == (*STARTED, 11, 5, 2.5, 1)


def test_a_graph_is_captured_once_and_replayed(cuda: Cuda, gpu: CupyDevice) -> None:
    recording = Recording(gpu)
    launch(recording)
    launch(recording)
    assert cuda.calls == []
    replay = recording.recorded()
    captured = (*STARTED, 7, 5, 2.5, 1)
    assert cuda.calls == [("begin", 7), ("free", 0), captured, captured, ("end", 7)]
    with gpu.on(gpu.stream(11)):
        replay()
    replay()
    assert cuda.calls[-2:] == [("graph", 11), ("graph", 100)]


def test_a_graph_of_one_operation_is_that_operation(
    cuda: Cuda, gpu: CupyDevice
) -> None:
    recording = Recording(gpu)
    launch(recording)
    replay = recording.recorded()
    assert cuda.calls == []
    with gpu.on(gpu.stream(11)):
        replay()
    assert cuda.calls[1:] == [("free", 0), (*STARTED, 11, 5, 2.5, 1)]


# -- copies ----------------------------------------------------------------------------


class There:
    """Stands in for an array on a GPU."""

    def __init__(self, contents: Any) -> None:
        self.contents, self.size = contents, contents.size
        self.shape, self.dtype = contents.shape, contents.dtype
        self.data = SimpleNamespace(ptr=contents.ctypes.data)


def test_copies_go_through_pinned_memory_and_do_not_wait(
    cuda: Cuda, gpu: CupyDevice
) -> None:
    here, there = np.arange(6.0).reshape(2, 3), np.zeros((2, 3))
    gpu.upload(There(there), here)
    gpu.upload(There(there), here)
    assert len(gpu._pinned) == 2  # the first copy is under way for ever
    gpu.upload(There(there), here)
    assert len(gpu._pinned) == 2  # the second is done, and the third is new
    arrived = gpu.fetch(There(there))
    assert cuda.calls == [("copy", 1, 48, 100)] * 3 + [("copy", 2, 48, 100)]
    np.testing.assert_array_equal(arrived(), here)
    empty = There(np.zeros((0, 3)))
    gpu.upload(empty, np.zeros((0, 3)))
    assert gpu.fetch(empty)().shape == (0, 3)
    assert cupy_device.device(1) is cupy_device.device(1)


def test_a_tensor_map_is_written_once_and_waited_for(
    cuda: Cuda, gpu: CupyDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cupy_device, "MOST_MAPS", 2)
    words, asked = np.arange(16), list[TensorForm]()

    def encoded(form: TensorForm) -> Any:
        asked.append(form)
        return words

    forms = [TensorForm(64 * n, "f16", 2, (64, 8), (128,), (64, 8)) for n in range(3)]
    first = gpu.tensor_map(forms[0], encoded)
    assert first.contents.tolist() == words.tolist()
    assert cuda.calls == [("copy", 1, 128, 7), ("synchronize", 7)]
    assert gpu.tensor_map(forms[0], encoded) is first
    assert len(asked) == 1
    for form in forms:  # the third finds no room, and all begin anew
        gpu.tensor_map(form, encoded)
    assert gpu.tensor_map(forms[2], encoded) is not first
    assert asked == forms
