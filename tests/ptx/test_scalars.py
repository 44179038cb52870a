"""Integer instructions against Python's integers."""

from __future__ import annotations

import re

import numpy as np

from tests.ptx.kernels import GLOBAL_ID, entry, launch

COUNT = 64


def signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - ((value >> (bits - 1)) << bits)


def u(value: int) -> int:
    return value & (2**32 - 1)


def quotient(a: int, b: int) -> int:
    return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    return a - quotient(a, b) * b if b else a


# Instructions from A, B, C to O, and what they leave of a, b, c in a word.
FORMS = {
    "add.s32 O, A, B": "a + b",
    "sub.s32 O, A, B": "a - b",
    "mul.lo.s32 O, A, B": "a * b",
    "mul.hi.s32 O, A, B": "a * b >> 32",
    "mul.hi.u32 O, A, B": "u(a) * u(b) >> 32",
    "mad.lo.s32 O, A, B, C": "a * b + c",
    "mad.hi.u32 O, A, B, C": "(u(a) * u(b) >> 32) + c",
    "div.s32 O, A, B": "quotient(a, b)",
    "rem.s32 O, A, B": "remainder(a, b)",
    "div.u32 O, A, B": "u(a) // u(b) if b else -1",
    "rem.u32 O, A, B": "u(a) % u(b) if b else a",
    "min.u32 O, A, B": "min(u(a), u(b))",
    "max.s32 O, A, B": "max(a, b)",
    "abs.s32 O, A": "abs(a)",
    "neg.s32 O, A": "-a",
    "shl.b32 O, A, C": "a << min(u(c), 32)",
    "shr.s32 O, A, C": "a >> min(u(c), 32)",
    "shr.u32 O, A, C": "u(a) >> min(u(c), 32)",
    "shr.b32 O, A, 3": "u(a) >> 3",
    "shf.l.wrap.b32 O, A, B, C": "((u(b) << 32 | u(a)) << (c & 31)) >> 32",
    "shf.r.clamp.b32 O, A, B, C": "(u(b) << 32 | u(a)) >> min(c, 32)",
    "not.b32 O, A": "~a",
    "and.b32 O, A, B": "a & b",
    "xor.b32 O, A, -7": "a ^ -7",
    "lop3.b32 O, A, B, C, 0x96": "a ^ b ^ c",
    "lop3.b32 O, A, B, C, 0xe8": "a & b | a & c | b & c",
    "prmt.b32 O, A, B, 0x5410": "u(a) & 0xFFFF | (u(b) & 0xFFFF) << 16",
    "prmt.b32 O, A, B, 0x0123": "int.from_bytes(u(a).to_bytes(4, 'little'), 'big')",
    "bfi.b32 O, A, B, 6, 13": "b & ~(0x1FFF << 6) | (a & 0x1FFF) << 6",
    "bfe.u32 O, A, 5, 9": "u(a) >> 5 & 511",
    "bfe.s32 O, A, 5, 9": "signed(u(a) >> 5 & 511, 9)",
    "bfe.s32 O, A, 0, 32": "a",
    "popc.b32 O, A": "u(a).bit_count()",
    "clz.b32 O, C": "32 - u(c).bit_length()",
    "dp4a.s32.u32 O, A, B, C": "bytewise(a, b, 8) + c",
    "dp4a.u32.u32 O, A, B, C": "bytewise(a, b, 9) + c",
    "brev.b32 O, A": "int(f'{u(a):032b}'[::-1], 2)",
    "setp.lo.u32 %p1, A, B; selp.b32 O, A, B, %p1": "a if u(a) < u(b) else b",
    "setp.gt.and.s32 %p1|%p2, A, B, %p0; selp.u32 O, 1, 0, %p2": "int(a <= b)",
    "mul.wide.s32 %d9, A, B; shr.u64 %d9, %d9, 16; cvt.u32.u64 O, %d9": "a * b >> 16",
    "mul.wide.u32 %d9, A, B; mul.hi.u64 %d9, %d9, %d9; cvt.u32.u64 O, %d9": (
        "(u(a) * u(b)) ** 2 >> 64"
    ),
    "cvt.s64.s32 %d9, A; mul.hi.s64 %d9, %d9, %d9; cvt.u32.u64 O, %d9": "a * a >> 64",
    "add.cc.u32 %r20, A, B; addc.u32 O, C, 0": "c + (u(a) + u(b) >> 32)",
    "sub.cc.u32 %r20, A, B; subc.u32 O, C, 0": "c - (u(a) < u(b))",
    "mad.lo.cc.u32 %r20, A, B, C; madc.hi.u32 O, A, B, 0": "u(a) * u(b) + u(c) >> 32",
    "cvt.s32.s8 O, A": "signed(a, 8)",
    "cvt.sat.u8.s32 %h1, A; cvt.u32.u16 O, %h1": "min(max(a, 0), 255)",
    "cvt.u32.u16 O, A": "a & 0xFFFF",
    "mov.b64 %d9, {A, B}; shr.b64 %d9, %d9, 8; cvt.u32.u64 O, %d9": (
        "(u(b) << 32 | u(a)) >> 8"
    ),
    "mov.b64 %d9, {A, B}; mov.b64 {%r20, O}, %d9": "b",
    "mov.b32 {%h1, %h2}, A; cvt.u32.u16 O, %h2": "u(a) >> 16",
}


def bytewise(a: int, b: int, bits: int) -> int:
    """Products of bytes; those of ``a`` have a sign if they fill the bits."""
    pairs = zip(u(a).to_bytes(4), u(b).to_bytes(4), strict=True)
    return sum(signed(x, bits) * y for x, y in pairs)


def test_integers_are_python_integers_cut_to_a_word() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-(2**31), 2**31, COUNT).astype("i4") for _ in range(2))
    c = rng.integers(0, 40, COUNT).astype("i4")
    b[:4] = 0, 3, -7, 1
    body = GLOBAL_ID + "setp.eq.s32 %p0, %r1, %r1; mul.wide.s32 %d8, %r4, 4;\n"
    for i in range(4):
        body += f"ld.param.u64 %d{i}, [k_{i}]; add.s64 %d{i + 4}, %d{i}, %d8;\n"
    for i in range(3):
        body += f"ld.global.u32 %r{i + 10}, [%d{i + 4}];\n"
    names = {"A": "%r10", "B": "%r11", "C": "%r12", "O": "%r13"}
    for i, form in enumerate(FORMS):
        text = re.sub(r"\b[ABCO]\b", lambda found: names[found[0]], form)
        body += f"{text}; st.global.u32 [%d7+{4 * COUNT * i}], %r13;\n"
    out = np.zeros((len(FORMS), COUNT), "i4")
    launch(entry("u64 u64 u64 u64", body + "ret;"), 2, 32, a, b, c, out)
    values = [
        dict(zip("abc", map(int, v), strict=True)) for v in zip(a, b, c, strict=True)
    ]
    for row, (form, meaning) in zip(out, FORMS.items(), strict=True):
        right = [signed(int(eval(meaning, globals(), v))) for v in values]
        assert row.tolist() == right, form
