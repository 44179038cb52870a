"""MLIR of the kernels that are measured on a GPU, for extents by name."""

from __future__ import annotations

from collections.abc import Sequence

from examples.problems import Size

Shape = Sequence[int | str]


def memref(shape: Shape, element: str = "f32") -> str:
    """A type.

    >>> memref((4, "?"), "f64")
    'memref<4x?xf64>'
    """
    return f"memref<{'x'.join([*map(str, shape), element])}>"


def named(
    operation: str, shapes: Sequence[Shape], *, element: str = "f32", result: str = ""
) -> str:
    """A function of one named operation of linalg: inputs, then the result.

    ``result``: its element, where that is another.

    >>> print(named("exp", [(2,), (2,)]))
    func.func @f(%0: memref<2xf32>, %1: memref<2xf32>) {
      linalg.exp ins(%0 : memref<2xf32>) outs(%1 : memref<2xf32>)
      return
    }
    """
    elements = [element] * (len(shapes) - 1) + [result or element]
    types = [memref(*each) for each in zip(shapes, elements, strict=True)]
    arguments = ", ".join(f"%{n}: {ty}" for n, ty in enumerate(types))
    last = len(types) - 1
    inputs = ", ".join(f"%{n}" for n in range(last))
    kinds = ", ".join(types[:last])
    return f"""func.func @f({arguments}) {{
  linalg.{operation} ins({inputs} : {kinds}) outs(%{last} : {types[last]})
  return
}}"""


def product(size: Size, element: str = "f32", result: str = "") -> str:
    """``C += A B``; ``result``: the element of C, where it is another."""
    m, n, k = (size[name] for name in "MNK")
    shapes = [(m, k), (k, n), (m, n)]
    return named("matmul", shapes, element=element, result=result)


def open_product(_: Size) -> str:
    """The same with open extents."""
    return named("matmul", [("?", "?")] * 3)


def naive_product(size: Size) -> str:
    """The same as three loops."""
    m, n, k = (size[name] for name in "MNK")
    a, b, c = memref((m, k)), memref((k, n)), memref((m, n))
    return f"""func.func @f(%A: {a}, %B: {b}, %C: {c}) {{
  affine.for %i = 0 to {m} {{
    affine.for %j = 0 to {n} {{
      affine.for %k = 0 to {k} {{
        %a = affine.load %A[%i, %k] : {a}
        %b = affine.load %B[%k, %j] : {b}
        %c = affine.load %C[%i, %j] : {c}
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : {c}
      }}
    }}
  }}
  return
}}"""


def batched_product(size: Size) -> str:
    """One product for each of ``B``."""
    b, m, n, k = (size[name] for name in "BMNK")
    return named("batch_matmul", [(b, m, k), (b, k, n), (b, m, n)])


def matvec(size: Size) -> str:
    """A matrix times a vector."""
    m, k = size["M"], size["K"]
    return named("matvec", [(m, k), (k,), (m,)])


def nhwc(size: Size, element: str = "f32") -> str:
    """A convolution, channels last: ``R`` is the filter's extent."""
    b, h, c, f, r = (size[name] for name in "BHCFR")
    shapes = [(b, h + r - 1, h + r - 1, c), (r, r, c, f), (b, h, h, f)]
    return named("conv_2d_nhwc_hwcf", shapes, element=element)


def nchw(size: Size) -> str:
    """A convolution, channels first."""
    b, h, c, f, r = (size[name] for name in "BHCFR")
    shapes = [(b, c, h + r - 1, h + r - 1), (f, c, r, r), (b, f, h, h)]
    return named("conv_2d_nchw_fchw", shapes)


def elementwise(
    size: Size,
    work: str,
    *,
    inputs: int = 1,
    element: str = "f32",
    order: str = "%i, %j",
) -> str:
    """A nest that makes ``%r`` of ``%v0``, ``%v1`` and zero, and stores it."""
    m, n = size["M"], size["N"]
    there = (m, n) if order == "%i, %j" else (n, m)
    source, target = memref((m, n), element), memref(there, element)
    names = ", ".join(f"%x{i}: {source}" for i in range(inputs))
    loads = "\n      ".join(
        f"%v{i} = affine.load %x{i}[%i, %j] : {source}" for i in range(inputs)
    )
    return f"""func.func @f({names}, %y: {target}) {{
  %zero = arith.constant 0.0 : {element}
  affine.for %i = 0 to {m} {{
    affine.for %j = 0 to {n} {{
      {loads}
      {work}
      affine.store %r, %y[{order}] : {target}
    }}
  }}
  return
}}"""


def column_sum(size: Size) -> str:
    """The sum of each column; the order of its terms is free."""
    m, n = size["M"], size["N"]
    return _sum(m, n, "%j", (n,))


def full_sum(size: Size) -> str:
    """The sum of all; the order of its terms is free."""
    return _sum(size["M"], size["N"], "0", (1,))


def row_sum(size: Size) -> str:
    """The sum of each row; the order of its terms is free."""
    m, n = size["M"], size["N"]
    return _sum(m, n, "%i", (m,))


def _sum(m: int, n: int, place: str, shape: Shape) -> str:
    source, sums = memref((m, n)), memref(shape)
    return f"""func.func @f(%x: {source}, %s: {sums}) {{
  affine.for %i = 0 to {m} {{
    affine.for %j = 0 to {n} {{
      %v = affine.load %x[%i, %j] : {source}
      %t = affine.load %s[{place}] : {sums}
      %r = arith.addf %t, %v fastmath<reassoc> : f32
      affine.store %r, %s[{place}] : {sums}
    }}
  }}
  return
}}"""


def histogram(size: Size) -> str:
    """How often each of ``M`` numbers is among ``N`` keys."""
    keys, counts = memref((size["N"],), "i32"), memref((size["M"],), "i32")
    return f"""func.func @f(%k: {keys}, %c: {counts}) {{
  %one = arith.constant 1 : i32
  affine.for %i = 0 to {size["N"]} {{
    %key = affine.load %k[%i] : {keys}
    %at = arith.index_cast %key : i32 to index
    %now = memref.load %c[%at] : {counts}
    %next = arith.addi %now, %one : i32
    memref.store %next, %c[%at] : {counts}
  }}
  return
}}"""


def argmax(size: Size) -> str:
    """The place of the first largest element of each row."""
    m, n = size["M"], size["N"]
    source, places = memref((m, n)), memref((m,), "i32")
    return f"""func.func @f(%x: {source}, %p: {places}) {{
  %least = arith.constant 0xFF800000 : f32
  %none = arith.constant 0 : i32
  affine.for %i = 0 to {m} {{
    %most, %at = affine.for %j = 0 to {n}
        iter_args(%t = %least, %u = %none) -> (f32, i32) {{
      %v = affine.load %x[%i, %j] : {source}
      %more = arith.cmpf ogt, %v, %t : f32
      %number = arith.index_cast %j : index to i32
      %r = arith.select %more, %v, %t : f32
      %q = arith.select %more, %number, %u : i32
      affine.yield %r, %q : f32, i32
    }}
    affine.store %at, %p[%i] : {places}
  }}
  return
}}"""


def attention(size: Size) -> str:
    """Softmax of scaled products of rows and keys, times the values; f16."""
    h, l, s, d = (size[name] for name in "HLSD")
    rows, keys = memref((h, l, d), "f16"), memref((h, s, d), "f16")
    scores, weights = memref((h, l, s)), memref((h, l, s), "f16")
    sums = memref((h, l, d))
    parallel = '"parallel", "parallel", "parallel"'
    return f"""
#id = affine_map<(h, l, s) -> (h, l, s)>
func.func @f(%q: {rows}, %k: {keys}, %v: {keys}, %out: {rows}) {{
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant {d**-0.5} : f32
  %s = memref.alloc() : {scores}
  linalg.fill ins(%zero : f32) outs(%s : {scores})
  linalg.batch_matmul_transpose_b ins(%q, %k : {rows}, {keys}) outs(%s : {scores})
  %x = memref.alloc() : {scores}
  linalg.generic {{indexing_maps = [#id, #id], iterator_types = [{parallel}]}}
      ins(%s : {scores}) outs(%x : {scores}) {{
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %scale : f32
    linalg.yield %c : f32
  }}
  %w = memref.alloc() : {scores}
  linalg.softmax dimension(2) ins(%x : {scores}) outs(%w : {scores})
  %p = memref.alloc() : {weights}
  linalg.generic {{indexing_maps = [#id, #id], iterator_types = [{parallel}]}}
      ins(%w : {scores}) outs(%p : {weights}) {{
  ^bb0(%a: f32, %b: f16):
    %c = arith.truncf %a : f32 to f16
    linalg.yield %c : f16
  }}
  %o = memref.alloc() : {sums}
  linalg.fill ins(%zero : f32) outs(%o : {sums})
  linalg.batch_matmul ins(%p, %v : {weights}, {keys}) outs(%o : {sums})
  linalg.generic {{indexing_maps = [#id, #id], iterator_types = [{parallel}]}}
      ins(%o : {sums}) outs(%out : {rows}) {{
  ^bb0(%a: f32, %b: f16):
    %c = arith.truncf %a : f32 to f16
    linalg.yield %c : f16
  }}
  memref.dealloc %s : {scores}
  memref.dealloc %x : {scores}
  memref.dealloc %w : {scores}
  memref.dealloc %p : {weights}
  memref.dealloc %o : {sums}
  return
}}
"""
