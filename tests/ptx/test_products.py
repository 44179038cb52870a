"""``mma.sync`` in all shapes and types, and matrices on their way through a warp.

Each lane's registers are filled as the PTX manual draws the fragments: lane ``4 g + t``
holds of A the rows ``g`` and ``g + 8``, of B the column ``g``, of D the columns
``2 t`` and ``2 t + 1``.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gpucodegen.ptx import faults
from gpucodegen.ptx.floats import decoded, encoded
from tests.ptx.kernels import entry, fault, launch

BITS = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "f64": 64,
    "s8": 8,
    "u8": 8,
    "e4m3": 8,
    "e5m2": 8,
    "s4": 4,
    "u4": 4,
    "b1": 1,
}
SHAPES = [
    ("m16n8k8", "f32", "f16", "f16", ""),
    ("m16n8k16", "f16", "f16", "f16", ""),
    ("m16n8k8", "f32", "bf16", "bf16", ""),
    ("m16n8k16", "f32", "bf16", "bf16", ""),
    ("m16n8k4", "f32", "tf32", "tf32", ""),
    ("m16n8k8", "f32", "tf32", "tf32", ""),
    ("m8n8k4", "f64", "f64", "f64", ""),
    ("m16n8k4", "f64", "f64", "f64", ""),
    ("m16n8k8", "f64", "f64", "f64", ""),
    ("m16n8k16", "f64", "f64", "f64", ""),
    ("m8n8k16", "s32", "s8", "u8", ""),
    ("m16n8k16", "s32", "u8", "u8", ""),
    ("m16n8k32", "s32", "s8", "s8", ""),
    ("m16n8k16", "f32", "e4m3", "e4m3", ""),
    ("m16n8k32", "f32", "e4m3", "e5m2", ""),
    ("m16n8k32", "f16", "e5m2", "e5m2", ""),
    ("m8n8k32", "s32", "s4", "s4", ""),
    ("m16n8k64", "s32", "u4", "s4", ""),
    ("m16n8k256", "s32", "b1", "b1", ".and.popc"),
    ("m8n8k128", "s32", "b1", "b1", ".xor.popc"),
]


def codes(kind: str, shape: tuple[int, int], seed: int) -> np.ndarray:
    """Random elements as unsigned codes."""
    rng = np.random.default_rng(seed)
    small = rng.integers(-4, 5, shape)
    match kind:
        case "f64":
            return small.astype("f8").view("u8")
        case "tf32":
            return small.astype("f4").view("u4").astype("u8")
        case "f16" | "bf16" | "e4m3" | "e5m2":
            return encoded(small.astype("f8"), kind).astype("u8")
        case _:
            return rng.integers(0, 1 << BITS[kind], shape).astype("u8")


def value(code: np.ndarray, kind: str) -> np.ndarray:
    """What codes stand for."""
    bits = BITS[kind]
    match kind:
        case "f64":
            return code.view("f8")
        case "tf32":
            return code.astype("u4").view("f4").astype("f8")
        case "f16" | "bf16" | "e4m3" | "e5m2":
            return decoded(code, kind)
        case _:
            number = code.astype("i8")
            negative = (number >> bits - 1 & 1) * (kind[0] == "s")
            return number - (negative << bits)


def fragment(matrix: np.ndarray, kind: str, of_a: bool) -> np.ndarray:
    """The words of each lane: a row of A's register, a column of B's."""
    word = 64 if kind == "f64" else 32
    per = word // BITS[kind]
    lanes = []
    for g, t in itertools.product(range(8), range(4)):
        words = []
        tall = len(matrix) // 8 if of_a else 1
        depth = matrix.shape[1] if of_a else matrix.shape[0]
        for step, high in itertools.product(range(depth // (4 * per)), range(tall)):
            first = 4 * per * step + per * t
            part = (
                matrix[g + 8 * high, first : first + per]
                if of_a
                else matrix[first : first + per, g]
            )
            words.append(sum(int(c) << BITS[kind] * i for i, c in enumerate(part)))
        lanes.append(words)
    return np.array(lanes, f"u{word // 8}")


def kernel(name: str, words: tuple[int, int, int], wide: str) -> str:
    """A warp that loads A, B and C by words, multiplies and stores D in place of C."""
    size, letter = (8, "%g") if wide == "f64" else (4, "%r")
    text, lists, first = "mov.u32 %r1, %tid.x;\n", [], 10
    letters = []
    for i, count in enumerate(words):
        kind = letter if i < 2 or wide != "f32" else "%f"
        names = [f"{kind}{first + j}" for j in range(count)]
        first += count
        letters.append(names)
        text += f"ld.param.u64 %d{i}, [k_{i}];"
        text += f"mad.wide.u32 %d{i}, %r1, {size * count}, %d{i};\n"
        for j, register in enumerate(names):
            text += f"ld.global.b{8 * size} {register}, [%d{i}+{size * j}];\n"
        lists.append("{" + ", ".join(names) + "}")
    text += f"{name} {lists[2]}, {lists[0]}, {lists[1]}, {lists[2]};\n"
    for j, register in enumerate(letters[2]):
        text += f"st.global.b{8 * size} [%d2+{size * j}], {register};\n"
    return entry("u64 u64 u64", text + "ret;")


@pytest.mark.cases(("shape", "total", "left", "right", "tail"), SHAPES)
def test_products(shape: str, total: str, left: str, right: str, tail: str) -> None:
    rows, _, depth = (
        int(v) for v in shape.replace("n", "m").replace("k", "m")[1:].split("m")
    )
    a, b = codes(left, (rows, depth), 0), codes(right, (depth, 8), 1)
    c = np.random.default_rng(2).integers(-9, 9, (rows, 8))
    bits_a, bits_b = (
        fragment(m, k, f) for m, k, f in ((a, left, True), (b, right, False))
    )
    kind = {"f16": "f2", "f32": "f4", "f64": "f8", "s32": "i4"}[total]
    place = [
        (g + 8 * high, 2 * t + i)
        for g, t in itertools.product(range(8), range(4))
        for high, i in itertools.product(range(rows // 8), range(2))
    ]
    row, column = np.array(place).T
    held = np.ascontiguousarray(c[row, column].astype(kind).reshape(32, -1))
    each = held.nbytes // 32 // (8 if total == "f64" else 4)
    name = f"mma.sync.aligned.{shape}.row.col.{total}.{left}.{right}.{total}{tail}"
    counts = (bits_a.shape[1], bits_b.shape[1], each)
    launch(kernel(name, counts, total), 1, 32, bits_a, bits_b, held)
    x, y = value(a, left), value(b, right)
    product = x @ y
    if "xor" in tail:
        product = (x[:, :, None] != y[None]).sum(1)
    assert (held.reshape(-1) == (product + c)[row, column]).all()


def test_integer_sums_saturate_if_asked() -> None:
    a, b = np.full((16, 32), 127, "u8"), np.full((32, 8), 127, "u8")
    words = [fragment(a, "s8", of_a=True), fragment(b, "s8", of_a=False)]
    for form, right in (("satfinite.", 2**31 - 1), ("", -(2**31) + 32 * 127**2 - 6)):
        c = np.full((32, 4), 2**31 - 6, "i4")
        name = f"mma.sync.aligned.m16n8k32.row.col.{form}s32.s8.s8.s32"
        launch(kernel(name, (4, 2, 4), "s32"), 1, 32, *words, c)
        assert (c == right).all()


@pytest.mark.cases(
    "name",
    [
        "mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.e4m3.s32",
        "mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16",
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
    ],
)
def test_shapes_that_no_warp_multiplies(name: str) -> None:
    from gpucodegen import ptx

    with pytest.raises(ptx.Unsupported):
        ptx.Module(kernel(name, (4, 2, 4), "f32")).program("k")


MOVED = """.shared .align 16 .b8 tile[512];
    mov.u32 %r1, %tid.x; ld.param.u64 %d0, [k_0]; ld.param.u64 %d1, [k_1];
    mad.wide.u32 %d2, %r1, 16, %d0; mad.wide.u32 %d3, %r1, 16, %d1;
    ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%d2]; mov.u32 %r2, tile;
    mad.lo.u32 %r3, %r1, 16, %r2;
    stmatrix.sync.aligned.m8n8.x4{}.shared.b16 [%r3], {{%r10, %r11, %r12, %r13}};
    bar.sync 0; ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r3];
    st.global.v4.b32 [%d3], {{%r10, %r11, %r12, %r13}}; ret;"""


@pytest.mark.parametrize("form", ["", ".trans"])
def test_matrices_are_stored_by_rows(form: str) -> None:
    held = np.random.default_rng(0).integers(0, 2**16, (32, 4, 2)).astype("u2")
    out = np.zeros((4, 8, 8), "u2")
    text = MOVED.replace("{%r10", "{{%r10", 1).replace("%r13}", "%r13}}", 1)
    text = text.format(form)
    launch(entry("u64 u64", text), 1, 32, held, out)
    right = held.reshape(8, 4, 4, 2).transpose(2, 0, 1, 3).reshape(4, 8, 8)
    assert (out == (right.swapaxes(1, 2) if form else right)).all()
    missing = text.replace("stmatrix", "setp.eq.u32 %p1, %r1, 3; @!%p1 stmatrix")
    problem = fault(entry("u64 u64", missing), 1, 32, held, out)
    assert problem.kind == faults.INCOMPLETE_WARP


def test_a_matrix_is_transposed_in_registers() -> None:
    text = """mov.u32 %r1, %tid.x; ld.param.u64 %d0, [k_0];
    mad.wide.u32 %d2, %r1, 4, %d0; ld.global.b32 %r2, [%d2];
    movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r2; st.global.b32 [%d2], %r3; ret;"""
    matrix = np.random.default_rng(0).integers(0, 2**16, (8, 8)).astype("u2")
    out = matrix.copy()
    launch(entry("u64", text), 1, 32, out)
    assert (out == matrix.T).all()
