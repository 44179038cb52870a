"""Kernels of the product's own pipeline, with the launches of their programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import ptx
from gpucodegen.runtime.devices import emulated_cupy as xp
from tests.programs.bulk_texts import USES, doubled
from tests.programs.own_tiles import OwnTiles

EXAMPLES = Path(__file__).parents[2] / "examples"


def typed(name: str, *shapes: str) -> str:
    """``%a: memref<...>, %b: ...`` and the types alone, for a named operation."""
    letters = "abc"
    each = [f"%{n}: memref<{s}>" for n, s in zip(letters, shapes, strict=False)]
    ins = [f"memref<{s}>" for s in shapes[:-1]]
    names = ", ".join(f"%{n}" for n, _ in zip(letters, ins, strict=False))
    last = letters[len(ins)]
    return (
        f"func.func @f({', '.join(each)}) {{\n  {name} ins({names} : {', '.join(ins)})"
        f" outs(%{last} : memref<{shapes[-1]}>)"
    )


ELEMENTS = """func.func @f(%a: memref<37x21xf32>, %b: memref<37x21xf32>) {
  affine.for %i = 0 to 37 { affine.for %j = 0 to 21 {
    %x = affine.load %a[%i, %j] : memref<37x21xf32>
    %y = arith.mulf %x, %x : f32
    affine.store %y, %b[%i, %j] : memref<37x21xf32>
  } }
  return }"""
STENCIL = """func.func @f(%a: memref<20x42xf32>, %b: memref<20x42xf32>) {
  affine.for %i = 1 to 19 { affine.for %j = 1 to 41 {
    %w = affine.load %a[%i, %j - 1] : memref<20x42xf32>
    %e = affine.load %a[%i, %j + 1] : memref<20x42xf32>
    %n = affine.load %a[%i - 1, %j] : memref<20x42xf32>
    %s = affine.load %a[%i + 1, %j] : memref<20x42xf32>
    %x = arith.addf %w, %e : f32
    %y = arith.addf %n, %s : f32
    %z = arith.addf %x, %y : f32
    affine.store %z, %b[%i, %j] : memref<20x42xf32>
  } }
  return }"""


def stencil(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    b = b.copy()
    b[1:-1, 1:-1] = (a[1:-1, :-2] + a[1:-1, 2:]) + (a[:-2, 1:-1] + a[2:, 1:-1])
    return b


def convolved(a: np.ndarray, w: np.ndarray, c: np.ndarray) -> np.ndarray:
    patches = np.lib.stride_tricks.sliding_window_view(a, (3, 3), (1, 2))
    return c + np.einsum("nijchw,hwcf->nijf", patches, w)


@dataclass(frozen=True)
class Program:
    """MLIR with one kernel that matters, arguments, and what the last one becomes."""

    text: str
    entry: str
    shapes: Sequence[tuple[int, ...]]
    kind: str
    answer: Callable[..., np.ndarray]
    plan: Mapping[str, int] = field(default_factory=dict[str, int])
    arch: str = ""

    def arguments(self) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        return [rng.integers(-4, 5, shape).astype(self.kind) for shape in self.shapes]


def matmul(kind: str) -> Program:
    element = {"f4": "f32", "f8": "f64"}[kind]
    text = typed(
        "linalg.matmul", *(f"{s}x{element}" for s in ("64x80", "80x64", "64x64"))
    )
    shapes = (64, 80), (80, 64), (64, 64)
    return Program(
        f"{text}\n  return }}",
        "f",
        shapes,
        kind,
        lambda a, b, c: c + a @ b,
        {"product.direct": 3},
    )


PROGRAMS = {
    "elementwise": Program(ELEMENTS, "f", [(37, 21)] * 2, "f4", lambda a, _: a * a),
    "copy": Program(
        typed("linalg.copy", "64x64xf32", "64x64xf32") + "\n  return }",
        "f",
        [(64, 64)] * 2,
        "f4",
        lambda a, _: a,
    ),
    "transpose": Program(
        typed("linalg.transpose", "40x72xf32", "72x40xf32")
        + " permutation = [1, 0]\n  return }",
        "f",
        [(40, 72), (72, 40)],
        "f4",
        lambda a, _: a.T,
    ),
    "stencil": Program(STENCIL, "f", [(20, 42)] * 2, "f4", stencil),
    "row sums": Program(
        typed("linalg.reduce", "21x37xf32", "21xf32")
        + """ dimensions = [1] (%x: f32, %y: f32) {
        %z = arith.addf %x, %y : f32
        linalg.yield %z : f32 }
  return }""",
        "f",
        [(21, 37), (21,)],
        "f4",
        lambda a, b: b + a.sum(1),
    ),
    "matmul f32": matmul("f4"),
    "matmul f64": matmul("f8"),
    "convolution": Program(
        typed(
            "linalg.conv_2d_nhwc_hwcf", "1x10x10x8xf32", "3x3x8x16xf32", "1x8x8x16xf32"
        )
        + "\n  return }",
        "f",
        [(1, 10, 10, 8), (3, 3, 8, 16), (1, 8, 8, 16)],
        "f4",
        convolved,
    ),
    "dma matmul": Program(
        (EXAMPLES / "dma_matmul.mlir").read_text("utf-8"),
        "dma_matmul",
        [(32, 48), (48, 32), (32, 32)],
        "f4",
        lambda a, b, c: c + a @ b,
    ),
    "dma matmul f16": Program(
        OwnTiles((32, 32, 32), sums="f16", flags="fastmath<reassoc>").text,
        "f",
        [(32, 96), (96, 64), (32, 64)],
        "f2",
        lambda a, b, c: c + a @ b,
    ),
    "bulk dma matmul": Program(
        (EXAMPLES / "dma_matmul.mlir").read_text("utf-8"),
        "dma_matmul",
        [(32, 48), (48, 32), (32, 32)],
        "f4",
        lambda a, b, c: c + a @ b,
        arch="sm_90",
        plan={"bulk.row": 64},
    ),
    "bulk there and back": Program(
        doubled(64, blocks=2, trips=3),
        "f",
        [(384,)] * 2,
        "f4",
        lambda x, _: x + x,
        arch="sm_90",
        plan={"bulk.row": 64},
    ),
    "bulk rows changed in place": Program(
        USES["changed in place"],
        "f",
        [(64, 32), (8, 32)],
        "f4",
        lambda x, _: 2 * x.reshape(8, 8, 32).sum(1),
        arch="sm_90",
        plan={"bulk.row": 64},
    ),
}


@dataclass(frozen=True)
class Recorded:
    """One launch of a compiled kernel, which can be repeated with another text.

    ``pointers`` tell which argument the eight bytes at a place point to.
    """

    text: str
    name: str
    grid: Sequence[int]
    block: Sequence[int]
    parameters: bytes
    pointers: dict[int, int]
    program: Program

    def run(self, text: str) -> bool:
        """Launch a text; whether the last array is right.  Raises `Fault`."""
        memory = ptx.Memory(limit=1 << 22)
        arguments = self.program.arguments()
        packed = bytearray(self.parameters)
        places: list[int] = []
        for number, array in enumerate(arguments):
            places.append(memory.allocate(array.nbytes))
            memory.bytes(places[-1], array.nbytes)[:] = array.reshape(-1).view("u1")
            for offset, which in self.pointers.items():
                if which == number:
                    packed[offset : offset + 8] = np.uint64(places[-1]).tobytes()
        module = ptx.Module(text)
        module.launch(self.name, self.grid, self.block, bytes(packed), memory)
        last = arguments[-1]
        found = memory.bytes(places[-1], last.nbytes).view(last.dtype)
        right = self.program.answer(*arguments)
        return np.array_equal(found.reshape(last.shape), right)


@cache
def recorded(name: str) -> Recorded:
    """The only launch of a program, as the program makes it on the emulated device."""
    program = PROGRAMS[name]
    compiled = gcg.compile(
        program.text, target="cuda", plan=program.plan, arch=program.arch
    )
    call = compiled[program.entry]
    arrays = [xp.asarray(a) for a in program.arguments()]
    seen: list[tuple[ptx.Module, str, Any, Any, bytes]] = []
    plain = ptx.Module.launch

    def launch(module: ptx.Module, *given: Any, **options: Any) -> ptx.Run:
        kernel, grid, block, packed = given[:4]
        seen.append((module, kernel, grid, block, bytes(packed)))
        return plain(module, *given, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUCODEGEN_DEVICE", "emulated")
        patch.setattr(ptx.Module, "launch", launch)
        call(*arrays)
        arrays[-1].get()
    ((module, kernel, grid, block, packed),) = seen
    starts = [int(a.__cuda_array_interface__["data"][0]) for a in arrays]
    pointers: dict[int, int] = {}
    for parameter in module.entries[kernel].parameters:
        raw = packed[parameter.offset : parameter.offset + parameter.size]
        value = int.from_bytes(raw, "little")
        if parameter.size == 8 and value in starts:
            pointers[parameter.offset] = starts.index(value)
    assert sorted(pointers.values()) == list(range(len(starts)))
    return Recorded(module.text, kernel, grid, block, packed, pointers, program)
