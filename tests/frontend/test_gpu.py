"""Spellings of gpu from 2019 to 2024 become today's; rules of whole modules."""

from __future__ import annotations

import pytest

from gpucodegen import errors
from gpucodegen.parser import parse_module

OLD = {
    "%x: f32, %i: i32": {
        '%r = "gpu.thread_id"() {dimension = "x"} : () -> index': (
            "%r = gpu.thread_id x"
        ),
        '%r = "gpu.block_dim"() {dimension = #gpu<dim y>} : () -> index': (
            "%r = gpu.block_dim y"
        ),
        '%r = "gpu.all_reduce"(%x) ({}) {op = "add"} : (f32) -> f32': (
            "%r = gpu.all_reduce add %x {\n    } : (f32) -> f32"
        ),
        "%r = gpu.all_reduce max %x {} : (f32) -> f32": (
            "%r = gpu.all_reduce maxnumf %x {\n    } : (f32) -> f32"
        ),
        "%r, %s = gpu.shuffle %x, %i, %i xor : f32": (
            "%r, %s = gpu.shuffle xor %x, %i, %i : f32"
        ),
        'gpu.printf "%f %d" %x, %i : f32, i32': (
            'gpu.printf "%f %d", %x, %i : f32, i32'
        ),
    },
    '%m: memref<32x32xf16>, %n: index, %a: !gpu.mma_matrix<16x16xf16, "COp">': {
        "%r = gpu.subgroup_mma_load_matrix %m[%n, %n] {leadDimension = 32 : index}"
        ' : memref<32x32xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">': (
            "%r = gpu.subgroup_mma_load_matrix %m[%n, %n] leadDimension 32"
            ' : memref<32x32xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">'
        ),
        '%r = gpu.subgroup_mma_elementwise %a {opType = "negatef"}'
        ' : (!gpu.mma_matrix<16x16xf16, "COp">) ->'
        ' !gpu.mma_matrix<16x16xf16, "COp">': (
            "%r = gpu.subgroup_mma_elementwise negatef %a"
            ' : (!gpu.mma_matrix<16x16xf16, "COp">) ->'
            ' !gpu.mma_matrix<16x16xf16, "COp">'
        ),
    },
}
CASES = [(args, *pair) for args, pairs in OLD.items() for pair in pairs.items()]


@pytest.mark.cases(("args", "old", "today"), CASES)
def test_old_spelling_becomes_todays(args: str, old: str, today: str):
    module = parse_module(f"func.func @f({args}) {{\n  {old}\n  return\n}}")
    assert f"  {today}\n" in str(module)


def test_launch_of_2022_gains_clusters_and_a_stream():
    module = parse_module("""
func.func @f(%n: index) {
  "gpu.launch"(%n, %n, %n, %n, %n, %n) ({
  ^bb0(%bx: index, %by: index, %bz: index, %tx: index, %ty: index, %tz: index,
       %gx: index, %gy: index, %gz: index, %x: index, %y: index, %z: index):
    gpu.terminator
  }) {operand_segment_sizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0>}
    : (index, index, index, index, index, index) -> ()
  return
}""")
    sizes = "array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0>"
    assert f"operandSegmentSizes = {sizes}" in module.generic()


def test_printf_before_another_operation_ends_at_its_text():
    module = parse_module("""
func.func @f(%n: index) {
  gpu.printf "done"
  %a, %b = arith.mului_extended %n, %n : index
  return
}""")
    assert 'gpu.printf "done"\n' in str(module)


WRONG = {
    "gpu.func @f() -> f32 kernel { gpu.return }": errors.Error,
    "gpu.func @f() workgroup(%w: f32) { gpu.return }": errors.WrongStructure,
    "gpu.func @f() private(%p: memref<f32, #gpu.address_space<workgroup>>)"
    " { gpu.return }": errors.WrongStructure,
    "gpu.func @f() -> f32 { gpu.return }": errors.ReturnMismatch,
}


@pytest.mark.cases("kernel", WRONG)
def test_kernels_of_a_wrong_shape(kernel: str):
    with pytest.raises(WRONG[kernel]):
        parse_module(f"gpu.module @m {{\n  {kernel}\n}}")


def test_binary_lists_objects():
    with pytest.raises(errors.WrongStructure, match="has no objects"):
        parse_module("gpu.binary @b []")


def test_attributes_of_buffers_are_kept():
    text = (
        "gpu.func @f() workgroup(%w : memref<2xf32, 3> {llvm.align = 16},"
        " %v : memref<2xf32, 3>) kernel {"
    )
    module = parse_module(f"gpu.module @m {{\n  {text} gpu.return }}\n}}")
    assert text in str(module)


def test_kernel_in_generic_text_has_no_dialect():
    module = parse_module("gpu.module @m { gpu.func @f() kernel { gpu.return } }")
    assert "kernel, sym_name" in module.generic()
    old = module.generic().replace("kernel, sym", "gpu.kernel, sym")
    assert parse_module(old).generic() == module.generic()
