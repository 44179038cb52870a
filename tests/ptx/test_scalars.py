"""Integer instructions against Python's integers."""

from __future__ import annotations

import re
from collections.abc import Callable

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
    "bfind.u32 O, A": "u(a).bit_length() - 1",
    "bfind.s32 O, A": "(a if a >= 0 else ~a).bit_length() - 1",
    "bfind.shiftamt.u32 O, C": "32 - c.bit_length() if c else -1",
    "cvt.s64.s32 %d9, A; bfind.s64 O, %d9": "(a if a >= 0 else ~a).bit_length() - 1",
    "szext.wrap.s32 O, A, C": "signed(a, c & 31) if c & 31 else 0",
    "szext.clamp.u32 O, A, C": "u(a) & (1 << min(c, 32)) - 1",
    "bmsk.clamp.b32 O, C, 5": "31 << min(c, 32)",
    "bmsk.wrap.b32 O, C, 7": "127 << (c & 31)",
    "fns.b32 O, A, 3, 2": "nth(a, 3, 2)",
    "fns.b32 O, A, 29, -3": "nth(a, 29, -3)",
    "fns.b32 O, A, 7, 0": "7 if a >> 7 & 1 else -1",
    "prmt.b32.f4e O, A, B, C": "(u(b) << 32 | u(a)) >> 8 * (c & 3)",
    "prmt.b32.rc8 O, A, B, C": "(u(a) >> 8 * (c & 3) & 255) * 0x1010101",
    "prmt.b32.rc16 O, A, B, C": "(u(a) >> 16 * (c & 1) & 0xFFFF) * 0x10001",
    "prmt.b32.b4e O, A, B, C": "picked(a, b, [((c & 3) - i) & 7 for i in range(4)])",
    "prmt.b32.ecl O, A, B, C": "picked(a, b, [max(c & 3, i) for i in range(4)])",
    "prmt.b32.ecr O, A, B, C": "picked(a, b, [min(c & 3, i) for i in range(4)])",
    "mul24.lo.s32 O, A, B": "signed(a, 24) * signed(b, 24)",
    "mul24.hi.u32 O, A, B": "(a & 0xFFFFFF) * (b & 0xFFFFFF) >> 16",
    "mad24.lo.s32 O, A, B, C": "signed(a, 24) * signed(b, 24) + c",
    "mad24.hi.sat.s32 O, A, B, A": ("clamp((signed(a, 24) * signed(b, 24) >> 16) + a)"),
    "mad.hi.sat.s32 O, A, B, A": "clamp((a * b >> 32) + a)",
    "add.sat.s32 O, A, B": "clamp(a + b)",
    "sub.sat.s32 O, A, B": "clamp(a - b)",
    "min.relu.s32 O, A, B": "max(min(a, b), 0)",
    "max.s16x2 O, A, B": "halves(a, b, lambda x, y: max(signed(x, 16), signed(y, 16)))",
    "min.u16x2 O, A, B": "halves(a, b, min)",
    "add.u16x2 O, A, B": "halves(a, b, lambda x, y: x + y)",
    "min.relu.s16x2 O, A, B": (
        "halves(a, b, lambda x, y: max(0, min(signed(x, 16), signed(y, 16))))"
    ),
    "dp2a.lo.s32.u32 O, A, B, C": "halfwise(a, b, 0) + c",
    "dp2a.hi.s32.u32 O, A, B, C": "halfwise(a, b, 2) + c",
    "sad.u32 O, A, B, C": "abs(u(a) - u(b)) + c",
    "cnot.b32 O, C": "int(c == 0)",
    "lop3.or.b32 O|%p1, A, B, C, 0x80, %p9; selp.b32 O, 1, 0, %p1": (
        "int(a & b & c != 0)"
    ),
    "set.lt.u32.s32 O, A, B": "-int(a < b)",
    "set.ge.and.s32.u32 O, A, B, %p0": "-int(u(a) >= u(b))",
    "slct.b32.s32 O, B, C, A": "b if a >= 0 else c",
    "isspacep.global %p1, %d7; selp.b32 O, 1, 0, %p1": "1",
    "isspacep.shared %p1, %d7; selp.b32 O, 1, 0, %p1": "0",
}


def nth(word: int, base: int, offset: int) -> int:
    """The set bit with a number, counted from a bit up or down."""
    places = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [i for i in places if u(word) >> i & 1]
    return found[abs(offset) - 1] if len(found) >= abs(offset) else -1


def picked(a: int, b: int, numbers: list[int]) -> int:
    """Bytes of two words by their numbers."""
    pair = u(a) | u(b) << 32
    return sum((pair >> 8 * n & 255) << 8 * i for i, n in enumerate(numbers))


def clamp(value: int) -> int:
    return max(-(2**31), min(2**31 - 1, value))


def halves(a: int, b: int, form: Callable[[int, int], int]) -> int:
    """An operation on the halves of two words."""
    low = form(u(a) & 0xFFFF, u(b) & 0xFFFF) & 0xFFFF
    return low | (form(u(a) >> 16, u(b) >> 16) & 0xFFFF) << 16


def halfwise(a: int, b: int, first: int) -> int:
    """Products of the two signed halves of a word and two bytes of another."""
    words = [signed(u(a) >> 16 * i & 0xFFFF, 16) for i in range(2)]
    return sum(w * (u(b) >> 8 * (first + i) & 255) for i, w in enumerate(words))


def bytewise(a: int, b: int, bits: int) -> int:
    """Products of bytes; those of ``a`` have a sign if they fill the bits."""
    pairs = zip(u(a).to_bytes(4), u(b).to_bytes(4), strict=True)
    return sum(signed(x, bits) * y for x, y in pairs)


def test_integers_are_python_integers_cut_to_a_word() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-(2**31), 2**31, COUNT).astype("i4") for _ in range(2))
    c = rng.integers(0, 40, COUNT).astype("i4")
    b[:4] = 0, 3, -7, 1
    body = (
        GLOBAL_ID + "setp.eq.s32 %p0, %r1, %r1; setp.ne.s32 %p9, %r1, %r1;"
        "mul.wide.s32 %d8, %r4, 4;\n"
    )
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
        right = [signed(int(eval(meaning, globals() | v))) for v in values]
        assert row.tolist() == right, form
