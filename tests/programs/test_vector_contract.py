"""``vector.contract`` of any maps, types and kinds, outside of loops and inside."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

M, N, K = 4, 16, 7
EXTENTS = {"i": M, "j": N, "k": K}
TYPES = {
    "f32": ("f4", "f4"),
    "i32": ("i4", "i4"),
    "f16, f32": ("f2", "f4"),
    "i8, i32": ("i1", "i4"),
}


def shape(indices: str) -> tuple[int, ...]:
    return tuple(EXTENTS[i] for i in indices)


def text(maps: tuple[str, str, str], types: str, kind: str) -> str:
    factor, _, total = types.partition(", ")
    elements = factor, factor, total or factor
    extents = ["x".join(map(str, shape(m))) for m in maps]
    names = list(zip("ABC", extents, elements, strict=True))
    arguments = ", ".join(f"%{n}: memref<{e}x{t}>" for n, e, t in names)
    zeros = [", ".join(["%z"] * len(m)) for m in maps]
    loads = "\n".join(
        f"%{n.lower()} = vector.load %{n}[{z}] : memref<{e}x{t}>, vector<{e}x{t}>"
        for (n, e, t), z in zip(names, zeros, strict=True)
    )
    a, b, c = (f"vector<{e}x{t}>" for _, e, t in names)
    affine = ", ".join(f"affine_map<(i, j, k) -> ({', '.join(m)})>" for m in maps)
    words = ", ".join(f'"{"parallel" if i in maps[2] else "reduction"}"' for i in "ijk")
    return f"""func.func @f({arguments}, %n: index) {{
      %z = arith.constant 0 : index
      affine.for %t = 0 to %n {{
        {loads}
        %d = vector.contract {{indexing_maps = [{affine}], iterator_types = [{words}],
          kind = #vector.kind<{kind}>}} %a, %b, %c : {a}, {b} into {c}
        vector.store %d, %C[{zeros[2]}] : memref<{extents[2]}x{elements[2]}>, {c}
      }}
      return
    }}"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["add", "max"])
@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize(
    "maps",
    [("ik", "kj", "ij"), ("ki", "jk", "ji"), ("ik", "kj", "j"), ("jk", "ik", "i")],
)
def test_contractions_of_vectors(maps: tuple[str, str, str], types: str, kind: str):
    factor, total = TYPES[types]
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape(m)).astype(factor) for m in maps[:2])
    c = rng.integers(-3, 4, shape(maps[2])).astype(total)
    mlir_kind = {"add": "add", "max": "maximumf" if total == "f4" else "maxsi"}[kind]
    expected = c.astype("f8")
    for i, j, k in np.ndindex(M, N, K):
        at = {"i": i, "j": j, "k": k}
        x, y, cell = (tuple(at[n] for n in m) for m in maps)
        term = float(a[x]) * float(b[y])
        old = expected[cell]
        expected[cell] = old + term if kind == "add" else max(old, term)
    gcg.compile(text(maps, types, mlir_kind), target="cpu").f(a, b, c, 1)
    np.testing.assert_array_equal(c, expected)


def test_a_number_results():
    program = gcg.compile(
        """func.func @f(%A: memref<8xf32>, %B: memref<8xf32>, %s: f32) -> f32 {
          %z = arith.constant 0 : index
          %a = vector.load %A[%z] : memref<8xf32>, vector<8xf32>
          %b = vector.load %B[%z] : memref<8xf32>, vector<8xf32>
          %d = vector.contract {indexing_maps = [affine_map<(k) -> (k)>,
            affine_map<(k) -> (k)>, affine_map<(k) -> ()>],
            iterator_types = ["reduction"]}
            %a, %b, %s : vector<8xf32>, vector<8xf32> into f32
          return %d : f32
        }""",
        target="cpu",
    )
    a, b = np.arange(8, dtype="f4"), np.ones(8, "f4")
    assert program.f(a, b, 2.0) == 30
