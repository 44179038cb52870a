"""A warning names the caller's line, whatever part of the package gives it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline

UNREAD = """func.func @f(%A: memref<4xf32>) {
  %local = memref.alloc() : memref<4xf32>
  affine.for %i = 0 to 4 {
    %x = affine.load %local[%i] : memref<4xf32>
    affine.store %x, %A[%i] : memref<4xf32>
  }
  memref.dealloc %local : memref<4xf32>
  return
}"""


def parsing() -> None:
    gcg.parse("func.func @outside()")


def analysing() -> None:
    gcg.analyze(gcg.parse(UNREAD))


def running_passes() -> None:
    run_pipeline(gcg.parse(UNREAD), parse_pipeline("check-reads"))


def calling() -> None:
    gcg.compile(UNREAD, target="cpu").f(np.zeros(4, "f4"))


def writing_the_cache() -> None:
    from gpucodegen.runtime.storage import cache

    below_a_file = str(Path(__file__) / "cache")
    with patch.dict(os.environ, GPUCODEGEN_CACHE_DIR=below_a_file):
        cache.Store("any").put("key", b"")


@pytest.mark.cases(
    "act", [parsing, analysing, running_passes, calling, writing_the_cache]
)
def test_a_warning_points_at_the_line_that_called_us(act: Callable[[], None]) -> None:
    with pytest.warns(errors.CodegenWarning) as told:
        act()
    lines, first = inspect.getsourcelines(act)
    for warning in told:
        assert Path(warning.filename) == Path(__file__)
        assert first <= warning.lineno < first + len(lines)
