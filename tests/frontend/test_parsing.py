"""What the text means once it is in memory."""

from __future__ import annotations

import sys
import warnings

import pytest

from gpucodegen import errors
from gpucodegen.dialects import affine, arith, func, memref
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.linalg import named_definitions as linalg_named
from gpucodegen.ir.affine import AffineMap, Sym
from gpucodegen.ir.attributes import DenseElementsAttr, IntegerAttr, StridedLayoutAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import F32, I32, INDEX, MemRefType, TensorType
from gpucodegen.parser import parse_module, split_input


def first(module: Module, name: str) -> Operation:
    return next(op for op in module.walk() if op.name == name)


def parse_types(*types: str) -> list[object]:
    arguments = ", ".join(f"%a{i}: {ty}" for i, ty in enumerate(types))
    module = parse_module(f"func.func @f({arguments}) {{\n  return\n}}")
    return list(func.Function(module.functions["f"]).type.inputs)


def test_layouts():
    strided, column, old, identity, composed = parse_types(
        "memref<4x4xf32, strided<[1, ?], offset: 3>>",
        "memref<4x4xf32, affine_map<(i, j) -> (j, i)>>",
        "memref<4x4xf32, offset: ?, strides: [4, 1]>",
        "memref<4x4xf32, (d0, d1) -> (d0, d1)>",
        "memref<4x4xf32, (i, j) -> (j, i), (i, j) -> (j, i), 2>",
    )
    assert isinstance(strided, MemRefType)
    assert strided.layout == StridedLayoutAttr((1, None), 3)
    assert str(column) == "memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>"
    assert str(old) == "memref<4x4xf32, strided<[4, 1], offset: ?>>"
    assert identity == MemRefType((4, 4), F32)
    assert composed == MemRefType((4, 4), F32, None, IntegerAttr(2))


def test_memory_spaces():
    spaces = [
        str(ty)
        for ty in parse_types(
            "memref<4xf32, 0>",
            "memref<4xf32, memspace3>",
            "memref<4xf32, vmem>",
            "memref<4xf32, #gpu.address_space<workgroup>>",
        )
    ]
    assert spaces == [
        "memref<4xf32>",
        "memref<4xf32, 3>",
        'memref<4xf32, "vmem">',
        "memref<4xf32, #gpu.address_space<workgroup>>",
    ]


def test_blanks_in_shapes():
    assert parse_types("tensor<4 x ? x f32>", "memref<0x1xi32>") == [
        TensorType((4, None), F32),
        MemRefType((0, 1), I32),
    ]


def test_dense_literals():
    text = """func.func @f() {
      %0 = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
      %1 = arith.constant dense<[5, 5]> : tensor<2xi32>
      %2 = arith.constant dense<"0x00000040000080BF"> : tensor<2xf32>
      return
    }"""
    values = [
        op.attributes["value"]
        for op in parse_module(text).walk()
        if op.name == "arith.constant"
    ]
    assert all(isinstance(v, DenseElementsAttr) for v in values)
    assert [getattr(v, "values") for v in values] == [(1, 2, 3, 4), (5,), (2.0, -1.0)]  # noqa: B009


def test_affine_loop_in_memory():
    text = """func.func @f(%n: index, %A: memref<?xf32>) {
      affine.for %i = 0 to %n step 2 {
        affine.for %j = 0 to %i {
          %0 = affine.load %A[%i + %j * 2 + symbol(%n)] : memref<?xf32>
        }
      }
      return
    }"""
    module = parse_module(text)
    loops = [affine.For(op) for op in module.walk() if op.name == "affine.for"]
    assert str(loops[0].upper_map) == "()[s0] -> (s0)"
    assert str(loops[1].upper_map) == "(d0) -> (d0)"
    assert loops[1].upper_operands == (loops[0].iv,)
    assert (loops[0].step, loops[0].body[-1].name) == (2, "affine.yield")
    load = affine.Load(first(module, "affine.load"))
    assert str(load.map) == "(d0, d1)[s0] -> (d0 + d1 * 2 + s0)"
    assert [v.name for v in load.map_operands] == ["i", "j", "n"]


def test_forward_references_between_blocks():
    text = """func.func @f(%c: i1, %a: i32) -> i32 {
      cf.br ^entry
    ^late:
      %1 = arith.addi %0, %a : i32
      return %1 : i32
    ^entry:
      %0 = arith.addi %a, %a : i32
      cf.br ^late
    }"""
    module = parse_module(text)
    assert str(parse_module(str(module))) == str(module)


def test_locations_are_where_the_operation_is_named():
    module = parse_module(
        "func.func @f() {\n    %0 = arith.constant 1 : i32\n  return\n}", "x"
    )
    assert str(first(module, "arith.constant").location) == "x:2:10"


def test_implicit_and_explicit_modules():
    assert str(parse_module("")) == "module {\n}"
    text = "module @m attributes {a} {\n  module {\n  }\n}"
    assert str(parse_module(text)) == text


def test_split_input():
    chunks = split_input("a\n// -----\nb\n  // -----  \nc")
    assert [(before, chunk.strip()) for before, chunk in chunks] == [
        (0, "a"),
        (1, "b"),
        (3, "c"),
    ]


def test_unregistered_operations_are_kept():
    text = """func.func @f(%a: i32) -> i32 {
      %0:2 = "foo.generic"(%a) <{p = 1 : i32}> ({
      ^bb0(%b: i32):
        "foo.end"(%b) : (i32) -> ()
      }) {q} : (i32) -> (i32, i32)
      %1 = foo.custom %0#1, {x = [1, 2]} -> (i32)
      foo.region @sym {
        inner %a
      } loc
      return %1 : i32
    }"""
    with pytest.raises(errors.UnknownOperation):
        parse_module(text)
    with pytest.warns(errors.CodegenWarning, match=r"'foo\.\w+' is not known"):
        module = parse_module(text, allow_unregistered=True)
    printed = str(module)
    assert "%0:2 =" in printed
    assert "<{p = 1 : i32}>" in printed
    assert "foo.custom %0#1, {x = [1, 2]} -> (i32)" in printed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.CodegenWarning)
        assert str(parse_module(printed, allow_unregistered=True)) == printed


def test_built_modules_print_and_parse():
    buffer = Value(MemRefType((None,), F32), "A")
    extent, iv = Value(INDEX, "n"), Value(INDEX, "i")
    load = affine.load(buffer, None, [iv])
    double = arith.binary("arith.addf", load.result, load.result)
    store = affine.store(double.result, buffer, None, [iv])
    loop = affine.for_(
        0, [], AffineMap(0, 1, (Sym(0),)), [extent],
        body=[load, double, store], iv=iv,
    )  # fmt: skip
    body = [loop, func.return_()]
    module = Module.of([func.func("f", [buffer, extent], [], body)])
    assert str(parse_module(str(module))) == str(module)


def test_aliases_before_their_definition():
    text = """func.func @f(%a: !m) {
      %0 = affine.apply #map(%a) loc(#loc)
      return
    }
    !m = index
    #map = affine_map<(i) -> (i + 1)>
    #loc = loc("early.mlir":1:2)
    """
    module = parse_module(text)
    assert str(first(module, "affine.apply").location) == "early.mlir:1:2"
    assert "affine_map<(d0) -> (d0 + 1)>(%a)" in str(module)
    with pytest.raises(errors.UnknownAlias):
        parse_module("#a = #b\n#b = #a")


def test_external_functions_should_be_private():
    with pytest.warns(errors.MissingVisibility, match=r"x:1:1: warning: external"):
        parse_module("func.func @f()", "x")
    assert "func.func private @f()" in str(parse_module("func @f()"))


def test_alloc_view():
    text = """func.func @f(%n: index) {
      %0 = memref.alloc(%n)[%n] : memref<?xf32, affine_map<(i)[s] -> (i + s)>>
      return
    }"""
    alloc = memref.Alloc(first(parse_module(text), "memref.alloc"))
    assert len(alloc.dynamic_sizes) == len(alloc.symbols) == 1


@pytest.mark.cases(
    "name", sorted(n for n, e in linalg_named.NAMED.items() if "-" not in e.inputs)
)
def test_named_operations_generalize(name: str):
    entry = linalg_named.NAMED[name]
    types = [_memref(text) for text in (*entry.inputs, entry.output)]
    inputs = ", ".join(f"%{i}" for i in range(len(types) - 1))
    arguments = ", ".join(f"%{i}: {ty}" for i, ty in enumerate(types))
    text = (
        f"func.func @f({arguments}) {{\n  linalg.{name} ins({inputs} : "
        f"{', '.join(types[:-1])}) outs(%{len(types) - 1} : {types[-1]})\n  return\n}}"
    )
    module = parse_module(text)
    op = first(module, f"linalg.{name}")
    generic = linalg_named.generalized(op)
    function = module.functions["f"].with_body([generic, func.return_()])
    printed = str(module.with_operations([function]))
    assert "linalg.generic" in printed
    assert str(parse_module(printed)) == printed


def _memref(indices: str) -> str:
    return f"memref<{'?x' * len(indices.split())}f32>"


def test_windows_take_strides_and_dilations():
    text = """func.func @f(%i: memref<?x?x?x?xf32>, %k: memref<?x?x?x?xf32>) {
      linalg.conv_2d_nhwc_hwcf {strides = dense<[2, 3]> : tensor<2xi64>,
                                dilations = dense<4> : tensor<2xi64>}
        ins(%i, %k : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>)
        outs(%i : memref<?x?x?x?xf32>)
      return
    }"""
    op = first(parse_module(text), "linalg.conv_2d_nhwc_hwcf")
    assert str(linalg_named.indexing_maps(op)[0]).endswith(
        "-> (d0, d1 * 2 + d4 * 4, d2 * 3 + d5 * 4, d6)"
    )
    assert linalg_named.iterator_types(op) == ("parallel",) * 4 + ("reduction",) * 3


@pytest.mark.slow
def test_parsing_takes_as_many_calls_as_there_are_operations():
    few, many = _calls(_additions(500)), _calls(_additions(1000))
    assert many < 2.05 * few


def _additions(count: int) -> str:
    body = "\n".join(
        f"  %x{i} = arith.addf %a, %a : f32\n"
        f"  affine.store %x{i}, %A[%n + {i}] : memref<?xf32>"
        for i in range(count)
    )
    return (
        f"func.func @f(%a: f32, %n: index, %A: memref<?xf32>) {{\n{body}\n  return\n}}"
    )


def _calls(text: str) -> int:
    """The calls of functions of Python that parsing a text makes."""
    made = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal made
        made += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        parse_module(text)
    finally:
        sys.setprofile(before)
    return made


def test_deep_regions_work_up_to_the_limit():
    def nested(depth: int) -> str:
        opening = "".join("scf.if %c {\n" for _ in range(depth))
        return f"func.func @f(%c: i1) {{\n{opening}{'}' * depth}\nreturn\n}}"

    module = parse_module(nested(90))
    assert str(parse_module(str(module))) == str(module)
    with pytest.raises(errors.TooDeep):
        parse_module(nested(1000))
