"""Spellings of nvgpu, and types that its short forms write without a name."""

from __future__ import annotations

import pytest

from gpucodegen.parser import parse_module

BARRIERS = "memorySpace = #gpu.address_space<workgroup>, num_barriers = 4"
GROUP = f"!nvgpu.mbarrier.group<{BARRIERS}>"

OLD = {
    "%m: memref<?x?xf16, 3>, %n: index": {
        "nvgpu.ldmatrix %m[%n, %n] {numTiles = 4 : i32, transpose = false}"
        " : memref<?x?xf16, 3> -> vector<4x2xf16>": (
            "nvgpu.ldmatrix %m[%n, %n] numTiles = 4 transpose = false"
            " : memref<?x?xf16, 3> -> vector<4x2xf16>"
        ),
    },
    "%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>": {
        "nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 16]}"
        " : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>": (
            "nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16]"
            " : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>"
        ),
    },
    "%s: memref<16xf32>, %d: memref<16xf32, 3>, %n: index": {
        "gpu.device_async_copy %s[%n], %d[%n], 4 : memref<16xf32> to"
        " memref<16xf32, 3>": (
            "nvgpu.device_async_copy %s[%n], %d[%n], 4 : memref<16xf32> to"
            " memref<16xf32, 3>"
        ),
    },
    f"%b: {GROUP}, %n: index": {
        f"nvgpu.mbarrier.arrive %b[%n] : <{BARRIERS}> -> !nvgpu.mbarrier.token": (
            f"nvgpu.mbarrier.arrive %b[%n] : {GROUP} -> !nvgpu.mbarrier.token"
        ),
    },
}
CASES = [(args, *pair) for args, pairs in OLD.items() for pair in pairs.items()]


@pytest.mark.cases(("args", "old", "today"), CASES)
def test_other_spelling_becomes_todays(args: str, old: str, today: str):
    module = parse_module(f"func.func @f({args}) {{\n  %r = {old}\n  return\n}}")
    assert f"%r = {today}\n" in str(module)
