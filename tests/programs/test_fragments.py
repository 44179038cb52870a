"""Hand-written products of fragments, as the documentation of nvgpu writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.ptx.floats import encoded
from gpucodegen.runtime.cuda.compilation import compile_ptx
from gpucodegen.runtime.devices import emulated_device

RNG = np.random.default_rng(5)
OCTETS = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}
SIZES = {
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "f64": 8,
    "i8": 1,
    "i32": 4,
    **dict.fromkeys(OCTETS, 1),
}
CASES = [
    ("f16", "f32", (16, 8, 16)),
    ("f16", "f16", (16, 8, 16)),
    ("f16", "f32", (16, 8, 8)),
    ("bf16", "f32", (16, 8, 16)),
    ("bf16", "f32", (16, 8, 8)),
    ("f32", "f32", (16, 8, 8)),
    ("f32", "f32", (16, 8, 4)),
    ("f64", "f64", (8, 8, 4)),
    ("f64", "f64", (16, 8, 4)),
    ("i8", "i32", (16, 8, 32)),
    ("i8", "i32", (16, 8, 16)),
    ("i8", "i32", (8, 8, 16)),
    *((kind, "f32", (16, 8, 32)) for kind in OCTETS),
]


def program(
    kind: str, sums: str, shape: tuple[int, int, int], *, turned: bool = False
) -> str:
    """``C += A B`` of one warp: A as ``m x k``, B as ``n x k``, or ``k x n``."""
    m, n, k = shape
    wide = 16 // SIZES[kind]
    each = max(1, 4 // SIZES[kind])
    halves = m // 8
    a, b = m * k // (32 * each), k * n // (32 * each)
    of_b = (k, n) if turned else (n, k)
    is_loaded = kind != "f64"
    flag = ", tf32Enabled" if kind == "f32" else ""
    shared = f"memref<{m}x{k}x{kind}, 3>", f"memref<{of_b[0]}x{of_b[1]}x{kind}, 3>"
    row_of_a = f"t mod 8 + t floordiv 8 mod {halves} * 8"
    column_of_a = f"t floordiv {8 * halves} mod {max(1, a // halves)} * {wide}"
    row_of_b = f"t mod {k}" if turned else "t mod 8"
    column_of_b = "0" if turned else f"t floordiv 8 mod {b} * {wide}"
    flags = [
        f"numTiles = {count} : i32, transpose = {str(flag).lower()}"
        for count, flag in ((a, False), (b, turned))
    ]
    ldmatrix = f"""
      %ra = affine.apply affine_map<(t) -> ({row_of_a})>(%t)
      %ca = affine.apply affine_map<(t) -> ({column_of_a})>(%t)
      %x = nvgpu.ldmatrix %sa[%ra, %ca] {{{flags[0]}}}
        : {shared[0]} -> vector<{a}x{each}x{kind}>
      %rb = affine.apply affine_map<(t) -> ({row_of_b})>(%t)
      %cb = affine.apply affine_map<(t) -> ({column_of_b})>(%t)
      %y = nvgpu.ldmatrix %sb[%rb, %cb] {{{flags[1]}}}
        : {shared[1]} -> vector<{b}x{each}x{kind}>"""
    rows_of_a = "".join(
        f"""
      %xs{v} = affine.load %sa[%t floordiv 4 + {8 * v}, %t mod 4] : {shared[0]}"""
        for v in range(halves)
    )
    single = f"""{rows_of_a}
      %x = vector.from_elements {", ".join(f"%xs{v}" for v in range(halves))}
        : vector<{halves}x1xf64>
      %ys = affine.load %sb[%t floordiv 4, %t mod 4] : {shared[1]}
      %y = vector.broadcast %ys : f64 to vector<1x1xf64>"""
    stores = "".join(
        f"""
      %row{v} = vector.extract %d[{v}] : vector<2x{sums}> from vector<{halves}x2x{sums}>
      affine.vector_store %row{v}, %c[%t floordiv 4 + {8 * v}, %t mod 4 * 2]
        : memref<{m}x{n}x{sums}>, vector<2x{sums}>"""
        for v in range(halves)
    )
    loads = "".join(
        f"""
      %c{v} = affine.vector_load %c[%t floordiv 4 + {8 * v}, %t mod 4 * 2]
        : memref<{m}x{n}x{sums}>, vector<2x{sums}>
      %z{v + 1} = vector.insert %c{v}, %z{v} [{v}]
        : vector<2x{sums}> into vector<{halves}x2x{sums}>"""
        for v in range(halves)
    )
    types = (
        f"vector<{a}x{each}x{kind}>, vector<{b}x{each}x{kind}>,"
        f" vector<{halves}x2x{sums}>"
    )
    copied = [
        f"(%i * 32 + %t) floordiv {n}, (%i * 32 + %t) mod {n}" for n in (k, of_b[1])
    ]
    plain = f"memref<{m}x{k}x{kind}>", f"memref<{of_b[0]}x{of_b[1]}x{kind}>"
    zero = "0" if sums == "i32" else "0.0"
    return f"""func.func @f(%a: {plain[0]}, %b: {plain[1]},
        %c: memref<{m}x{n}x{sums}>) {{
      %one = arith.constant 1 : index
      %w = arith.constant 32 : index
      gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one)
          threads(%t, %ty, %tz) in (%ex = %w, %ey = %one, %ez = %one)
          workgroup(%sa : {shared[0]}, %sb : {shared[1]}) {{
      affine.for %i = 0 to {m * k // 32} {{
        %v = affine.load %a[{copied[0]}] : {plain[0]}
        affine.store %v, %sa[{copied[0]}] : {shared[0]}
      }}
      affine.for %i = 0 to {k * n // 32} {{
        %v = affine.load %b[{copied[1]}] : {plain[1]}
        affine.store %v, %sb[{copied[1]}] : {shared[1]}
      }}
      gpu.barrier
      {ldmatrix if is_loaded else single}
      %z0 = arith.constant dense<{zero}> : vector<{halves}x2x{sums}>{loads}
      %d = nvgpu.mma.sync(%x, %y, %z{halves}) {{mmaShape = [{m}, {n}, {k}]{flag}}}
        : ({types}) -> vector<{halves}x2x{sums}>{stores}
      gpu.terminator
      }}
      return
    }}"""


def codes(numbers: Any, kind: str) -> Any:
    """Numbers as arrays hold them; a bf16 is the upper half of a float32."""
    if kind == "bf16":
        return (numbers.astype("f4").view("u4") >> 16).astype("u2")
    if kind in OCTETS:
        return encoded(numbers, OCTETS[kind]).astype("u1")
    return numbers.astype(f"{kind[0]}{SIZES[kind]}")


@pytest.mark.cases(("kind", "sums", "shape"), CASES, parts=2)
@pytest.mark.parametrize("target", ["interp", "sim"])
@pytest.mark.sampled(16)
def test_a_warp_multiplies_fragments(
    kind: str, sums: str, shape: tuple[int, int, int], target: str
):
    """Sums are exact in all of these types, so both targets give NumPy's numbers."""
    m, n, k = shape
    a, b = (RNG.integers(-8, 8, size).astype(float) for size in ((m, k), (n, k)))
    c = RNG.integers(-8, 8, (m, n)).astype(float)
    given = codes(c, sums)
    call = gcg.compile(program(kind, sums, shape), target=target).f
    call(codes(a, kind), codes(b, kind), given)
    np.testing.assert_array_equal(given, a @ b.T + c)


@pytest.mark.slow
@pytest.mark.parametrize("capability", [(8, 9), (9, 0), (12, 0)])
@pytest.mark.parametrize("kind", OCTETS)
def test_devices_multiply_floats_of_8_bits_each_in_its_way(
    kind: str, capability: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What sm_90 has no instruction for becomes f16; sums stay f32 by either."""
    m, n, k = shape = (16, 8, 32)
    numbers = RNG.integers(-8, 8, (m + n, k)) / 8
    numbers[0, 0], numbers[m] = np.nan, numbers[m] + (numbers[m] == 0)
    a, b = numbers[:m], numbers[m:]
    given = np.full((m, n), 1 + 2.0**-16, "f4")
    monkeypatch.setattr(emulated_device.current(), "compute_capability", capability)
    call = gcg.compile(program(kind, "f32", shape), target="sim")
    call.f(codes(a, kind), codes(b, kind), given)
    want = (a @ b.T + (1 + 2.0**-16)).astype("f4")
    np.testing.assert_array_equal(given, want)
    (kernel,) = call["f"].executable().kernels
    text = compile_ptx(kernel, capability)
    is_native = capability != (9, 0)
    assert (f"m16n8k32.row.col.f32.{OCTETS[kind]}" in text) == is_native
    assert text.count(f"cvt.rn.f16x2.{OCTETS[kind]}x2") == (0 if is_native else 12)


def test_fragments_of_codes_are_for_products_alone() -> None:
    text = program("f8E5M2", "f32", (16, 8, 32))
    text = text.replace(
        "gpu.terminator",
        """%used = vector.extract %x[0, 0] : f8E5M2 from vector<4x4xf8E5M2>
      %wide = arith.extf %used : f8E5M2 to f32
      affine.store %wide, %c[%t floordiv 4, %t mod 4 * 2] : memref<16x8xf32>
      gpu.terminator""",
    )
    arrays = [np.zeros(shape, "u1") for shape in ((16, 32), (8, 32))]
    with pytest.raises(errors.UnsupportedType, match="f8E5M2"):
        gcg.compile(text, target="sim").f(*arrays, np.zeros((16, 8), "f4"))


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("target", ["interp", "sim"])
@pytest.mark.sampled(2)
def test_fragments_are_transposed_on_their_way(kind: str, target: str):
    shape = m, n, k = 16, 8, 16
    a, b = (RNG.integers(-8, 8, size).astype(float) for size in ((m, k), (k, n)))
    given = np.zeros((m, n), "f4")
    call = gcg.compile(program(kind, "f32", shape, turned=True), target=target).f
    call(codes(a, kind), codes(b, kind), given)
    np.testing.assert_array_equal(given, a @ b)


@pytest.mark.parametrize("target", ["interp", "sim"])
def test_of_an_f32_the_bits_of_a_tf32_are_read(target: str):
    m, n, k = shape = (16, 8, 8)
    a, b = (RNG.standard_normal(size).astype("f4") for size in ((m, k), (n, k)))
    c = np.zeros((m, n), "f4")
    gcg.compile(program("f32", "f32", shape), target=target).f(a, b, c)
    cut = [(x.view("u4") & 0xFFFFE000).view("f4").astype("f8") for x in (a, b)]
    np.testing.assert_allclose(c, cut[0] @ cut[1].T, rtol=1e-6, atol=1e-6)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("kind", "sums", "shape", "advice"),
    [
        ("f32", "f32", (16, 8, 8), "tf32Enabled"),
        ("f16", "f32", (8, 8, 16), r"\[16, 8, 8\] or \[16, 8, 16\]"),
        ("bf16", "bf16", (16, 8, 16), "sums in f32"),
    ],
)
def test_what_no_device_has_is_refused(
    kind: str, sums: str, shape: tuple[int, int, int], advice: str
):
    text = program(kind, sums, shape).replace(", tf32Enabled", "")
    arrays = [codes(np.zeros(size), kind) for size in (shape[::2], shape[1:])]
    with pytest.raises(errors.UnsupportedOperation, match=advice):
        gcg.compile(text, target="sim").f(*arrays, codes(np.zeros(shape[:2]), sums))
