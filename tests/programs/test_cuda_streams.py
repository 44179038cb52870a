"""Streams, graphs and dynamic shared memory of calls, and what repeats a call."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.compiling.executable import Executable
from gpucodegen.runtime.cuda.kernel_launch import ArgumentLayout, CudaKernel
from gpucodegen.runtime.devices import emulated_cupy as xp
from gpucodegen.runtime.devices import emulated_device
from gpucodegen.runtime.host.buffers import Buffer
from gpucodegen.runtime.host.spec import KernelSpec, Param

ROW = "memref<?xf32, strided<[?], offset: ?>>"
DOUBLE = f"""
func.func @double(%a: {ROW}, %b: {ROW}) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : {ROW}
  affine.for %i = 0 to %n {{
    %x = affine.load %a[%i] : {ROW}
    %y = arith.addf %x, %x : f32
    affine.store %y, %b[%i] : {ROW}
  }}
  return
}}
"""
STEPS = """
memref.global "private" constant @two : memref<1xf32> = dense<2.0>
func.func @steps(%a: memref<8xf32>, %n: index) -> (memref<8xf32>, index) {
  %c0 = arith.constant 0 : index
  %two = memref.get_global @two : memref<1xf32>
  %old = memref.alloc() : memref<8xf32>
  %sum = memref.alloc() : memref<8xf32>
  affine.for %t = 0 to %n {
    memref.copy %a, %old : memref<8xf32> to memref<8xf32>
    affine.for %i = 0 to 8 {
      %x = affine.load %old[7 - %i] : memref<8xf32>
      %f = affine.load %two[0] : memref<1xf32>
      %y = arith.mulf %x, %f : f32
      affine.store %y, %a[%i] : memref<8xf32>
    }
  }
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<8xf32>
    %y = arith.addf %x, %x : f32
    affine.store %y, %sum[%i] : memref<8xf32>
  }
  return %sum, %n : memref<8xf32>, index
}
"""


def numbers(count: int = 8) -> Any:
    return np.arange(count, dtype="f4")


@pytest.fixture
def double() -> Any:
    return gcg.compile(DOUBLE, target="cuda").double


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A device of its own, whose streams no other test has."""
    made = emulated_device.EmulatedDevice(0)
    monkeypatch.setattr(emulated_device, "current", lambda: made)
    return made


# -- repeated calls --------------------------------------------------------------------


def test_a_call_like_an_earlier_one_follows_its_plan(
    double: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = xp.asarray(numbers()), xp.zeros((8,), "f4"), xp.zeros((9,), "f4")
    double(a, b)
    monkeypatch.setattr(Executable, "launcher", None)
    monkeypatch.setattr(Executable, "run", None)
    double(b, c[1:])
    bound = double.bind(c[1:], a)
    bound()
    bound()
    assert a.get().tolist() == (8 * numbers()).tolist()


def test_what_a_plan_guards_is_told_as_at_a_first_call(double: Any) -> None:
    a, raw = xp.asarray(numbers()), xp.zeros((64,), "u1")
    double(a, xp.zeros((8,), "f4"))
    shifted = raw.device.view(raw, raw.data.ptr + 1, (8,), (4,), np.dtype("f4"))
    with pytest.raises(errors.OverlappingArguments):
        double(a, a)
    with pytest.raises(errors.MisalignedAccess):
        double(a, shifted)
    with emulated_device.using(1):
        b = xp.zeros((8,), "f4")
    with pytest.raises(errors.WrongDevice):
        double(a, b)


def test_numpy_arguments_travel_at_each_repeated_call(double: Any) -> None:
    for factor in (1, 2, 3):
        a, b = factor * numbers(16)[::-2], np.zeros(8, "f4")
        double(a, b)
        assert b.tolist() == (2 * a).tolist()
    bound = double.bind(a, b)
    a[:] = 5
    bound()
    assert b.tolist() == [10] * 8


def test_several_bound_launches_keep_their_own_arguments(double: Any) -> None:
    arrays = [xp.asarray(n * numbers()) for n in range(4)]
    bound = [double.bind(arrays[n], arrays[n + 1]) for n in (2, 1, 0)]
    for call in (*bound, bound[0]):
        call()
    assert [a.get()[1].item() for a in arrays] == [0, 0, 2, 4]


def test_two_devices_have_their_own_plans_and_kernels(double: Any) -> None:
    for number in (0, 1, 0, 1):
        with emulated_device.using(number) as chosen:
            a, b = xp.asarray(numbers()), xp.zeros((8,), "f4")
        before = chosen.launches
        double(a, b)
        assert chosen.launches == before + 1
        assert b.get().tolist() == (2 * numbers()).tolist()


SECOND = """
import sys
import numpy as np
import gpucodegen as gcg
a, b = np.ones(8, "f4"), np.zeros(8, "f4")
gcg.compile(sys.argv[1], target="cuda").double(a, b)
print(b.sum(), sorted({"numba.core.compiler", "islpy"} & set(sys.modules)))
"""


@pytest.mark.slow
def test_a_second_process_takes_all_from_the_disk(tmp_path: Path) -> None:
    variables = {"GPUCODEGEN_CACHE_DIR": str(tmp_path), "GPUCODEGEN_DEVICE": "emulated"}
    told = [
        subprocess.run(
            [sys.executable, "-c", SECOND, DOUBLE],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    assert told == ["16.0 ['islpy', 'numba.core.compiler']", "16.0 []"]


# -- streams ---------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["object", "pointer", "protocol", "torch"])
def test_a_call_works_on_the_stream_that_it_is_given(
    form: str, device: Any, double: Any
) -> None:
    a, b, stream = xp.asarray(numbers()), xp.zeros((8,), "f4"), xp.cuda.Stream()

    class Foreign:
        cuda_stream = stream.ptr

    class Protocol:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, stream.ptr

    forms = {
        "object": stream,
        "pointer": stream.ptr,
        "protocol": Protocol(),
        "torch": Foreign(),
    }
    used: list[int] = []
    launch = device.launch

    def noted(*arguments: Any, stream: Any = None) -> None:
        used.append((stream or device.streams.current).ptr)
        launch(*arguments, stream=stream)

    device.launch = noted
    double(a, b, stream=forms[form])  # a first call, then one by its plan
    double(a, b, stream=forms[form])
    double.bind(a, b, stream=forms[form])()
    double.bind(a, b, stream=forms[form], graph=True)()
    with stream:
        double(a, b)
    double(a, b)
    assert used == [stream.ptr] * 5 + [0]


@pytest.mark.usefixtures("device")
def test_streams_that_events_order_may_share_memory(double: Any) -> None:
    one, other = xp.cuda.Stream(non_blocking=True), xp.cuda.Stream(non_blocking=True)
    with one:
        a, b, c = xp.asarray(numbers()), xp.zeros((8,), "f4"), xp.zeros((8,), "f4")
    double(a, b, stream=one)
    other.wait_event(one.record())
    double(b, c, stream=other)
    double(a, xp.empty((8,), "f4"), stream=other)  # both only read it
    with other:
        assert c.get().tolist() == (4 * numbers()).tolist()


CLASHES = {
    "read what is written": ("ab", "bc"),
    "write what is read": ("ab", "ca"),
    "write what is written": ("ab", "cb"),
}


@pytest.mark.parametrize("clash", CLASHES)
def test_an_order_that_nothing_fixes_is_a_fault(
    clash: str, device: Any, double: Any
) -> None:
    stream = xp.cuda.Stream(non_blocking=True)
    arrays = {name: xp.asarray(numbers()) for name in "abc"}
    device.synchronize()
    first, second = CLASHES[clash]
    double(*[arrays[name] for name in first])
    double(*[arrays[name] for name in second], stream=stream)
    message = r"double_k0 on stream 0 and kernel double_k0 on stream 1 touch"
    with pytest.raises(errors.UnorderedStreams, match=message):
        device.synchronize()
    device.synchronize()


@pytest.mark.parametrize("clash", ["a launch", "a copy"])
def test_work_before_the_first_other_stream_counts(
    clash: str, device: Any, double: Any
) -> None:
    a, b, c = (xp.asarray(numbers()) for _ in "abc")
    if clash == "a launch":
        device.synchronize()
        double(a, b)
    double(b, c, stream=xp.cuda.Stream())  # the default stream comes before it
    device.synchronize()
    a.set(numbers())
    double(a, b)
    stream = xp.cuda.Stream(non_blocking=True)
    first = {"a launch": b, "a copy": a}[clash]
    message = {"a launch": "kernel double_k0", "a copy": "a copy from main"}[clash]
    double(first, c, stream=stream)
    with pytest.raises(errors.UnorderedStreams, match=f"{message}.* on stream 0"):
        device.synchronize()
    device.synchronize()


def test_contents_that_another_stream_writes_are_not_fetched(
    device: Any, double: Any
) -> None:
    stream = xp.cuda.Stream(non_blocking=True)
    a, b = xp.asarray(numbers()), xp.asarray(numbers())
    device.synchronize()
    double(a, b, stream=stream)
    with pytest.raises(errors.UnorderedStreams, match=r"stream 1 and a copy to main"):
        b.get()


def test_disjoint_parts_and_ordered_streams_do_not_clash(
    device: Any, double: Any
) -> None:
    stream, blocking = xp.cuda.Stream(non_blocking=True), xp.cuda.Stream()
    a, b = xp.asarray(numbers(16)), xp.asarray(numbers(16))
    device.synchronize()
    double(a[::2], b[:8])
    double(a[1::2], b[8:], stream=stream)
    double(b[:8], a[::2], stream=blocking)  # the default stream is ordered with it
    stream.synchronize()
    double(b[8:], a[1::2])
    device.synchronize()
    order = [*range(0, 16, 2), *range(1, 16, 2)]
    assert b.get().tolist() == [2 * n for n in order]
    assert a.get().tolist() == (4 * numbers(16)).tolist()


def test_operations_of_a_stream_that_is_gone_are_waited_for(
    double: Any, device: Any
) -> None:
    """They go on in its order: a wait for the device ends them, nothing else does."""
    a, b, c = xp.asarray(numbers()), xp.zeros((8,), "f4"), xp.zeros((8,), "f4")
    first, second = xp.cuda.Stream(), xp.cuda.Stream()
    double(a, b, stream=first)
    del first
    device.synchronize()
    double(b, c, stream=second)
    device.synchronize()
    np.testing.assert_array_equal(c.get(), 4 * numbers())
    double(c, b, stream=second)
    del second
    double(b, a)  # on the default stream, which comes after the others
    device.synchronize()
    np.testing.assert_array_equal(a.get(), 16 * numbers())


def test_a_stream_that_is_gone_orders_nothing(double: Any, device: Any) -> None:
    a, b, c = xp.asarray(numbers()), xp.zeros((8,), "f4"), xp.zeros((8,), "f4")
    device.synchronize()
    double(a, b, stream=xp.cuda.Stream())
    with xp.cuda.Stream(non_blocking=True):
        double(b, c)
        with pytest.raises(errors.UnorderedStreams, match="stream 1 and kernel"):
            device.synchronize()


def test_what_is_no_stream_is_refused(double: Any) -> None:
    a, b = xp.asarray(numbers()), xp.zeros((8,), "f4")
    with pytest.raises(
        errors.UnknownStream, match="'fast' is not a stream of emulated"
    ):
        double(a, b, stream="fast")
    with emulated_device.using(1):
        stream = xp.cuda.Stream()
    with pytest.raises(errors.UnknownStream):
        double(a, b, stream=stream)


def test_the_processor_has_neither_streams_nor_graphs() -> None:
    call = gcg.compile(DOUBLE, target="cpu").double
    a, b = numbers(), numbers()
    with pytest.raises(errors.NoStreams, match="'cpu' takes no stream="):
        call(a, b, stream=0)
    with pytest.raises(errors.NoStreams, match="'cpu' takes no graph="):
        call.bind(a, b, graph=True)


# -- graphs ----------------------------------------------------------------------------


def test_a_graph_repeats_all_launches_and_copies(device: Any) -> None:
    steps = gcg.compile(STEPS, target="cuda").steps
    a, here = xp.asarray(numbers()), numbers()
    replay = steps.bind(a, 3, graph=True)
    assert device.launches == 0
    first, count = replay()
    second, _ = replay()
    wanted = [steps(here, 3)[0] for _ in range(2)]
    assert (first.get().tolist(), second.get().tolist()) == tuple(
        w.tolist() for w in wanted
    )
    assert a.get().tolist() == here.tolist()
    assert count == 3


@pytest.mark.slow
def test_a_graph_of_numpy_arguments() -> None:
    steps = gcg.compile(STEPS, target="cuda").steps
    a, b = numbers(), numbers()
    replay = steps.bind(a, 2, graph=True)
    for _ in range(3):
        found, wanted = replay()[0], steps(b, 2)[0]
        assert found.tolist() == wanted.tolist()
        assert a.tolist() == b.tolist()


def test_a_program_that_waits_for_the_device_is_no_graph() -> None:
    text = """func.func @f(%a: memref<8xf32>) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %x = memref.load %a[%c0] : memref<8xf32>
      %is_zero = arith.cmpf oeq, %x, %zero : f32
      scf.if %is_zero {
        affine.for %i = 0 to 8 { affine.store %x, %a[%i] : memref<8xf32> }
      }
      return
    }"""
    call = gcg.compile(text, target="cuda").f
    with pytest.raises(errors.NotRecordable, match="a copy to main memory"):
        call.bind(xp.asarray(numbers()), graph=True)


# -- dynamic shared memory -------------------------------------------------------------

REVERSED = """
.version 7.8
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 room[];
.visible .entry reversed(.param .u64 p0)
{
  .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<3>;
  ld.param.u64 %d1, [p0]; cvta.to.global.u64 %d1, %d1;
  mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d2, %d1, %d2;
  ld.global.f32 %f1, [%d2];
  mov.u32 %r2, room; mad.lo.s32 %r3, %r1, 960, %r2; st.shared.f32 [%r3], %f1;
  bar.sync 0;
  sub.s32 %r4, 63, %r1; mad.lo.s32 %r5, %r4, 960, %r2; ld.shared.f32 %f2, [%r5];
  st.global.f32 [%d2], %f2; ret;
}
"""


def reverse(device: Any, shared: int) -> Any:
    """A launch as host programs make it, of 64 threads that use 960 bytes each."""
    a = xp.asarray(numbers(64))
    params = (Param("a", "pointer", "f32"),)
    layout = ArgumentLayout.of(KernelSpec("reversed", "", params))
    loaded = device.load("reversed", REVERSED.encode())
    kernel = CudaKernel(device, "reversed", layout, loaded)
    kernel.launch((1, 1, 1), (64, 1, 1), (Buffer.of(a, "f32"),), shared)
    return a.get()


def test_dynamic_shared_memory_beyond_48_kib(device: Any) -> None:
    assert reverse(device, 60 * 1024).tolist() == numbers(64)[::-1].tolist()
    with pytest.raises(errors.LaunchFailed, match="shared"):
        reverse(device, 59 * 1024)
    with pytest.raises(errors.LaunchFailed, match=r"233472 bytes .* exceed 232448"):
        reverse(device, 228 * 1024)
