"""Uses of buffers after their ``dealloc``."""

from __future__ import annotations

import pytest

from gpucodegen import errors
from gpucodegen.parser import parse_module
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline

FUNCTION = """
func.func @f(%x: f32, %c: i1, %i: index) {{
  %a = memref.alloc() : memref<4xf32>
  {body}
  return
}}
"""
FREE = "memref.dealloc %a : memref<4xf32>"
STORE = "memref.store %x, %a[%i] : memref<4xf32>"
VIEW = "%v = memref.cast %a : memref<4xf32> to memref<?xf32>"
STORE_VIEW = "memref.store %x, %v[%i] : memref<?xf32>"
FREE_VIEW = "memref.dealloc %v : memref<?xf32>"


def check(*body: str) -> None:
    text = FUNCTION.format(body="\n  ".join(body))
    run_pipeline(parse_module(text), parse_pipeline("check-lifetimes"))


@pytest.mark.cases(
    "body",
    [
        (STORE, FREE),
        (VIEW, STORE_VIEW, FREE),
        ("scf.if %c {", FREE, "}"),
        ("scf.if %c {", FREE, "} else {", STORE, FREE, "}"),
    ],
)
def test_what_ends_with_the_dealloc_is_fine(body: tuple[str, ...]):
    check(*body)


@pytest.mark.cases(
    ("body", "line"),
    [
        ((FREE, STORE), 5),
        ((FREE, FREE), 5),
        ((VIEW, FREE, STORE_VIEW), 6),
        ((VIEW, FREE_VIEW, STORE), 6),
        ((FREE, "scf.if %c {", STORE, "}"), 6),
    ],
)
def test_later_uses_are_refused_with_both_places(body: tuple[str, ...], line: int):
    with pytest.raises(errors.UseAfterFree, match="%a, which is freed") as caught:
        check(*body)
    assert caught.value.place is not None
    assert caught.value.place.line == line
    assert "freed here" in str(caught.value)
