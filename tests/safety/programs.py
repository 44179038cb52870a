"""Made programs whose extents, indices, strides or element types may be wrong.

Comes in: a random generator.  Goes out: a `Made` program with its arguments, and what
it means: a function on plain arrays that raises `OutsideError` where an access leaves
its buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from .reference import OutsideError, at, put, window

FLOATS = ("f32", "f64")
DTYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i32": np.int32}


@dataclass(frozen=True, slots=True)
class Array:
    """An array argument: what it holds and how it lies in memory."""

    values: np.ndarray
    strides: tuple[int, ...] = ()
    dtype: Any = None

    @property
    def steps(self) -> tuple[int, ...]:
        """Strides in elements."""
        if self.strides:
            return self.strides
        steps = [1]
        for extent in self.values.shape[:0:-1]:
            steps.insert(0, steps[0] * max(extent, 1))
        return tuple(steps)[: self.values.ndim]


@dataclass(frozen=True, slots=True)
class Made:
    """A program ``f``, arguments, and its meaning on them."""

    kind: str
    text: str
    arguments: tuple[Any, ...]
    meaning: Callable[..., None]
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    refused: bool = False
    """Whether the arguments do not fit the types of the program."""


def numbers(r: Random, shape: Sequence[int], dtype: str) -> np.ndarray:
    """Small whole numbers, so that every order of a sum gives the same."""
    seeded = np.random.default_rng(r.randrange(1 << 30))
    return seeded.integers(-4, 5, tuple(shape)).astype(DTYPES[dtype])


def indices(r: Random, count: int, extent: int, dtype: str = "i64") -> np.ndarray:
    """Indices into an extent; with some luck one of them is wrong."""
    found = np.array([r.randrange(max(extent, 1)) for _ in range(count)], np.int64)
    if count and r.random() < 0.5:
        wrong = [-1, extent, extent + 1, -extent - 7, 10**6, -(10**6)]
        wrong += [10**12, -(2**62), 2**61 + 3] if dtype == "i64" else [2**31 - 1]
        found[r.randrange(count)] = r.choice(wrong)
    return found.astype(DTYPES[dtype])


def near(r: Random, extent: int) -> int:
    """An extent, mostly the given one."""
    return max(extent + r.choice([0, 0, 0, -1, 1, 2, -3, 40]), 0)


def options_of(r: Random) -> dict[str, Any]:
    """One or two threads, static or dynamic shapes."""
    return {"threads": r.choice([1, 2]), "specialize": r.random() < 0.5}


# -- affine nests ----------------------------------------------------------------------


def line(r: Random) -> Made:
    """A loop to ``%n`` over two arrays, with a stride and an offset."""
    ty, extent = r.choice(FLOATS), r.randrange(1, 40)
    scale, offset = r.choice([1, 1, 1, 2, 3]), r.choice([0, 0, 1, -1, 5])
    start = r.choice([0, 0, 1])
    text = f"""
func.func @f(%a: memref<?x{ty}>, %b: memref<?x{ty}>, %n: index) {{
  affine.for %i = {start} to %n {{
    %v = affine.load %a[%i * {scale} + {offset}] : memref<?x{ty}>
    affine.store %v, %b[%i] : memref<?x{ty}>
  }}
  return
}}"""
    count = r.choice([extent, extent + 1, max(extent - 2, 0), -3, 10**6])

    def meaning(a: np.ndarray, b: np.ndarray, n: int) -> None:
        for i in range(start, n):
            put(b, at(a, i * scale + offset), i)

    arrays = (
        Array(numbers(r, [near(r, extent * scale + max(offset, 0))], ty)),
        Array(numbers(r, [near(r, extent)], ty)),
    )
    return Made("line", text, (*arrays, count), meaning, options_of(r))


def plane(r: Random) -> Made:
    """Two loops whose bounds are the extents of one of three arrays."""
    ty = r.choice(FLOATS)
    rows, columns = r.randrange(1, 12), r.randrange(1, 30)
    text = f"""
func.func @f(%a: memref<?x?x{ty}>, %b: memref<?x?x{ty}>, %c: memref<?x?x{ty}>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %a, %c0 : memref<?x?x{ty}>
  %n = memref.dim %a, %c1 : memref<?x?x{ty}>
  affine.for %i = 0 to %m {{
    affine.for %j = 0 to %n {{
      %x = affine.load %a[%i, %j] : memref<?x?x{ty}>
      %y = affine.load %b[%j, %i] : memref<?x?x{ty}>
      %z = arith.addf %x, %y : {ty}
      affine.store %z, %c[%i, %j] : memref<?x?x{ty}>
    }}
  }}
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        for i, j in np.ndindex(*a.shape):
            put(c, at(a, i, j) + at(b, j, i), i, j)

    shapes = ([rows, columns], [near(r, columns), near(r, rows)], [near(r, rows)])
    arrays = [Array(numbers(r, shape, ty)) for shape in shapes[:2]]
    arrays.append(Array(numbers(r, [*shapes[2], near(r, columns)], ty)))
    return Made("plane", text, tuple(arrays), meaning, options_of(r))


def product(r: Random) -> Made:
    """A product of matrices, as loops or as linalg, whose extents may disagree."""
    ty = r.choice(FLOATS)
    m, n, k = (r.randrange(1, 20) for _ in range(3))
    named = r.random() < 0.5
    loops = f"""
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %a, %c0 : memref<?x?x{ty}>
  %k = memref.dim %a, %c1 : memref<?x?x{ty}>
  %n = memref.dim %b, %c1 : memref<?x?x{ty}>
  affine.for %i = 0 to %m {{
    affine.for %j = 0 to %n {{
      affine.for %l = 0 to %k {{
        %x = affine.load %a[%i, %l] : memref<?x?x{ty}>
        %y = affine.load %b[%l, %j] : memref<?x?x{ty}>
        %z = affine.load %c[%i, %j] : memref<?x?x{ty}>
        %p = arith.mulf %x, %y : {ty}
        %s = arith.addf %z, %p : {ty}
        affine.store %s, %c[%i, %j] : memref<?x?x{ty}>
      }}
    }}
  }}"""
    whole = f"""
  linalg.matmul ins(%a, %b : memref<?x?x{ty}>, memref<?x?x{ty}>)
    outs(%c : memref<?x?x{ty}>)"""
    text = f"""
func.func @f(%a: memref<?x?x{ty}>, %b: memref<?x?x{ty}>, %c: memref<?x?x{ty}>) {{
{whole if named else loops}
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        fits = (a.shape[0], b.shape[1]) == c.shape and a.shape[1] == b.shape[0]
        if named and not fits:
            raise OutsideError
        if a.shape[0] and b.shape[1] and a.shape[1]:
            window(b, (0, 0), (a.shape[1], b.shape[1]))
            window(c, (0, 0), (a.shape[0], b.shape[1]))
            c[: a.shape[0], : b.shape[1]] += a @ b[: a.shape[1]]

    shapes = ([m, k], [near(r, k), near(r, n)], [near(r, m), near(r, n)])
    arrays = tuple(Array(numbers(r, shape, ty)) for shape in shapes)
    return Made("product", text, arrays, meaning, options_of(r))


def stencil(r: Random) -> Made:
    """Time steps over a stencil, to ``%n`` of an array."""
    ty, extent, steps = r.choice(FLOATS), r.randrange(4, 60), r.randrange(0, 4)
    text = f"""
func.func @f(%a: memref<?x{ty}>, %b: memref<?x{ty}>, %n: index, %t: index) {{
  affine.for %s = 0 to %t {{
    affine.for %i = 1 to affine_map<()[n] -> (n - 1)>()[%n] {{
      %x = affine.load %a[%i - 1] : memref<?x{ty}>
      %y = affine.load %a[%i + 1] : memref<?x{ty}>
      %z = arith.addf %x, %y : {ty}
      affine.store %z, %b[%i] : memref<?x{ty}>
    }}
    affine.for %i = 1 to affine_map<()[n] -> (n - 1)>()[%n] {{
      %x = affine.load %b[%i] : memref<?x{ty}>
      affine.store %x, %a[%i] : memref<?x{ty}>
    }}
  }}
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, n: int, t: int) -> None:
        for _ in range(t):
            for i in range(1, n - 1):
                put(b, at(a, i - 1) + at(a, i + 1), i)
            for i in range(1, n - 1):
                put(a, at(b, i), i)

    arrays = tuple(Array(numbers(r, [near(r, extent)], ty)) for _ in "ab")
    return Made("stencil", text, (*arrays, extent, steps), meaning, options_of(r))


def divided(r: Random) -> Made:
    """Quotients and remainders of a loop variable as indices."""
    ty, extent = r.choice(FLOATS), r.randrange(2, 50)
    d, e = r.randrange(2, 6), r.randrange(2, 6)
    text = f"""
func.func @f(%a: memref<?x?x{ty}>, %b: memref<?x{ty}>, %n: index) {{
  affine.for %i = 0 to %n step {e} {{
    %v = affine.load %a[%i floordiv {d}, %i mod {d}] : memref<?x?x{ty}>
    affine.store %v, %b[%i] : memref<?x{ty}>
  }}
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, n: int) -> None:
        for i in range(0, n, e):
            put(b, at(a, i // d, i % d), i)

    shape = [near(r, -(-extent // d)), r.choice([d, d, d - 1, d + 2])]
    arrays = (Array(numbers(r, shape, ty)), Array(numbers(r, [near(r, extent)], ty)))
    return Made("divided", text, (*arrays, extent), meaning, options_of(r))


# -- what data decide ------------------------------------------------------------------


def gather(r: Random) -> Made:
    """``b[i] = a[idx[i]]``, ``b[idx[i]] = a[i]`` or ``b[idx[i]] += a[i]``."""
    ty, index = r.choice(FLOATS), r.choice(["i64", "i32", "index"])
    form = r.choice(["gather", "scatter", "histogram"])
    extent, count = r.randrange(1, 40), r.randrange(1, 40)
    cast = (
        "%k = arith.addi %j, %c0 : index"
        if index == "index"
        else f"%k = arith.index_cast %j : {index} to index"
    )
    bodies = {
        "gather": f"""
    %v = memref.load %a[%k] : memref<?x{ty}>
    affine.store %v, %b[%i] : memref<?x{ty}>""",
        "scatter": f"""
    %v = affine.load %a[%i] : memref<?x{ty}>
    memref.store %v, %b[%k] : memref<?x{ty}>""",
        "histogram": f"""
    %v = affine.load %a[%i] : memref<?x{ty}>
    %o = memref.load %b[%k] : memref<?x{ty}>
    %s = arith.addf %v, %o : {ty}
    memref.store %s, %b[%k] : memref<?x{ty}>""",
    }
    text = f"""
func.func @f(%a: memref<?x{ty}>, %b: memref<?x{ty}>, %idx: memref<?x{index}>) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %idx, %c0 : memref<?x{index}>
  affine.for %i = 0 to %n {{
    %j = affine.load %idx[%i] : memref<?x{index}>
    {cast}{bodies[form]}
  }}
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, idx: np.ndarray) -> None:
        for i, k in enumerate(map(int, idx)):
            if form == "gather":
                put(b, at(a, k), i)
            else:
                put(b, at(a, i) + (at(b, k) if form == "histogram" else 0), k)

    near_count = near(r, count)
    shapes = ([extent], [near_count]) if form == "gather" else ([near_count], [extent])
    arrays = tuple(Array(numbers(r, shape, ty)) for shape in shapes)
    stored = "i64" if index == "index" else index
    chosen = Array(indices(r, count, extent, stored))
    return Made(form, text, (*arrays, chosen), meaning, options_of(r))


def rows(r: Random) -> Made:
    """A sparse matrix times a vector: bounds and indices out of arrays."""
    ty = r.choice(FLOATS)
    count, columns = r.randrange(1, 9), r.randrange(1, 12)
    text = f"""
func.func @f(%ptr: memref<?xi64>, %col: memref<?xi64>, %val: memref<?x{ty}>,
             %x: memref<?x{ty}>, %y: memref<?x{ty}>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %y, %c0 : memref<?x{ty}>
  scf.for %i = %c0 to %m step %c1 {{
    %i1 = arith.addi %i, %c1 : index
    %p = memref.load %ptr[%i] : memref<?xi64>
    %q = memref.load %ptr[%i1] : memref<?xi64>
    %lo = arith.index_cast %p : i64 to index
    %hi = arith.index_cast %q : i64 to index
    scf.for %j = %lo to %hi step %c1 {{
      %k = memref.load %col[%j] : memref<?xi64>
      %l = arith.index_cast %k : i64 to index
      %v = memref.load %val[%j] : memref<?x{ty}>
      %w = memref.load %x[%l] : memref<?x{ty}>
      %o = memref.load %y[%i] : memref<?x{ty}>
      %s = arith.mulf %v, %w : {ty}
      %t = arith.addf %o, %s : {ty}
      memref.store %t, %y[%i] : memref<?x{ty}>
    }}
  }}
  return
}}"""
    sizes = [r.randrange(0, 4) for _ in range(count)]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    total = int(starts[-1])
    if r.random() < 0.4:
        starts[r.randrange(count + 1)] = r.choice([total + 1, total + 900, -2])

    def meaning(ptr: Any, col: Any, val: Any, x: Any, y: Any) -> None:
        for i in range(len(y)):
            for j in range(int(at(ptr, i)), int(at(ptr, i + 1))):
                k = int(at(col, j))
                y[i] += at(val, j) * at(x, k)

    arguments = (
        Array(starts),
        Array(indices(r, near(r, total), columns)),
        Array(numbers(r, [near(r, total)], ty)),
        Array(numbers(r, [columns], ty)),
        Array(numbers(r, [near(r, count)], ty)),
    )
    return Made("rows", text, arguments, meaning, options_of(r))


def chosen(r: Random) -> Made:
    """An access under a condition on data, and a loop of branches."""
    ty, extent = r.choice(FLOATS), r.randrange(1, 30)
    text = f"""
func.func @f(%a: memref<?x{ty}>, %b: memref<?x{ty}>, %n: index, %at: index) {{
  %zero = arith.constant 0.0 : {ty}
  affine.for %i = 0 to %n {{
    %v = affine.load %a[%i] : memref<?x{ty}>
    %big = arith.cmpf ogt, %v, %zero : {ty}
    scf.if %big {{
      %k = arith.addi %i, %at : index
      memref.store %v, %b[%k] : memref<?x{ty}>
    }}
  }}
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, n: int, shift: int) -> None:
        for i in range(n):
            if at(a, i) > 0:
                put(b, at(a, i), i + shift)

    arrays = tuple(Array(numbers(r, [near(r, extent)], ty)) for _ in "ab")
    shift = r.choice([0, 0, 1, -1, 3])
    return Made("chosen", text, (*arrays, extent, shift), meaning, options_of(r))


def branches(r: Random) -> Made:
    """A loop of blocks, run by the host or in a kernel."""
    ty, extent = r.choice(FLOATS), r.randrange(1, 30)
    text = f"""
func.func @f(%a: memref<?x{ty}>, %b: memref<?x{ty}>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  cf.br ^head(%c0 : index)
^head(%i: index):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^end
^body:
  %v = memref.load %a[%i] : memref<?x{ty}>
  %w = arith.addf %v, %v : {ty}
  memref.store %w, %b[%i] : memref<?x{ty}>
  %next = arith.addi %i, %c1 : index
  cf.br ^head(%next : index)
^end:
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, n: int) -> None:
        for i in range(n):
            put(b, 2 * at(a, i), i)

    arrays = tuple(Array(numbers(r, [near(r, extent)], ty)) for _ in "ab")
    return Made("branches", text, (*arrays, near(r, extent)), meaning, options_of(r))


# -- views, vectors, transfers ---------------------------------------------------------


def part(r: Random) -> Made:
    """A subview by arguments, or a cast to other sizes, that is written."""
    ty, extent = r.choice(FLOATS), r.randrange(4, 40)
    cast = r.random() < 0.4
    view = (
        f"memref.reinterpret_cast %a to offset: [%o], sizes: [%n], strides: [%s]"
        f" : memref<?x{ty}> to memref<?x{ty}, strided<[?], offset: ?>>"
        if cast
        else f"memref.subview %a[%o] [%n] [%s]"
        f" : memref<?x{ty}> to memref<?x{ty}, strided<[?], offset: ?>>"
    )
    text = f"""
func.func @f(%a: memref<?x{ty}>, %o: index, %n: index, %s: index, %x: {ty}) {{
  %v = {view}
  affine.for %i = 0 to %n {{
    affine.store %x, %v[%i] : memref<?x{ty}, strided<[?], offset: ?>>
  }}
  return
}}"""
    step = r.choice([1, 1, 2])
    offset = r.choice([0, 1, extent // 2, extent, -1])
    count = max((extent - offset) // step + r.choice([0, 0, -1, 1, 50]), 0)

    def meaning(a: np.ndarray, o: int, n: int, s: int, x: float) -> None:
        for i in range(n):
            put(a, x, o + i * s)

    arguments = (Array(numbers(r, [extent], ty)), offset, count, step, 3.0)
    return Made("part", text, arguments, meaning, options_of(r))


def lanes(r: Random) -> Made:
    """Vectors loaded and stored, whole or with a padded tail."""
    ty, extent = r.choice(FLOATS), r.randrange(1, 40)
    width, padded = r.choice([2, 4, 8]), r.random() < 0.5
    plain = f"""
    %v = vector.load %a[%i] : memref<?x{ty}>, vector<{width}x{ty}>
    vector.store %v, %b[%i] : memref<?x{ty}>, vector<{width}x{ty}>"""
    tail = f"""
    %v = vector.transfer_read %a[%i], %pad : memref<?x{ty}>, vector<{width}x{ty}>
    vector.transfer_write %v, %b[%i] : vector<{width}x{ty}>, memref<?x{ty}>"""
    text = f"""
func.func @f(%a: memref<?x{ty}>, %b: memref<?x{ty}>, %n: index) {{
  %pad = arith.constant 7.0 : {ty}
  affine.for %i = 0 to %n step {width} {{{tail if padded else plain}
  }}
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, n: int) -> None:
        for i in range(0, n, width):
            for lane in range(i, i + width):
                if not padded:
                    put(b, at(a, lane), lane)
                elif lane < len(b):
                    b[lane] = a[lane] if lane < len(a) else 7.0

    arrays = tuple(Array(numbers(r, [near(r, extent)], ty)) for _ in "ab")
    return Made("lanes", text, (*arrays, extent), meaning, options_of(r))


def copied(r: Random) -> Made:
    """``memref.copy`` of buffers that may have other shapes."""
    ty = r.choice(FLOATS)
    m, n = r.randrange(1, 10), r.randrange(1, 20)
    text = f"""
func.func @f(%a: memref<?x?x{ty}>, %b: memref<?x?x{ty}>) {{
  memref.copy %a, %b : memref<?x?x{ty}> to memref<?x?x{ty}>
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray) -> None:
        if a.shape != b.shape:
            raise OutsideError
        b[...] = a

    shapes = ([m, n], [near(r, m), near(r, n)])
    arrays = tuple(Array(numbers(r, shape, ty)) for shape in shapes)
    return Made("copied", text, arrays, meaning, options_of(r))


def transfer(r: Random) -> Made:
    """``dma_start`` from and to places that arguments give."""
    ty, extent = r.choice(FLOATS), r.randrange(1, 40)
    text = f"""
func.func @f(%a: memref<?x{ty}>, %b: memref<?x{ty}>, %p: index, %q: index, %n: index) {{
  %c0 = arith.constant 0 : index
  %tag = memref.alloc() : memref<1xi32>
  memref.dma_start %a[%p], %b[%q], %n, %tag[%c0]
    : memref<?x{ty}>, memref<?x{ty}>, memref<1xi32>
  memref.dma_wait %tag[%c0], %n : memref<1xi32>
  memref.dealloc %tag : memref<1xi32>
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, p: int, q: int, n: int) -> None:
        if n < 0:
            raise OutsideError
        if n:
            window(b, (q,), (n,))[...] = window(a, (p,), (n,))

    arrays = tuple(Array(numbers(r, [extent], ty)) for _ in "ab")
    places = [r.choice([0, 0, 1, extent // 2, -1, extent]) for _ in "pq"]
    count = max(extent - max(*places, 0) + r.choice([0, 0, 1, -1, 30]), 0)
    return Made("transfer", text, (*arrays, *places, count), meaning, options_of(r))


def tiles(r: Random) -> Made:
    """Subviews in a loop, of a size that need not divide the array."""
    ty, extent, size = r.choice(FLOATS), r.randrange(1, 40), r.choice([2, 4, 5])
    view = f"memref<{size}x{ty}, strided<[1], offset: ?>>"
    text = f"""
func.func @f(%a: memref<?x{ty}>, %n: index, %x: {ty}) {{
  affine.for %i = 0 to %n step {size} {{
    %t = memref.subview %a[%i] [{size}] [1] : memref<?x{ty}> to {view}
    affine.for %j = 0 to {size} {{
      affine.store %x, %t[%j] : {view}
    }}
  }}
  return
}}"""

    def meaning(a: np.ndarray, n: int, x: float) -> None:
        for i in range(0, n, size):
            for j in range(size):
                put(a, x, i + j)

    count = extent if r.random() < 0.3 else extent // size * size
    array = Array(numbers(r, [near(r, extent)], ty))
    return Made("tiles", text, (array, count, 2.0), meaning, options_of(r))


def local(r: Random) -> Made:
    """A buffer of the function's own, of another size than the loop over it."""
    ty, extent = r.choice(FLOATS), r.randrange(1, 30)
    kind = r.choice(["alloc", "alloca"])
    free = f"  memref.dealloc %t : memref<?x{ty}>" if kind == "alloc" else ""
    text = f"""
func.func @f(%a: memref<?x{ty}>, %m: index, %n: index) {{
  %t = memref.{kind}(%m) : memref<?x{ty}>
  affine.for %i = 0 to %n {{
    %v = affine.load %a[%i] : memref<?x{ty}>
    affine.store %v, %t[%n - %i - 1] : memref<?x{ty}>
  }}
  affine.for %i = 0 to %n {{
    %v = affine.load %t[%i] : memref<?x{ty}>
    affine.store %v, %a[%i] : memref<?x{ty}>
  }}
{free}
  return
}}"""

    def meaning(a: np.ndarray, m: int, n: int) -> None:
        if m < 0 or n > min(m, len(a)):
            raise OutsideError
        a[: max(n, 0)] = a[: max(n, 0)][::-1].copy()

    array = Array(numbers(r, [near(r, extent)], ty))
    sizes = near(r, extent), near(r, extent)
    return Made("local", text, (array, *sizes), meaning, options_of(r))


def called(r: Random) -> Made:
    """Another function that is called with an index; or a cast to a static type."""
    ty, extent = r.choice(FLOATS), r.randrange(1, 30)
    static = r.random() < 0.5
    inner = f"memref<{extent}x{ty}>" if static else f"memref<?x{ty}>"
    given = (
        f"  %b = memref.cast %a : memref<?x{ty}> to {inner}"
        if static
        else f"  %b = memref.cast %a : memref<?x{ty}> to memref<?x{ty}>"
    )
    text = f"""
func.func private @set(%a: {inner}, %i: index, %x: {ty}) {{
  %o = memref.load %a[%i] : {inner}
  %s = arith.addf %o, %x : {ty}
  memref.store %s, %a[%i] : {inner}
  return
}}
func.func @f(%a: memref<?x{ty}>, %n: index, %x: {ty}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
{given}
  scf.for %i = %c0 to %n step %c1 {{
    func.call @set(%b, %i, %x) : ({inner}, index, {ty}) -> ()
  }}
  return
}}"""

    def meaning(a: np.ndarray, n: int, x: float) -> None:
        if static and len(a) != extent:
            raise OutsideError
        for i in range(n):
            put(a, at(a, i) + x, i)

    array = Array(numbers(r, [near(r, extent)], ty))
    return Made("called", text, (array, near(r, extent), 2.0), meaning, options_of(r))


def searched(r: Random) -> Made:
    """A loop that follows indices from one element to the next."""
    extent = r.randrange(1, 20)
    text = """
func.func @f(%next: memref<?xi64>, %seen: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%at = %c0) -> index {
    memref.atomic_rmw addi %one, %seen[%at] : (i32, memref<?xi32>) -> i32
    %k = memref.load %next[%at] : memref<?xi64>
    %to = arith.index_cast %k : i64 to index
    scf.yield %to : index
  }
  return
}"""

    def meaning(following: np.ndarray, seen: np.ndarray, n: int) -> None:
        place = 0
        for _ in range(n):
            put(seen, at(seen, place) + 1, place)
            place = int(at(following, place))

    arguments = (
        Array(indices(r, extent, extent)),
        Array(numbers(r, [near(r, extent)], "i32")),
        r.randrange(0, 40),
    )
    return Made("searched", text, arguments, meaning, options_of(r))


# -- arguments of another form ---------------------------------------------------------


def misfit(r: Random) -> Made:
    """A static or strided argument of another shape, stride, rank or element type."""
    ty, other = r.sample(FLOATS, 2)
    rows_, columns, pitch = r.randrange(2, 8), r.randrange(2, 8), r.randrange(8, 12)
    strided = r.random() < 0.5
    layout = f", strided<[{pitch}, 1]>" if strided else ""
    memref = f"memref<{rows_}x{columns}x{ty}{layout}>"
    text = f"""
func.func @f(%a: {memref}, %x: {ty}) {{
  affine.for %i = 0 to {rows_} {{
    affine.for %j = 0 to {columns} {{
      affine.store %x, %a[%i, %j] : {memref}
    }}
  }}
  return
}}"""
    fault = r.choice(["none", "shape", "dtype", "rank", "strides", "reversed"])
    own = (pitch, 1) if strided else (columns, 1)
    shape = (rows_, columns)
    values = numbers(r, shape, ty)
    array = {
        "none": lambda: Array(values, own),
        "shape": lambda: Array(values[:-1], own),
        "dtype": lambda: Array(values.astype(DTYPES[other]), own),
        "rank": lambda: Array(values[0]),
        "strides": lambda: Array(values, (columns + 13, 1)),
        "reversed": lambda: Array(values, (-own[0], 1)),
    }[fault]()

    def meaning(a: np.ndarray, x: float) -> None:
        a[...] = x

    return Made(
        "misfit", text, (array, 2.0), meaning, options_of(r), refused=fault != "none"
    )


def slanted(r: Random) -> Made:
    """Arrays with gaps, transposed or reversed, where the type leaves strides open."""
    ty, extent = r.choice(FLOATS), r.randrange(2, 12)
    memref = f"memref<?x?x{ty}, strided<[?, ?], offset: ?>>"
    text = f"""
func.func @f(%a: {memref}, %b: {memref}, %m: index, %n: index) {{
  affine.for %i = 0 to %m {{
    affine.for %j = 0 to %n {{
      %v = affine.load %a[%i, %j] : {memref}
      affine.store %v, %b[%i, %j] : {memref}
    }}
  }}
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, m: int, n: int) -> None:
        for i in range(m):
            for j in range(n):
                put(b, at(a, i, j), i, j)

    def array() -> Array:
        m, n = near(r, extent), near(r, extent)
        forms = [(n + 3, 1), (1, m + 2), (-(n + 1), 1), (2 * n + 1, -2), (1, m)]
        return Array(numbers(r, [m, n], ty), r.choice(forms))

    sizes = near(r, extent), near(r, extent)
    return Made("slanted", text, (array(), array(), *sizes), meaning, options_of(r))


KINDS = (
    line,
    plane,
    product,
    stencil,
    divided,
    gather,
    rows,
    chosen,
    branches,
    part,
    lanes,
    copied,
    transfer,
    tiles,
    local,
    called,
    searched,
    misfit,
    slanted,
)


def made(seed: int) -> Made:
    """The program of a seed; consecutive seeds take turns between the kinds."""
    return KINDS[seed % len(KINDS)](Random(seed))
