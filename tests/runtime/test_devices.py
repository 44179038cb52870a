"""The devices behind CUDA: packed arguments, arrays, limits, and what CuPy is asked."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from weakref import ref

import numpy as np
import pytest

from gpucodegen import errors
from gpucodegen.commands import doctor
from gpucodegen.runtime.cuda.kernel_launch import ArgumentLayout
from gpucodegen.runtime.devices import choice, emulated_device, inventory
from gpucodegen.runtime.devices import emulated_cupy as xp
from gpucodegen.runtime.host.buffers import Buffer
from gpucodegen.runtime.host.spec import KernelSpec, Param
from tests.ptx.kernels import entry

SCALARS = {
    "i1": (True, "?"),
    "f64": (1.5, "d"),
    "i8": (-3, "b"),
    "index": (2**31 - 1, "i"),
    "complex<f32>": (1 - 2j, "ff"),
    "i16": (-300, "h"),
    "bf16": (0.5, "f"),
    "i64": (-(2**63), "q"),
}


def layout_of(*dtypes: str) -> ArgumentLayout:
    params = tuple(Param(f"p{i}", "scalar", ty) for i, ty in enumerate(dtypes))
    return ArgumentLayout.of(KernelSpec("k", "", params))


def test_arguments_lie_at_their_natural_alignment() -> None:
    layout = layout_of(*SCALARS)
    packed = layout.pack([value for value, _ in SCALARS.values()])
    form = "@" + "".join(part for _, part in SCALARS.values())
    assert struct.unpack(form, packed.contents) == (
        *(True, 1.5, -3, 2**31 - 1),
        *(1.0, -2.0, -300, 0.5, -(2**63)),
    )
    assert layout.offsets == (0, 8, 16, 20, 24, 28, 32, 36, 40)


def test_numbers_beyond_a_float_are_infinite() -> None:
    with np.errstate(over="ignore"):
        (found,) = struct.unpack("f", layout_of("f32").pack([1e300]).contents)
    assert found == float("inf")


def test_pointers_between_elements_are_refused() -> None:
    memory = xp.asarray(np.zeros(16, "u1"))
    place = memory.data.ptr + 1
    shifted = memory.device.view(memory, place, (2,), (4,), np.dtype("f4"))
    layout = ArgumentLayout.of(KernelSpec("k", "", (Param("a", "pointer", "f32"),)))
    with pytest.raises(errors.MisalignedAccess, match="4 bytes at a"):
        layout.pack([Buffer.of(shifted, "f32")])


@pytest.mark.parametrize(("ty", "given", "kept"), [("i8", 200, -56), ("i64", 2**63, 0)])
def test_unsigned_numbers_keep_their_bits(ty: str, given: int, kept: int) -> None:
    packed = layout_of(ty).pack([given])
    (found,) = struct.unpack({"i8": "b", "i64": "q"}[ty], packed.contents)
    assert found == (kept or -(2**63))


# -- arrays of the emulated device -----------------------------------------------------


def test_arrays_come_and_go_whole() -> None:
    here = np.arange(24.0).reshape(4, 6)
    there = xp.asarray(here)
    np.testing.assert_array_equal(there.get(), here)
    np.testing.assert_array_equal(there[1:, ::-2].T.get(), here[1:, ::-2].T)
    np.testing.assert_array_equal(there[2, 3].get(), here[2, 3])
    there[0] = there[3]
    there[1, 1] = 7
    assert there.get()[:2, 1].tolist() == [19, 7]
    assert there.flags.c_contiguous
    assert there.T.flags.f_contiguous


def test_nothing_travels_by_accident() -> None:
    there = xp.zeros((4, 6))
    with pytest.raises(TypeError, match="brought here by"):
        np.asarray(there)
    with pytest.raises(TypeError, match=r"come here by \.set"):
        there[...] = np.zeros((4, 6))  # pyright: ignore[reportArgumentType]
    with pytest.raises(RuntimeError, match="contiguous"):
        there[:, ::2].set(np.zeros((4, 3)))


def test_memory_goes_back_with_its_last_array() -> None:
    memory = emulated_device.current().memory
    used = memory.used
    whole = xp.zeros((1000,), "f4")
    part = whole[10:20]
    del whole
    assert memory.used == used + 4000
    del part
    assert memory.used == used


def test_a_module_lives_as_long_as_its_kernels() -> None:
    device = emulated_device.device(0)
    text = entry("u32", "ret;").encode()
    kernels = [device.load("k", text) for _ in range(2)]
    assert kernels[0].module is kernels[1].module
    module = ref(kernels[0].module)
    kernels.pop()
    assert module() is not None
    kernels.pop()
    assert module() is None


def test_a_device_has_so_much_memory() -> None:
    with pytest.raises(errors.OutOfMemory):
        xp.empty((1 << 40,), "f8")


# -- the choice ------------------------------------------------------------------------


def test_unknown_devices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(choice.VARIABLE, "tpu")
    with pytest.raises(errors.UnknownDevice, match="'tpu'"):
        choice.current()


def test_doctor_names_the_emulated_device(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert doctor.run(SimpleNamespace(json=False)) == 0  # pyright: ignore[reportArgumentType]
    assert "emulated device 0" in capsys.readouterr().out
    monkeypatch.delenv(choice.VARIABLE)
    assert not any(
        "target cuda runs" in line for line in inventory.lines(inventory.record())
    )
