"""Buffers, views and tensors in the interpreter, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors


def call(text: str, *arguments: Any) -> Any:
    return gcg.compile(text, target="interp").f(*arguments)


def numbers(*shape: int) -> np.ndarray:
    count = int(np.prod(shape))
    return (np.arange(count, dtype="f4") * 7 % 11).reshape(shape)


READ = """
  %c0 = arith.constant 0 : index
  %v = memref.load %m[%c0, %c0] : memref<{0}>
  memref.store %x, %m[%c0, %c0] : memref<{0}>
  return %v : f32
}}"""
VIEWS = {
    "subview": (
        (
            "%m = memref.subview %a[1, 2] [2, 2] [2, 1]"
            " : memref<4x6xf32> to memref<2x2xf32, strided<[12, 1], offset: 8>>"
        ),
        "2x2xf32, strided<[12, 1], offset: 8>",
        (1, 2),
    ),
    "rank-reducing": (
        (
            "%s = memref.subview %a[3, 1] [1, 4] [1, 1]"
            " : memref<4x6xf32> to memref<4xf32, strided<[1], offset: 19>>\n"
            "%m = memref.expand_shape %s [[0, 1]] output_shape [2, 2]"
            " : memref<4xf32, strided<[1], offset: 19>>"
            " into memref<2x2xf32, strided<[2, 1], offset: 19>>"
        ),
        "2x2xf32, strided<[2, 1], offset: 19>",
        (3, 1),
    ),
    "reinterpret_cast": (
        (
            "%s = memref.subview %a[1, 0] [1, 6] [1, 1]"
            " : memref<4x6xf32> to memref<6xf32, strided<[1], offset: 6>>\n"
            "%m = memref.reinterpret_cast %s to offset: [13], sizes: [2, 3],"
            " strides: [3, 1]"
            " : memref<6xf32, strided<[1], offset: 6>>"
            " to memref<2x3xf32, strided<[3, 1], offset: 13>>"
        ),
        "2x3xf32, strided<[3, 1], offset: 13>",
        (2, 1),
    ),
    "transpose": (
        (
            "%s = memref.subview %a[0, 5] [4, 1] [1, 1]"
            " : memref<4x6xf32> to memref<4x1xf32, strided<[6, 1], offset: 5>>\n"
            "%m = memref.transpose %s (i, j) -> (j, i)"
            " : memref<4x1xf32, strided<[6, 1], offset: 5>>"
            " to memref<1x4xf32, strided<[1, 6], offset: 5>>"
        ),
        "1x4xf32, strided<[1, 6], offset: 5>",
        (0, 5),
    ),
    "collapse": (
        (
            "%s = memref.collapse_shape %a [[0, 1]]"
            " : memref<4x6xf32> into memref<24xf32>\n"
            "%m = memref.expand_shape %s [[0, 1]] output_shape [8, 3]"
            " : memref<24xf32> into memref<8x3xf32>"
        ),
        "8x3xf32",
        (0, 0),
    ),
}


@pytest.mark.cases("name", VIEWS)
def test_views_share_memory(name: str):
    lines, ty, place = VIEWS[name]
    head = f"func.func @f(%a: memref<4x6xf32>, %x: f32) -> f32 {{ {lines}"
    a = numbers(4, 6)
    before = a.copy()
    assert call(head + READ.format(ty), a, -5.0) == before[place]
    before[place] = -5
    np.testing.assert_array_equal(a, before)


def test_bytes_as_numbers():
    text = """
    func.func @f(%bytes: memref<64xi8>, %at: index, %n: index) -> f32 {
      %c1 = arith.constant 1 : index
      %m = memref.view %bytes[%at][%n] : memref<64xi8> to memref<?x2xf32>
      %v = memref.load %m[%c1, %c1] : memref<?x2xf32>
      return %v : f32
    }"""
    raw = np.arange(16, dtype="f4").view("i1")
    assert call(text, raw, 8, 3) == 5.0
    with pytest.raises(errors.IndexOutOfBounds, match=r"memref\.view"):
        call(text, raw, 8, 100)


def test_a_layout_puts_elements_into_a_box():
    text = """
    #tiled = affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>
    func.func @f(%a: memref<10xi32>) -> i32 {
      %m = memref.alloc() : memref<10xi32, #tiled>
      memref.copy %a, %m : memref<10xi32> to memref<10xi32, #tiled>
      %c9 = arith.constant 9 : index
      %v = memref.load %m[%c9] : memref<10xi32, #tiled>
      return %v : i32
    }"""
    assert call(text, np.arange(10, dtype="i4")) == 9


def test_globals_and_metadata():
    text = """
    memref.global "private" @g : memref<2x3xi16> = dense<[[1, 2, 3], [4, 5, 6]]>
    func.func @f() -> (i16, index, index, index) {
      %m = memref.get_global @g : memref<2x3xi16>
      %s = memref.subview %m[1, 1] [1, 2] [1, 1]
        : memref<2x3xi16> to memref<1x2xi16, strided<[3, 1], offset: 4>>
      %b, %o, %sz:2, %st:2 = memref.extract_strided_metadata %s
        : memref<1x2xi16, strided<[3, 1], offset: 4>>
        -> memref<i16>, index, index, index, index, index
      %v = memref.load %b[] : memref<i16>
      return %v, %o, %sz#1, %st#0 : i16, index, index, index
    }"""
    assert call(text) == (1, 4, 2, 3)


def test_transfers_happen_when_they_are_waited_for():
    text = """
    func.func @f(%a: memref<16xf32>, %b: memref<8xf32>) -> f32 {
      %c0 = arith.constant 0 : index
      %n = arith.constant 8 : index
      %two = arith.constant 2 : index
      %four = arith.constant 4 : index
      %tag = memref.alloc() : memref<1xi32>
      memref.dma_start %a[%c0], %b[%c0], %n, %tag[%c0], %four, %two
        : memref<16xf32>, memref<8xf32>, memref<1xi32>
      %early = memref.load %b[%c0] : memref<8xf32>
      memref.dma_wait %tag[%c0], %n : memref<1xi32>
      return %early : f32
    }"""
    a, b = numbers(16), np.full(8, -1, "f4")
    assert call(text, a, b) == -1
    np.testing.assert_array_equal(b, a.reshape(4, 4)[:, :2].ravel())


def test_arrays_of_any_rank_and_vectors():
    text = """
    func.func @f(%m: memref<*xf32>, %v: vector<2x2xi8>)
        -> (index, index, vector<2xi8>) {
      %c1 = arith.constant 1 : index
      %r = memref.rank %m : memref<*xf32>
      %d = memref.dim %m, %c1 : memref<*xf32>
      %w = vector.extract %v[1] : vector<2xi8> from vector<2x2xi8>
      return %r, %d, %w : index, index, vector<2xi8>
    }"""
    found = call(text, numbers(2, 5, 3), np.array([[1, 2], [3, 4]], "i1"))
    assert found[:2] == (3, 5)
    assert found[2].tolist() == [3, 4]


# -- tensors ---------------------------------------------------------------------------


TENSORS = {
    "pad": (
        """%p = tensor.pad %t low[1, 0] high[0, 2] {
        ^bb0(%i: index, %j: index):
          %z = arith.constant 9.0 : f32
          tensor.yield %z : f32
        } : tensor<3x4xf32> to tensor<4x6xf32>""",
        "4x6",
        lambda t: np.pad(t, ((1, 0), (0, 2)), constant_values=9),
    ),
    "slices": (
        """%s = tensor.extract_slice %t[0, 1] [3, 2] [1, 2]
          : tensor<3x4xf32> to tensor<3x2xf32>
        %p = tensor.insert_slice %s into %t[0, 0] [3, 2] [1, 1]
          : tensor<3x2xf32> into tensor<3x4xf32>""",
        "3x4",
        lambda t: np.concatenate([t[:, 1::2], t[:, 2:]], 1),
    ),
    "shapes": (
        """%s = tensor.collapse_shape %t [[0, 1]] : tensor<3x4xf32> into tensor<12xf32>
        %e = tensor.expand_shape %s [[0, 1]] output_shape [6, 2]
          : tensor<12xf32> into tensor<6x2xf32>
        %p = tensor.concat dim(1) %e, %e : (tensor<6x2xf32>, tensor<6x2xf32>)
          -> tensor<6x4xf32>""",
        "6x4",
        lambda t: np.tile(t.reshape(6, 2), (1, 2)),
    ),
    "generate": (
        """%p = tensor.generate {
        ^bb0(%i: index, %j: index):
          %c = affine.apply affine_map<(i) -> (2 - i)>(%i)
          %v = tensor.extract %t[%c, %j] : tensor<3x4xf32>
          tensor.yield %v : f32
        } : tensor<3x4xf32>""",
        "3x4",
        lambda t: t[::-1],
    ),
    "gather": (
        """%i = arith.constant dense<[[2], [0]]> : tensor<2x1xindex>
        %p = tensor.gather %t[%i] gather_dims([0]) unique
          : (tensor<3x4xf32>, tensor<2x1xindex>) -> tensor<2x4xf32>""",
        "2x4",
        lambda t: t[[2, 0]],
    ),
    "forall": (
        """%p = scf.forall (%i) in (3) shared_outs(%o = %t) -> (tensor<3x4xf32>) {
          %s = tensor.extract_slice %t[%i, 1] [1, 3] [1, 1]
            : tensor<3x4xf32> to tensor<1x3xf32>
          scf.forall.in_parallel {
            tensor.parallel_insert_slice %s into %o[%i, 0] [1, 3] [1, 1]
              : tensor<1x3xf32> into tensor<3x4xf32>
          }
        }""",
        "3x4",
        lambda t: np.concatenate([t[:, 1:], t[:, 3:]], 1),
    ),
    "carried": (
        """%c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c3 = arith.constant 3 : index
        %p = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %t) -> (tensor<3x4xf32>) {
          %v = tensor.extract %t[%i, %i] : tensor<3x4xf32>
          %y = tensor.insert %v into %x[%i, %c3] : tensor<3x4xf32>
          scf.yield %y : tensor<3x4xf32>
        }""",
        "3x4",
        lambda t: np.concatenate([t[:, :3], np.diag(t)[:, None]], 1),
    ),
}


@pytest.mark.cases("name", TENSORS)
def test_tensors_are_values(name: str):
    lines, shape, want = TENSORS[name]
    ty = f"tensor<{shape}xf32>"
    text = f"func.func @f(%t: tensor<3x4xf32>) -> {ty} {{ {lines}\n return %p : {ty} }}"
    t = numbers(3, 4)
    before = t.copy()
    np.testing.assert_array_equal(call(text, t), want(before))
    np.testing.assert_array_equal(t, before)


def test_bits_of_other_types():
    text = """
    func.func @f(%t: tensor<2xbf16>) -> tensor<2xi16> {
      %r = tensor.bitcast %t : tensor<2xbf16> to tensor<2xi16>
      return %r : tensor<2xi16>
    }"""
    assert call(text, np.array([0x3F80, 0x4000], "u2")).tolist() == [0x3F80, 0x4000]


ERRORS = {
    "memref.load": (
        errors.IndexOutOfBounds,
        "%v = memref.load %a[%n] : memref<4xf32>",
    ),
    "tensor.extract": (
        errors.IndexOutOfBounds,
        (
            "%t = bufferization.to_tensor %a : memref<4xf32> to tensor<4xf32>\n"
            "%v = tensor.extract %t[%n] : tensor<4xf32>"
        ),
    ),
    "memref.alloc": (
        errors.NegativeExtent,
        "%c = arith.constant -1 : index\n%m = memref.alloc(%c) : memref<?xf32>",
    ),
    "cf.assert": (
        errors.AssertionFailed,
        "%c = arith.constant false\ncf.assert %c, 'x'",
    ),
    "my.op": (errors.UnregisteredOperation, '%v = "my.op"() : () -> f32'),
}


@pytest.mark.cases("name", ERRORS)
def test_errors_say_where_and_in_which_operation(name: str):
    kind, lines = ERRORS[name]
    lines = lines.replace("'", '"')
    text = f"func.func @f(%a: memref<4xf32>, %n: index) {{\n{lines}\nreturn\n}}"
    program = gcg.compile(text, target="interp", allow_unregistered=True)
    with pytest.raises(kind, match=f"'{name}' ran in the interpreter") as caught:
        program.f(np.zeros(4, "f4"), 4)
    place = caught.value.place
    assert place is not None
    assert place.line == 2 + lines.count("\n")


# -- arrays with other strides than their types say ------------------------------------

DYNAMIC = "memref<?x?xf32, strided<[?, ?], offset: ?>>"
LINE = "memref<24xf32>"
RENUMBERED = {
    "collapse": (
        f"%v = memref.collapse_shape %a [[0, 1]] : memref<4x6xf32> into {LINE}",
        LINE,
    ),
    "expand": (
        (
            "%v = memref.expand_shape %a [[0], [1, 2]] output_shape [4, 2, 3]"
            " : memref<4x6xf32> into memref<4x2x3xf32>"
        ),
        "memref<4x2x3xf32>",
    ),
    "reinterpret": (
        (
            "%v = memref.reinterpret_cast %a to offset: [1], sizes: [3, 5],"
            " strides: [6, 1] : memref<4x6xf32>"
            " to memref<3x5xf32, strided<[6, 1], offset: 1>>"
        ),
        "memref<3x5xf32, strided<[6, 1], offset: 1>>",
    ),
    "reshape": (
        f"""%s = memref.alloca() : memref<1xindex>
        %n = arith.constant 24 : index
        memref.store %n, %s[%c0] : memref<1xindex>
        %v = memref.reshape %a(%s) : (memref<4x6xf32>, memref<1xindex>) -> {LINE}""",
        LINE,
    ),
    "subview": (
        (
            "%v = memref.subview %a[1, 2] [2, 3] [1, 1]"
            " : memref<4x6xf32> to memref<2x3xf32, strided<[6, 1], offset: 8>>"
        ),
        "memref<2x3xf32, strided<[6, 1], offset: 8>>",
    ),
    "transpose": (
        (
            "%v = memref.transpose %a (i, j) -> (j, i)"
            " : memref<4x6xf32> to memref<6x4xf32, strided<[1, 6]>>"
        ),
        "memref<6x4xf32, strided<[1, 6]>>",
    ),
    "cast": (f"%v = memref.cast %a : memref<4x6xf32> to {DYNAMIC}", DYNAMIC),
}


def spread() -> list[np.ndarray]:
    base = np.arange(24, dtype="f4").reshape(4, 6)
    wide = np.zeros((8, 12), "f4")
    wide[::2, ::2] = base
    reversed_ = base[::-1].copy()[::-1]
    return [base, np.asfortranarray(base), wide[::2, ::2], reversed_]


@pytest.mark.filterwarnings("ignore::gpucodegen.errors.ArgumentCopied")
@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["interp", "cpu"])
def test_views_of_arrays_with_other_strides(target: str) -> None:
    """A view adds 100 to its elements; the array gets them back."""
    for name, (op, ty) in RENUMBERED.items():
        text = f"""func.func @f(%a: memref<4x6xf32>) {{
          %c0 = arith.constant 0 : index
          %h = arith.constant 100.0 : f32
          {op}
          linalg.map outs(%v : {ty}) () {{ linalg.yield %h : f32 }}
          return
        }}"""
        f = gcg.compile(text, target=target).f
        expected, *others = spread()
        f(expected)
        for array in others:
            f(array)
            np.testing.assert_array_equal(array, expected, name)


@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
def test_strides_that_a_view_cannot_have_are_refused() -> None:
    casts = [
        (f"memref.cast %a : {DYNAMIC} to memref<4x6xf32>", "casts strides"),
        (
            (
                f"memref.collapse_shape %a [[0, 1]] : {DYNAMIC}"
                " into memref<?xf32, strided<[?], offset: ?>>"
            ),
            "joins dimensions of strides",
        ),
    ]
    plain, *others = spread()
    for op, message in casts:
        f = gcg.compile(
            f"func.func @f(%a: {DYNAMIC}) {{ %v = {op}\n return }}", target="interp"
        ).f
        f(plain)
        for array in others:
            with pytest.raises(errors.ShapesDisagree, match=message):
                f(array)


def test_elements_that_two_arguments_share_cannot_be_renumbered() -> None:
    op = RENUMBERED["collapse"][0]
    text = "func.func @f(%a: memref<4x6xf32>, %b: memref<4x6xf32>) {{ {}\n return }}"
    x = np.asfortranarray(np.zeros((4, 6), "f4"))
    gcg.compile(text.format(""), target="interp").f(x, x)
    with pytest.raises(errors.WrongStride, match="argument a must have strides"):
        gcg.compile(text.format(op), target="interp").f(x, x)


@pytest.mark.parametrize("target", ["interp", "cpu"])
def test_a_linear_map_says_which_strides_an_argument_has(target: str) -> None:
    ty = "memref<4x6xf32, affine_map<(i, j) -> (i * 12 + j * 2)>>"
    text = f"""func.func @f(%a: {ty}) -> f32 {{
      %c3 = arith.constant 3 : index
      %x = memref.load %a[%c3, %c3] : {ty}
      return %x : f32
    }}"""
    f = gcg.compile(text, target=target).f
    x = np.zeros((4, 12), "f4")[:, ::2]
    x[3, 3] = 5
    assert f(x) == 5
    with pytest.raises(errors.WrongStride):
        f(np.zeros((4, 6), "f4"))
