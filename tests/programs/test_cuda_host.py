"""How calls reach a device: arguments, launches, faults, results, several devices."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.emit.spelling import DECLARED_SHARED
from gpucodegen.passes.outlining import gpu_launch
from gpucodegen.runtime.cuda import compilation
from gpucodegen.runtime.cuda.kernel_launch import CudaKernel
from gpucodegen.runtime.devices import emulated_cupy as xp
from gpucodegen.runtime.devices import emulated_device
from gpucodegen.runtime.devices.protocol import LaunchLimits
from gpucodegen.tiling.machine.gpu.devices import STATIC_SHARED
from tests.emit.running import loaded

ANY = "memref<?x?xf32, strided<[?, ?], offset: ?>>"
ADD = f"""
func.func @add(%a: {ANY}, %b: {ANY}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %b, %c0 : {ANY}
  %m = memref.dim %b, %c1 : {ANY}
  affine.for %i = 0 to %n {{
    affine.for %j = 0 to %m {{
      %x = affine.load %a[%i, %j] : {ANY}
      %y = affine.load %b[%i, %j] : {ANY}
      %z = arith.addf %x, %y : f32
      affine.store %z, %b[%i, %j] : {ANY}
    }}
  }}
  return
}}
"""
TWICE = """
func.func @twice(%a: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.add ins(%a, %a : tensor<?xf32>, tensor<?xf32>)
      outs(%a : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
"""


def numbers(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype="f4").reshape(shape)


LAYOUTS = {
    "rows left out": lambda a: a[::2],
    "columns left out": lambda a: a[:, 1::3],
    "rows reversed": lambda a: a[::-1],
    "all reversed": lambda a: a[::-1, ::-1],
    "transposed": lambda a: a.T,
    "transposed part": lambda a: a[1:, :4].T,
    "one row for all": lambda a: np.broadcast_to(a[:1], a.shape),
    "overlapping windows": lambda a: as_strided(a, (6, 5), (8, 4)),
    "empty": lambda a: a[:0],
}


@pytest.fixture(scope="module")
def add() -> Any:
    return gcg.compile(ADD, target="cuda").add


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_numpy_arguments_of_any_layout(layout: str, add: Any) -> None:
    view = LAYOUTS[layout](numbers(6, 7))
    result = numbers(*view.shape)
    wanted = result + view
    add(view, result)
    np.testing.assert_array_equal(result, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["columns left out", "all reversed", "transposed"])
def test_what_lies_between_the_elements_of_a_result_stays(
    layout: str, add: Any
) -> None:
    memory, wanted = numbers(6, 7), numbers(6, 7)
    view = LAYOUTS[layout](wanted)
    view += 1
    add(np.ones(view.shape, "f4"), LAYOUTS[layout](memory))
    np.testing.assert_array_equal(memory, wanted)


def test_arguments_without_dimensions() -> None:
    text = """func.func @f(%a: memref<f32>, %b: memref<f32>) {
      %x = affine.load %a[] : memref<f32>
      %y = arith.addf %x, %x : f32
      affine.store %y, %b[] : memref<f32>
      return
    }"""
    result = np.zeros((), "f4")
    gcg.compile(text, target="cuda").f(np.array(3, "f4"), result)
    assert result == 6


def test_arrays_on_the_device(add: Any) -> None:
    a, b = xp.asarray(numbers(6, 7)), xp.asarray(numbers(6, 7))
    add(a[::-1, 1:], b[:, :6])
    wanted = numbers(6, 7)
    wanted[:, :6] += numbers(6, 7)[::-1, 1:]
    np.testing.assert_array_equal(b.get(), wanted)


@pytest.mark.slow
def test_each_call_returns_arrays_of_its_own_kind() -> None:
    program = gcg.compile(TWICE, target="cuda")
    here, there = numbers(5), xp.asarray(numbers(5))
    bound = program.twice.bind(there)
    assert isinstance(program.twice(here), np.ndarray)
    assert isinstance(bound(), xp.EmulatedArray)
    assert isinstance(program.twice(there), xp.EmulatedArray)
    np.testing.assert_array_equal(bound().get(), 2 * here)


# -- grids -----------------------------------------------------------------------------


@pytest.fixture
def small_grids(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A device that takes few blocks along y and z, and a planner that knows it."""
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))
    grid = (2**31 - 1, 3, 2)
    monkeypatch.setattr(gpu_launch, "GRID", grid)
    device = emulated_device.EmulatedDevice(0, limits=LaunchLimits(grid=grid))
    monkeypatch.setattr(emulated_device, "current", lambda: device)


COPY_3D = """
func.func @copy(%a: memref<?x?x?xf32>, %b: memref<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %a, %c0 : memref<?x?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?x?xf32>
  %p = memref.dim %a, %c2 : memref<?x?x?xf32>
  affine.for %i = 0 to %n { affine.for %j = 0 to %m { affine.for %k = 0 to %p {
    %x = affine.load %a[%i, %j, %k] : memref<?x?x?xf32>
    affine.store %x, %b[%i, %j, %k] : memref<?x?x?xf32>
  } } }
  return
}
"""
BATCH = """
func.func @products(%a: memref<7x4x5xf32>, %b: memref<7x5x6xf32>,
                    %c: memref<7x4x6xf32>) {
  linalg.batch_matmul ins(%a, %b : memref<7x4x5xf32>, memref<7x5x6xf32>)
      outs(%c : memref<7x4x6xf32>)
  return
}
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.usefixtures("small_grids")
def test_grids_beyond_the_limits_of_y_and_z() -> None:
    a, b = numbers(9, 30, 3), np.zeros((9, 30, 3), "f4")
    program = gcg.compile(COPY_3D, target="cuda", specialize=False)
    program.copy(a, b)
    np.testing.assert_array_equal(a, b)
    assert emulated_device.current().launches > 4


@pytest.mark.usefixtures("small_grids")
def test_memory_without_gaps_is_one_row() -> None:
    a, b = numbers(9, 30, 3), np.zeros((9, 30, 3), "f4")
    gcg.compile(COPY_3D, target="cuda").copy(a, b)
    np.testing.assert_array_equal(a, b)
    assert emulated_device.current().launches == 1


@pytest.mark.slow
@pytest.mark.usefixtures("small_grids")
def test_batches_beyond_the_limit_of_z() -> None:
    a, b, c = numbers(7, 4, 5), numbers(7, 5, 6), np.zeros((7, 4, 6), "f4")
    gcg.compile(BATCH, target="cuda").products(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.slow
def test_small_static_grids_are_one_launch() -> None:
    program = gcg.compile(BATCH, target="cuda")
    assert "range(" not in program.source("products").partition("def products_k0")[0]


def test_millions_of_rows_are_several_launches() -> None:
    layout = "strided<[384000000, 96, 1], offset: 0>"
    text = COPY_3D.replace("?x?x?xf32", f"1x4000000x64xf32, {layout}")
    program = gcg.compile(text, target="cuda")
    (rows,) = re.findall(r"range\(0, (\d+), 65535\)", program.source("copy"))
    assert int(rows) > 65535


# -- numbers ---------------------------------------------------------------------------


def test_an_index_beyond_32_bits_is_taken() -> None:
    text = """func.func @f(%a: memref<8xf32>, %n: index) {
      affine.for %i = 0 to 8 {
        affine.if affine_set<(d0)[s0] : (s0 - d0 - 1 >= 0)>(%i)[%n] {
          %x = affine.load %a[%i] : memref<8xf32>
          %y = arith.addf %x, %x : f32
          affine.store %y, %a[%i] : memref<8xf32>
        }
      }
      return
    }"""
    a = np.ones(8, "f4")
    call = gcg.compile(text, target="cuda").f
    for n, wanted in ((2**31 - 1, 2), (2**31, 4), (2**40 + 1, 8), (-(2**32), 8)):
        call(a, n)
        assert a.tolist() == [wanted] * 8


def test_index_elements_have_64_bits() -> None:
    text = """func.func @f(%a: memref<8xindex>, %b: memref<8xindex>,
                           %c: memref<8xi64>, %n: index) {
      %c3 = arith.constant 3 : index
      affine.for %i = 0 to 8 {
        %x = affine.load %a[%i] : memref<8xindex>
        %y = arith.addi %x, %n : index
        %z = arith.floordivsi %y, %c3 : index
        affine.store %z, %b[%i] : memref<8xindex>
        %w = arith.muli %z, %z : index
        %v = arith.index_cast %w : index to i64
        affine.store %v, %c[%i] : memref<8xi64>
      }
      return
    }"""
    a = np.arange(-(2**34), 2**34, 2**32)
    b, c = np.zeros(8, "i8"), np.zeros(8, "i8")
    gcg.compile(text, target="cuda").f(a, b, c, 2**33)
    np.testing.assert_array_equal(b, (a + 2**33) // 3)
    np.testing.assert_array_equal(c, b * b)


# -- memory ----------------------------------------------------------------------------


def turned(length: int) -> str:
    """Each of 3 blocks turns its row around, 32 elements at a time, by way of two
    arrays in shared memory that hold the row together."""
    row, half = f"memref<3x{length}xf32>", length // 2
    buffer = f"memref<{half}xf32, #gpu.address_space<workgroup>>"
    return f"""gpu.module @m {{ gpu.func @k(%a: {row}) kernel
        attributes {{known_block_size = array<i32: 32, 1, 1>}} {{
      %low = memref.alloca() : {buffer}
      %high = memref.alloca() : {buffer}
      %b = gpu.block_id x
      %t = gpu.thread_id x
      affine.for %i = 0 to {half // 32} {{
        %x = affine.load %a[%b, %i * 32 + %t] : {row}
        %y = affine.load %a[%b, %i * 32 + %t + {half}] : {row}
        affine.store %x, %low[%i * 32 + %t] : {buffer}
        affine.store %y, %high[%i * 32 + %t] : {buffer}
      }}
      gpu.barrier
      affine.for %i = 0 to {half // 32} {{
        %x = affine.load %low[{half - 1} - %i * 32 - %t] : {buffer}
        %y = affine.load %high[{half - 1} - %i * 32 - %t] : {buffer}
        affine.store %y, %a[%b, %i * 32 + %t] : {row}
        affine.store %x, %a[%b, %i * 32 + %t + {half}] : {row}
      }}
      gpu.return
    }} }}
    func.func @f(%a: {row}) {{
      %one = arith.constant 1 : index
      %three = arith.constant 3 : index
      %warp = arith.constant 32 : index
      gpu.launch_func @m::@k blocks in (%three, %one, %one)
          threads in (%warp, %one, %one) args(%a : {row})
      return
    }}"""


def test_kernels_declare_as_much_shared_memory_as_they_may() -> None:
    assert DECLARED_SHARED == STATIC_SHARED


@pytest.mark.slow
@pytest.mark.parametrize("length", [512, 16384])
def test_shared_memory_beyond_the_static_limit_is_given_by_launches(
    length: int,
) -> None:
    a = np.arange(3 * length, dtype="f4").reshape(3, length)
    turn = gcg.compile(turned(length), target="sim")["f"]
    for want in (a[:, ::-1].copy(), a.copy()):
        turn(a)
        np.testing.assert_array_equal(a, want)


def test_shared_memory_beyond_that_of_the_device_is_refused() -> None:
    with pytest.raises(errors.ResourceLimit, match=r"kernel k of 262144 .* 232448"):
        loaded(turned(65536), "cuda", "f")(numbers(3, 65536))


def test_transfers_of_the_host_between_arrays_of_the_device() -> None:
    text = """func.func @f(%x: memref<4x8xf32>, %y: memref<32xf32>, %t: memref<1xi32>) {
      %n = arith.constant 8 : index
      %stride = arith.constant 8 : index
      %run = arith.constant 2 : index
      affine.dma_start %x[0, 1], %y[3], %t[0], %n, %stride, %run
          : memref<4x8xf32>, memref<32xf32>, memref<1xi32>
      affine.dma_wait %t[0], %n : memref<1xi32>
      return
    }"""
    found = {}
    for target, library in (("cpu", np), ("cuda", xp)):
        y = library.asarray(np.zeros(32, "f4"))
        tag = library.asarray(np.zeros(1, "i4"))
        gcg.compile(text, target=target).f(library.asarray(numbers(4, 8)), y, tag)
        found[target] = y if target == "cpu" else y.get()
    np.testing.assert_array_equal(found["cpu"], found["cuda"])
    assert found["cpu"].any()


def test_a_view_outside_its_buffer_is_refused() -> None:
    text = """func.func @f(%a: memref<8xf32>, %at: index) -> memref<4xf32,
        strided<[1], offset: ?>> {
      %v = memref.reinterpret_cast %a to offset: [%at], sizes: [4], strides: [1]
          : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
      return %v : memref<4xf32, strided<[1], offset: ?>>
    }"""
    call = gcg.compile(text, target="cuda").f
    assert call(numbers(8), 4).tolist() == [4, 5, 6, 7]
    with pytest.raises(errors.IndexOutOfBounds):
        call(numbers(8), 100)


def test_what_a_handler_writes_reaches_the_device() -> None:
    text = """func.func @f(%a: memref<4xf32>) {
      "my.negate"(%a) : (memref<4xf32>) -> ()
      affine.for %i = 0 to 4 {
        %x = affine.load %a[%i] : memref<4xf32>
        %y = arith.addf %x, %x : f32
        affine.store %y, %a[%i] : memref<4xf32>
      }
      return
    }"""

    def negate(array: Any) -> None:
        array[...] = -array

    a = numbers(4)
    gcg.compile(text, target="cuda", handlers={"my.negate": negate}).f(a)
    assert a.tolist() == [0, -2, -4, -6]


# -- faults ----------------------------------------------------------------------------

STORE = """gpu.module @m { gpu.func @stray(%a: memref<4xf32>, %i: index) kernel {
  %x = arith.constant 1.0 : f32
  memref.store %x, %a[%i] : memref<4xf32>
  gpu.return
} }
func.func @f(%a: memref<4xf32>, %i: index, %threads: index) {
  %one = arith.constant 1 : index
  gpu.launch_func @m::@stray blocks in (%one, %one, %one)
      threads in (%threads, %one, %one) args(%a : memref<4xf32>, %i : index)
  return
}"""


def test_a_fault_comes_up_at_the_next_synchronisation_with_its_kernel() -> None:
    store = loaded(STORE, "cuda", "f")
    a = xp.zeros((4,), "f4")
    store(a, 1 << 20, 1)
    message = r"kernel stray failed: .*test\.mlir:\d+: st\.global.*emulated"
    with pytest.raises(errors.LaunchFailed, match=message):
        a.get()
    assert a.get().tolist() == [0] * 4
    store(a, 1 << 20, 1)
    with pytest.raises(errors.LaunchFailed, match="stray"):
        store(a, 2, 1)


def test_a_fault_comes_up_in_the_call_that_brings_arrays_back() -> None:
    with pytest.raises(errors.LaunchFailed, match="stray"):
        loaded(STORE, "cuda", "f")(np.zeros(4, "f4"), 1 << 20, 1)


def test_blocks_of_too_many_threads_are_refused() -> None:
    with pytest.raises(errors.LaunchFailed, match=r"2000 x 1 x 1 threads exceed"):
        loaded(STORE, "cuda", "f")(np.zeros(4, "f4"), 0, 2000)


@pytest.mark.slow
def test_numbers_of_threads_fit_in_32_bits() -> None:
    program = gcg.compile(BATCH, target="cuda")
    program.products(numbers(7, 4, 5), numbers(7, 5, 6), np.zeros((7, 4, 6), "f4"))
    (spec,) = program["products"].executable().kernels
    kernel = CudaKernel.on(emulated_device.current(), spec)
    with pytest.raises(errors.IndexTooLarge, match="number of threads"):
        kernel.launch((2**31 - 1, 1, 1), (32, 8, 1), ())


# -- several devices -------------------------------------------------------------------


def test_the_device_of_the_arguments_is_used(add: Any) -> None:
    with emulated_device.using(1) as second:
        a, b = xp.asarray(numbers(3, 4)), xp.asarray(numbers(3, 4))
    before = second.launches, emulated_device.device(0).launches
    add(a, b)
    after = second.launches, emulated_device.device(0).launches
    assert (after[0] - before[0], after[1] - before[1]) == (1, 0)
    np.testing.assert_array_equal(b.get(), 2 * numbers(3, 4))


def test_arguments_on_several_devices_are_refused(add: Any) -> None:
    a = xp.asarray(numbers(3, 4))
    with emulated_device.using(1):
        b = xp.asarray(numbers(3, 4))
    with pytest.raises(errors.WrongDevice, match="emulated device 1"):
        add(a, b)


class Described:
    def __init__(self, address: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (3, 4),
            "typestr": "<f4",
            "data": (address, False),
            "version": 3,
        }


def test_arrays_of_other_libraries(add: Any) -> None:
    a, b = xp.asarray(numbers(3, 4)), xp.asarray(numbers(3, 4))
    add(Described(a.data.ptr), Described(b.data.ptr))
    np.testing.assert_array_equal(b.get(), 2 * numbers(3, 4))
    with pytest.raises(errors.UnreadableBuffer, match="not in the memory"):
        add(a, Described(64))


def test_parts_of_another_library_s_array_lie_within_its_reach() -> None:
    """From its lowest byte to its highest, whichever way its strides go."""
    row = "memref<?xf32, strided<[?], offset: ?>>"
    part = gcg.compile(
        f"""func.func @part(%a: {row}) -> {row} {{
  %v = memref.subview %a[1][5][3]
    : {row} to memref<5xf32, strided<[?], offset: ?>>
  %w = memref.cast %v : memref<5xf32, strided<[?], offset: ?>> to {row}
  return %w : {row}
}}""",
        target="cuda",
    ).part
    a = xp.asarray(np.arange(32, dtype="f4"))
    for taken in (slice(None), slice(None, None, 2), slice(None, None, -2)):
        other = Described(0)
        other.__cuda_array_interface__ = a[taken].__cuda_array_interface__
        np.testing.assert_array_equal(
            part(other).get(), np.arange(32, dtype="f4")[taken][1:16:3]
        )


# -- the cache -------------------------------------------------------------------------


@pytest.mark.slow
def test_code_comes_back_from_the_disk_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = gcg.compile(BATCH, target="cuda")
    program.products(numbers(7, 4, 5), numbers(7, 5, 6), np.zeros((7, 4, 6), "f4"))
    (spec,) = program["products"].executable().kernels
    text = compilation.compile_ptx(spec)
    monkeypatch.setattr(compilation, "_compiled", None)
    assert compilation.compile_ptx(spec) == text


@pytest.mark.ptxas
def test_machine_code_comes_back_from_the_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = gcg.compile(BATCH, target="cuda")
    program.products(numbers(7, 4, 5), numbers(7, 5, 6), np.zeros((7, 4, 6), "f4"))
    (spec,) = program["products"].executable().kernels
    made = compilation.compile_cubin(spec)
    monkeypatch.setattr(compilation, "assemble", None)
    assert compilation.compile_cubin(spec) == made
    assert made.code.startswith(b"\x7fELF")
    assert made.registers > 0
