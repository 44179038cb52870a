"""Compilations put the garbage collector off, and back on whatever happens."""

from __future__ import annotations

import gc
from collections.abc import Generator

import numpy as np
import pytest

import gpucodegen as gcg

TEXT = """func.func @f(%x: memref<4xf32>) {
  affine.for %i = 0 to 4 {
    "my.note"() : () -> ()
    %v = affine.load %x[%i] : memref<4xf32>
    %w = arith.addf %v, %v : f32
    affine.store %w, %x[%i] : memref<4xf32>
  }
  return
}"""
SILENT = TEXT.replace('"my.note"() : () -> ()', "")


@pytest.fixture(params=[True, False], ids=["on", "off"])
def enabled(request: pytest.FixtureRequest) -> Generator[bool]:
    was = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if was else gc.disable)()


def test_the_collector_is_as_it_was_before(enabled: bool) -> None:
    x = np.ones(4, np.float32)
    gcg.compile(SILENT, target="cpu", threads=1).f(x)
    assert gc.isenabled() == enabled
    assert np.array_equal(x, np.full(4, 2))


def test_it_is_so_after_an_error_too(enabled: bool) -> None:
    with pytest.raises(gcg.Error):
        gcg.compile(TEXT, target="cpu")
    unknown = TEXT.replace("() : () -> ()", "(%x) : (memref<4xf32>) -> ()")
    with pytest.raises(gcg.CompileError):
        gcg.compile(unknown, target="cpu", allow_unregistered=True).f(np.ones(4, "f4"))
    assert gc.isenabled() == enabled


def test_functions_of_the_caller_run_with_the_collector(enabled: bool) -> None:
    seen: list[bool] = []

    def note() -> None:
        seen.append(gc.isenabled())

    gcg.compile(TEXT, target="cpu", handlers={"my.note": note}).f(np.ones(4, "f4"))
    assert seen == [enabled] * 4
