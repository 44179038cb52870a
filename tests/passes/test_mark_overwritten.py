"""Which arguments travel to the device, and which back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.prepare.argument_facts import MarkOverwritten
from gpucodegen.runtime.cuda.engine import CudaEngine
from gpucodegen.runtime.devices.emulated_device import EmulatedDevice
from gpucodegen.runtime.host.buffers import Buffer

TEXT = """func.func @f(%A: memref<4x8xf32>, %B: memref<4x8xf32>, %C: memref<4x8xf32>,
                  %D: memref<4x8xf32>) {{
  {before}
  affine.for %i = 0 to 4 {{
    affine.for %j = 0 to 8 {{
      %0 = affine.load %A[%i, %j] : memref<4x8xf32>
      {inside}
      affine.store %0, %B[%i, 7 - %j] : memref<4x8xf32>
      %1 = affine.load %B[%i, 7 - %j] : memref<4x8xf32>
      %2 = affine.load %C[%i, %j] : memref<4x8xf32>
      %3 = arith.addf %1, %2 : f32
      affine.store %3, %C[%i, %j] : memref<4x8xf32>
    }}
    %4 = affine.load %A[%i, 0] : memref<4x8xf32>
    affine.store %4, %D[%i, 3] : memref<4x8xf32>
  }}
  return
}}
func.func private @look(memref<4x8xf32>)"""


def text(before: str = "", inside: str = "") -> str:
    return TEXT.format(before=before, inside=inside)


def marks(source: str) -> str:
    function = run_pipeline(gcg.parse(source), [MarkOverwritten()]).functions["f"]
    return str(function.attributes.get("gcg.overwritten", ""))


def test_only_what_is_wholly_overwritten_before_it_is_read():
    assert marks(text()) == "array<i32: 1>"


@pytest.mark.parametrize(
    ("before", "inside"),
    [
        ("%c = affine.load %B[2, 2] : memref<4x8xf32>", ""),
        ("func.call @look(%B) : (memref<4x8xf32>) -> ()", ""),
        ("", "%c = affine.load %B[3, 0] : memref<4x8xf32>"),
    ],
)
def test_what_is_read_before_is_not_marked(before: str, inside: str):
    assert marks(text(before, inside)) == ""


def test_an_unknown_extent_is_not_overwritten():
    assert marks(text().replace("memref<4x8xf32>", "memref<4x?xf32>")) == ""


def test_writes_that_may_not_happen_do_not_count():
    doubtful = text().replace(
        "affine.store %0, %B[%i, 7 - %j] : memref<4x8xf32>",
        """%p = arith.cmpf ogt, %0, %0 : f32
        scf.if %p {
          affine.store %0, %B[%i, 7 - %j] : memref<4x8xf32>
        }""",
    )
    assert marks(doubtful) == ""


def test_the_mark_reaches_the_executable():
    found = gcg.compile(text(), target="sim")["f"].executable("sim")
    assert found.artifact.overwritten == (False, True, False, False)
    assert found.artifact.written == (False, True, True, True)


def test_copies_of_one_call(monkeypatch: pytest.MonkeyPatch):
    moves: dict[str, list[int]] = {"upload": [], "fetch": []}
    for name, noted in moves.items():
        plain = getattr(EmulatedDevice, name)

        def move(
            device: Any, array: Any, *rest: Any, plain: Any = plain, noted: Any = noted
        ) -> Any:
            noted.append(array.data.ptr)
            return plain(device, array, *rest)

        monkeypatch.setattr(EmulatedDevice, name, move)
    arrays = [np.full((4, 8), float(n), np.float32) for n in range(4)]
    buffers = [Buffer.of(a, "f32") for a in arrays]
    found = gcg.compile(text(), target="sim")["f"].executable("sim")
    engine = CudaEngine().for_call(buffers)
    kept = found.artifact
    to_device, from_device = engine.transfers(buffers, kept.written, kept.overwritten)
    resident = to_device()
    engine.fill(resident[1], 7)
    from_device()
    places = [buffer.pointer for buffer in resident]
    assert moves == {"upload": [places[0], *places[2:]], "fetch": places[1:]}
    assert np.all(arrays[1] == 7)
    assert engine.wants_numpy
