"""Stores that go past the caches: each element once, from any place in a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from vector_runs import kernel, run, vectorized

import gpucodegen as gcg

RNG = np.random.default_rng(5)
LONG = 25000
"""Elements of many whole lines, and some that are left."""


def loop(body: str, size: int, kind: str = "affine.for %i = 0 to {}") -> str:
    return f"{kind.format(size)} {{ {body} }}"


def arguments(size: int, source: str, target: str) -> str:
    given = f"memref<{size}x{source}>"
    return f"%A: {given}, %B: {given}, %C: memref<{size}x{target}>"


def copied(size: int, source: str = "f32") -> str:
    ty = f"memref<{size}x{source}>"
    return f"""%x = affine.load %A[%i] : {ty}
               affine.store %x, %C[%i] : {ty}"""


def added(size: int, source: str = "f32") -> str:
    ty = f"memref<{size}x{source}>"
    return f"""%x = affine.load %A[%i] : {ty}
               %y = affine.load %B[%i] : {ty}
               %z = arith.addf %x, %y : {source}
               affine.store %z, %C[%i] : {ty}"""


def converted(size: int, source: str = "f32") -> str:
    return f"""%x = affine.load %A[%i] : memref<{size}x{source}>
               %z = arith.extf %x : f32 to f64
               affine.store %z, %C[%i] : memref<{size}xf64>"""


def shifted(size: int, offset: int, dtype: str) -> np.ndarray:
    """An array that begins ``offset`` elements after the start of a cache line."""
    width = np.dtype(dtype).itemsize
    whole = np.zeros(size + 128, dtype)
    start = -whole.ctypes.data // width % (64 // width) + offset
    return whole[start : start + size]


@dataclass(frozen=True)
class Form:
    """A body, the types it loads and stores, and what it computes."""

    body: Callable[[int, str], str]
    source: str
    target: str
    answer: Callable[[np.ndarray, np.ndarray], np.ndarray]
    bits: int = 512


FORMS = {
    "copy": Form(copied, "f32", "f32", lambda a, _: a),
    "copy, f64": Form(copied, "f64", "f64", lambda a, _: a),
    "copy, 256 bits": Form(copied, "f32", "f32", lambda a, _: a, bits=256),
    "sum": Form(added, "f32", "f32", lambda a, b: a + b),
    "conversion": Form(converted, "f32", "f64", lambda a, _: a.astype("f8")),
}
KINDS = ["affine.for %i = 0 to {}", "affine.parallel (%i) = (0) to ({})"]
TYPES = {"f32": "f4", "f64": "f8"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.sampled(6)
def test_each_element_is_stored(form: Form, kind: str):
    body = loop(form.body(LONG, form.source), LONG, kind)
    text = kernel(arguments(LONG, form.source, form.target), body, "cpu")
    module = vectorized(text, form.bits, cache=0)
    assert "nontemporal" in str(module)
    a, b = (RNG.standard_normal(LONG).astype(TYPES[form.source]) for _ in range(2))
    for offset in (0, 1, 7):
        c = shifted(LONG, offset, TYPES[form.target])
        c[...] = np.nan
        run(module, "cpu", a, b, c)
        np.testing.assert_array_equal(c, form.answer(a, b))


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_that_are_no_matrix_of_their_own(threads: int):
    """Views of longer rows: each row streams from its first whole line."""
    rows, columns = 40, 40001
    view = f"memref<{rows}x{columns}xf32, strided<[40013, 1]>>"
    text = f"""func.func @f(%A: {view}, %C: {view}) {{
      affine.for %i = 0 to {rows} {{ affine.for %j = 0 to {columns} {{
        %x = affine.load %A[%i, %j] : {view}
        affine.store %x, %C[%i, %j] : {view}
      }} }}
      return
    }}"""
    a = RNG.standard_normal((rows, 40013)).astype("f4")
    c = np.zeros_like(a)
    gcg.compile(text, target="cpu", threads=threads).f(a[:, :columns], c[:, :columns])
    np.testing.assert_array_equal(c[:, :columns], a[:, :columns])
    assert not c[:, columns:].any()


NARROW = {"i8": ("i1", 70001), "i16": ("i2", 40001)}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("source", NARROW)
@pytest.mark.parametrize("bits", [256, 512])
def test_narrow_elements_are_moved_by_whole_registers(source: str, bits: int):
    dtype, size = NARROW[source]
    text = kernel(
        arguments(size, source, source), loop(copied(size, source), size), "cpu"
    )
    module = vectorized(text, bits, cache=0)
    assert f"vector<{bits // int(source[1:])}x{source}>" in str(module)
    assert "nontemporal" in str(module)
    a = RNG.integers(-100, 100, size).astype(dtype)
    for offset in (0, 1, 9):
        c = shifted(size, offset, dtype)
        run(module, "cpu", a, a, c)
        np.testing.assert_array_equal(c, a)


def test_narrow_elements_that_are_computed_stay_as_they_are():
    body = copied(40001, "i8").replace(
        "affine.store %x", "%e = arith.addi %x, %x : i8\n affine.store %e"
    )
    text = kernel(arguments(40001, "i8", "i8"), loop(body, 40001), "cpu")
    assert "vector<" not in str(vectorized(text, 512, cache=0))


def test_narrow_elements_that_stay_in_the_caches_stay_as_they_are():
    text = kernel(arguments(2000, "i8", "i8"), loop(copied(2000, "i8"), 2000), "cpu")
    assert "vector<" not in str(vectorized(text, 512))
