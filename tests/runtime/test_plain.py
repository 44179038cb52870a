"""Records on disk: JSON of a few named classes, and the same records again."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.compiling import artifact
from gpucodegen.emit.copy_plan import PlannedTransfer
from gpucodegen.ir.locations import FileLoc
from gpucodegen.runtime.host.spec import Constant, KernelSpec, Param
from gpucodegen.runtime.storage import records as plain

SPEC = KernelSpec(
    "k", "def k(A): ...\n", (Param("A", "pointer", "f32"),), block=(8, 1, 1)
)
PLACED = PlannedTransfer("dma_start", "%a", "copy", "short", 4, FileLoc("f.mlir", 2, 3))


@pytest.mark.parametrize("record", [SPEC, PLACED], ids=lambda r: type(r).__name__)
def test_a_record_comes_back(record: object) -> None:
    written = plain.dumped(record)
    assert plain.loaded(written) == record
    assert json.loads(written)["class"] == type(record).__name__


@pytest.mark.cases(
    "values",
    [(1.5, -0.0, math.inf), (2**63, 1), (True, False), (1 + 2j,), (), (-1,)],
    ids=str,
)
def test_constants_keep_their_numbers(values: tuple[Any, ...]) -> None:
    constant = Constant((len(values),), "f64", np.asarray(values))
    back = plain.loaded(plain.dumped(constant))
    assert back.shape == constant.shape
    assert back.values.dtype == constant.values.dtype
    assert back.values.tobytes() == constant.values.tobytes()


def test_tuples_mappings_and_what_is_none_come_back() -> None:
    value = {"a": (1, (2.5, None)), "b": {"c": "\n\"'"}}
    assert plain.loaded(plain.dumped(value)) == value
    assert math.isnan(plain.loaded(plain.dumped(math.nan)))


@pytest.mark.cases(
    "value",
    [object(), {1: 2}, {"class": "Param"}, Path(), np.array([{}]), {1, 2}, b"", len],
    ids=lambda value: type(value).__name__,
)
def test_anything_else_is_no_data(value: object) -> None:
    with pytest.raises(TypeError):
        plain.dumped((value,))


def test_only_named_classes_are_made() -> None:
    with pytest.raises(KeyError):
        plain.loaded(b'{"class": "Path"}')


TABLE = """
memref.global "private" constant @table : memref<3xf64> = dense<[1.5, -0.0, 4.0]>
func.func @f(%x: memref<3xf64>) {
  %t = memref.get_global @table : memref<3xf64>
  affine.for %i = 0 to 3 {
    %v = affine.load %t[%i] : memref<3xf64>
    affine.store %v, %x[%i] : memref<3xf64>
  }
  return
}"""


def test_a_program_with_constants_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    first, later = np.zeros(3), np.zeros(3)
    gcg.compile(TABLE, target="cpu").f(first)
    kept: list[artifact.Artifact | None] = []
    load = artifact.load
    counted = lambda key: kept.append(load(key)) or kept[-1]  # noqa: E731
    monkeypatch.setattr(artifact, "load", counted)
    gcg.compile(TABLE, target="cpu").f(later)
    assert first.tobytes() == later.tobytes() == np.array([1.5, -0.0, 4.0]).tobytes()
    assert kept[-1] is not None
