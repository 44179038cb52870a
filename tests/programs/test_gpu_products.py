"""Products on the emulated device: edges, orders of memory, batches, parts of sums."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.dialects.gpu import known_block
from tests.passes.lowering import apply

MAPS = {
    "nn": ("i, k", "k, j"),
    "tn": ("k, i", "k, j"),
    "nt": ("i, k", "j, k"),
    "tt": ("k, i", "j, k"),
}


def product(order: str, rows: int, columns: int, terms: int, element: str) -> str:
    sizes = {"i": rows, "j": columns, "k": terms}
    left, right = MAPS[order]
    types = [
        "memref<" + "x".join(str(sizes[d]) for d in dims.split(", ")) + f"x{element}>"
        for dims in (left, right, "i, j")
    ]
    maps = ", ".join(
        f"affine_map<(i, j, k) -> ({dims})>" for dims in (left, right, "i, j")
    )
    multiply, add = ("mulf", "addf") if element[0] == "f" else ("muli", "addi")
    return f"""
func.func @f(%A: {types[0]}, %B: {types[1]}, %C: {types[2]}) {{
  linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%A, %B : {types[0]}, {types[1]}) outs(%C : {types[2]}) {{
    ^bb0(%a: {element}, %b: {element}, %c: {element}):
      %p = arith.{multiply} %a, %b : {element}
      %s = arith.{add} %c, %p : {element}
      linalg.yield %s : {element}
  }}
  return
}}"""


def computed(text: str, *arrays: np.ndarray) -> np.ndarray:
    last = arrays[-1].copy()
    gcg.compile(text, target="sim")["f"](*arrays[:-1], last)
    return last


KINDS = {"f32": "f4", "f64": "f8", "i32": "i4"}
SHAPES = [(64, 64, 32), (33, 47, 19), (40, 36, 20), (130, 7, 5), (1, 65, 3)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("order", MAPS)
@pytest.mark.sampled(15)
def test_both_orders_of_memory(order: str, shape: tuple[int, int, int]) -> None:
    check(order, shape, "f32")


@pytest.mark.parametrize("element", KINDS)
@pytest.mark.sampled(2)
def test_elements(element: str) -> None:
    check("nn", (36, 20, 24), element)


def check(order: str, shape: tuple[int, int, int], element: str) -> None:
    rows, columns, terms = shape
    rng = np.random.default_rng(1)

    def made(*shape: int) -> np.ndarray:
        return rng.integers(-4, 5, shape).astype(KINDS[element])

    a, b, c = made(rows, terms), made(terms, columns), made(rows, columns)
    left = a if order[0] == "n" else np.ascontiguousarray(a.T)
    right = b if order[1] == "n" else np.ascontiguousarray(b.T)
    found = computed(product(order, *shape, element), left, right, c)
    np.testing.assert_array_equal(found, c + a @ b)


@pytest.mark.parametrize("offset", [1, 2])
def test_arrays_that_begin_between_two_words(offset: int) -> None:
    """Rows of whole words, whose first one no access of 16 bytes may load."""
    rng = np.random.default_rng(2)
    flat = [rng.integers(-4, 5, 64 * 64 + 4).astype("f4") for _ in range(3)]
    a, b, c = (x[offset : offset + 64 * 64].reshape(64, 64) for x in flat)
    found = computed(product("nn", 64, 64, 64, "f32"), a, b, c)
    np.testing.assert_array_equal(found, c + a @ b)


def test_parts_of_a_long_sum() -> None:
    rng = np.random.default_rng(3)
    a, b, c = (
        rng.integers(-4, 5, shape).astype("f4")
        for shape in ((32, 4096), (4096, 40), (32, 40))
    )
    compiled = gcg.compile(product("nn", 32, 40, 4096, "f32"), target="sim")["f"]
    assert len(compiled.executable().kernels) == 2
    found = computed(product("nn", 32, 40, 4096, "f32"), a, b, c)
    np.testing.assert_array_equal(found, c + a @ b)


@pytest.mark.parametrize("tile", [[32, 32, 8, 4, 4], [16, 16, 4, 4, 2]])
def test_a_plan_of_the_caller(tile: list[int]) -> None:
    sizes = ",".join(map(str, tile))
    pipeline = f"linalg-to-affine,map-gpu{{tile=[{sizes}]}}"
    module = apply(pipeline, product("nn", 40, 33, 20, "f32"))
    (kernel,) = (op for op in module.walk() if op.name == "gpu.func")
    rows, columns, _, down, across = tile
    assert known_block(kernel) == (rows // down * (columns // across), 1, 1)
