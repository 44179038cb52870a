"""Loads and stores of vectors on a GPU stay inside of the vector, to the byte.

LLVM may widen loads of three, five or seven elements where the address is aligned to
the wider access.  The tests read the addresses in the PTX, and run it in the emulator.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.intrinsics.cuda.assembly import ARCHITECTURES, ptx
from gpucodegen.intrinsics.cuda.exact_loads import narrowed

LENGTHS = range(1, 34)
INTEGERS = {"i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8"}
TYPES = INTEGERS | {"f16": "f2", "f32": "f4", "f64": "f8"}
WORKGROUP = "#gpu.address_space<workgroup>"

ARGUMENT = re.compile(r"ld\.param\.b64 \s*(%rd\d+), \[\w+_param_(\d+)\];")
ACCESS = re.compile(
    r"\t(ld|st)\.(?:global|shared)(?:\.nc)?(?:\.v(\d))?\.\w(\d+) \s*(.*);"
)
PLACE = re.compile(r"\[(\w+|%\w+)(?:\+(\d+))?\]")


def accesses(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Kind, register or array, first byte and number of bytes of each access."""
    for kind, count, bits, operands in ACCESS.findall(text):
        place = PLACE.search(operands)
        assert place, operands
        yield kind, place[1], int(place[2] or 0), int(count or 1) * int(bits) // 8


def copies(element: str, form: str) -> str:
    """A kernel that copies a vector of each length between buffers of its length."""
    load, store, at = (
        ("affine.vector_load", "affine.vector_store", "0")
        if form == "affine"
        else ("vector.load", "vector.store", "%c")
    )
    types = [f"memref<{n}x{element}>" for n in LENGTHS]
    arguments = ", ".join(
        f"%a{n}: {ty}, %b{n}: {ty}" for n, ty in zip(LENGTHS, types, strict=True)
    )
    lines = [
        f"""  %x{n} = {load} %a{n}[{at}] : {ty}, vector<{n}x{element}>
  {store} %x{n}, %b{n}[{at}] : {ty}, vector<{n}x{element}>"""
        for n, ty in zip(LENGTHS, types, strict=True)
    ]
    body = "\n".join(lines)
    return f"""func.func @f({arguments}) {{
  %c = arith.constant 0 : index
{body}
  return
}}"""


@pytest.mark.slow
@pytest.mark.figures
@pytest.mark.cases("element", TYPES)
@pytest.mark.cases("form", ["affine", "vector"])
def test_a_vector_is_accessed_inside_of_its_bounds(element: str, form: str):
    program = gcg.compile(copies(element, form), target="sim")
    dtype = np.dtype(TYPES[element])
    given = [np.arange(1, n + 1).astype(dtype) for n in LENGTHS]
    made = [np.zeros(n, dtype) for n in LENGTHS]
    program.f(*(x for pair in zip(given, made, strict=True) for x in pair))
    for x, y in zip(given, made, strict=True):
        np.testing.assert_array_equal(x, y)
    (text,) = program.assembly("f").values()
    argument = {name: int(number) for name, number in ARGUMENT.findall(text)}
    bytes_ = Counter[tuple[str, int]]()
    for kind, base, first, size in accesses(text):
        length = LENGTHS[argument[base] // 2] * dtype.itemsize
        assert first + size <= length, (kind, length, first, size)
        bytes_[kind, argument[base]] += size
    assert all(
        bytes_[kind, 2 * at + (kind == "st")] == n * dtype.itemsize
        for kind in ("ld", "st")
        for at, n in enumerate(LENGTHS)
    )


@pytest.mark.slow
@pytest.mark.cases("n", [7, 8, 13, 15])
def test_whole_words_stay_wide(n: int):
    text = f"""func.func @f(%a: memref<{n}xf32>, %b: memref<{n}xf32>) {{
  %x = affine.vector_load %a[0] : memref<{n}xf32>, vector<{n}xf32>
  affine.vector_store %x, %b[0] : memref<{n}xf32>, vector<{n}xf32>
  return
}}"""
    program = gcg.compile(text, target="sim")
    program.f(np.ones(n, "f4"), np.zeros(n, "f4"))
    (text,) = program.assembly("f").values()
    expected = [16] * (n // 4) + [s for s in (8, 4) if 4 * n % 16 & s]
    for wanted in ("ld", "st"):
        assert [s for kind, *_, s in accesses(text) if kind == wanted] == expected


def shared(element: str, n: int) -> str:
    """A vector through shared memory that has room for nothing else."""
    buffer = f"memref<{n}x{element}, {WORKGROUP}>"
    ty = f"memref<{n}x{element}>"
    vector = f"vector<{n}x{element}>"
    return f"""func.func @f(%a: {ty}, %b: {ty}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant {n} : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1)
             workgroup(%s: {buffer}) {{
    %v = memref.load %a[%tx] : {ty}
    memref.store %v, %s[%tx] : {buffer}
    gpu.barrier
    %first = arith.cmpi eq, %tx, %c0 : index
    scf.if %first {{
      %x = vector.load %s[%c0] : {buffer}, {vector}
      vector.store %x, %b[%c0] : {ty}, {vector}
    }}
    gpu.terminator
  }}
  return
}}"""


@pytest.mark.slow
@pytest.mark.cases("element", ["i8", "f16", "f32"])
@pytest.mark.cases("n", [3, 7, 11, 13, 15, 31])
def test_shared_memory_is_read_inside_of_its_bounds(element: str, n: int):
    program = gcg.compile(shared(element, n), target="sim")
    dtype = np.dtype(TYPES[element])
    given, made = np.arange(1, n + 1).astype(dtype), np.zeros(n, dtype)
    program.f(given, made)
    np.testing.assert_array_equal(made, given)
    (text,) = program.assembly("f").values()
    known = [at for at in accesses(text) if not at[1].startswith("%")]
    assert known or ".shared" in text
    assert all(first + size <= given.nbytes for _, _, first, size in known)


@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.cases("element", ["i8", "i16", "f32"])
@pytest.mark.cases("n", [7, 13])
def test_a_masked_load_touches_no_lane_behind_its_mask(element: str, n: int):
    ty, vector = f"memref<{n}x{element}>", f"vector<{n + 2}x{element}>"
    bits = f"vector<{n + 2}xi1>"
    mask = ", ".join(["true", "false", *["true"] * (n - 2), "false", "false"])
    zero = "0.0" if element == "f32" else "0"
    text = f"""func.func @f(%a: {ty}, %b: {ty}) {{
  %c = arith.constant 0 : index
  %m = arith.constant dense<[{mask}]> : {bits}
  %z = arith.constant dense<{zero}> : {vector}
  %x = vector.maskedload %a[%c], %m, %z : {ty}, {bits}, {vector} into {vector}
  vector.maskedstore %b[%c], %m, %x : {ty}, {bits}, {vector}
  return
}}"""
    program = gcg.compile(text, target="sim")
    dtype = np.dtype(TYPES[element])
    given, made = np.arange(1, n + 1).astype(dtype), np.full(n, 99, dtype)
    program.f(given, made)
    np.testing.assert_array_equal(made, [1, 99, *given[2:]])
    (text,) = program.assembly("f").values()
    assert all(first + size <= given.nbytes for _, _, first, size in accesses(text))


SCALARS = """
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %p4 = getelementptr float, ptr addrspace(1) %a, i64 4
  %p5 = getelementptr float, ptr addrspace(1) %a, i64 5
  %p6 = getelementptr float, ptr addrspace(1) %a, i64 6
  %x = load float, ptr addrspace(1) %p4, align 16
  %y = load float, ptr addrspace(1) %p5, align 4
  %z = load float, ptr addrspace(1) %p6, align 4
  %s = fadd float %x, %y
  %t = fadd float %s, %z
  store float %t, ptr addrspace(1) %b, align 4
  ret void
}"""


@pytest.mark.cases("architecture", ["sm_80", "sm_90a", "sm_100"])
def test_scalars_at_an_aligned_place_are_loaded_without_their_neighbour(
    architecture: str,
):
    made = ptx(SCALARS, architecture)
    loads = [place for kind, _, *place in accesses(made) if kind == "ld"]
    assert loads == [[16, 8], [24, 4]]
    assert "used_bytes_mask" not in made
    assert f".version {ARCHITECTURES[architecture] / 10}\n" in made


@pytest.mark.cases(
    ("mask", "load", "expected"),
    [
        (
            "0x7fff",
            "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1+16]",
            """ld.global.v2.b32 {%r1, %r2}, [%rd1+16];
ld.global.b32 %r3, [%rd1+24];
ld.global.b16 %r4, [%rd1+28];
{
.reg .b32 %part;
ld.global.b8 %part, [%rd1+30];
shl.b32 %part, %part, 16;
or.b32 %r4, %r4, %part;
}""",
        ),
        (
            "0x7",
            "ld.shared.v4.b8 {%rs1, %rs2, %rs3, %rs4}, [s]",
            "ld.shared.v2.b8 {%rs1, %rs2}, [s];\nld.shared.b8 %rs3, [s+2];",
        ),
        (
            "0xf0f",
            "ld.global.nc.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1]",
            """ld.global.nc.v2.b32 {%r1, %r2}, [%rd1];
ld.global.nc.b32 %r3, [%rd1+8];""",
        ),
        (
            "0x1f",
            "ld.global.b64 %rd2, [%rd1+-8]",
            """ld.global.b32 %rd2, [%rd1+-8];
{
.reg .b64 %part;
ld.global.b8 %part, [%rd1+-4];
shl.b64 %part, %part, 32;
or.b64 %rd2, %rd2, %part;
}""",
        ),
    ],
)
def test_loads_are_narrowed_to_the_bytes_that_are_read(
    mask: str, load: str, expected: str
):
    name, space, operands = load.partition(" ")
    note = f'\t.pragma "used_bytes_mask {mask}";\n\t{name}{space}\t{operands};\n'
    lines = [line.replace("\t", "") for line in narrowed(note).splitlines()]
    assert "\n".join(lines) == expected
