"""Vectors in the interpreter, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

A = np.arange(12, dtype="f4").reshape(3, 4) - 5
MASK = "%m = vector.create_mask %c2, %c3 : vector<3x4xi1>"

VECTORS = {
    "transpose": (
        "%r = vector.transpose %v, [1, 0] : vector<3x4xf32> to vector<4x3xf32>",
        "4x3",
        lambda a: a.T,
    ),
    "broadcast": (
        (
            "%w = vector.extract %v[1] : vector<4xf32> from vector<3x4xf32>\n"
            "%r = vector.broadcast %w : vector<4xf32> to vector<2x4xf32>"
        ),
        "2x4",
        lambda a: np.tile(a[1], (2, 1)),
    ),
    "strided slices": (
        (
            "%w = vector.extract_strided_slice %v {offsets = [1], sizes = [2],"
            " strides = [1]} : vector<3x4xf32> to vector<2x4xf32>\n"
            "%r = vector.insert_strided_slice %w, %v {offsets = [0, 0],"
            " strides = [1, 1]}"
            " : vector<2x4xf32> into vector<3x4xf32>"
        ),
        "3x4",
        lambda a: np.concatenate([a[1:], a[2:]]),
    ),
    "shuffle": (
        "%r = vector.shuffle %v, %v [5, 0, 2, 2] : vector<3x4xf32>, vector<3x4xf32>",
        "4x4",
        lambda a: np.concatenate([a, a])[[5, 0, 2, 2]],
    ),
    "interleave": (
        "%r = vector.interleave %v, %v : vector<3x4xf32> -> vector<3x8xf32>",
        "3x8",
        lambda a: np.repeat(a, 2, axis=1),
    ),
    "multi_reduction": (
        (
            "%z = arith.constant dense<1.0> : vector<3xf32>\n"
            "%r = vector.multi_reduction <add>, %v, %z [1]"
            " : vector<3x4xf32> to vector<3xf32>"
        ),
        "3",
        lambda a: a.sum(1) + 1,
    ),
    "masked reduction": (
        (
            f"{MASK}\n%z = arith.constant dense<1.0> : vector<3xf32>\n"
            "%r = vector.mask %m { vector.multi_reduction <add>, %v, %z [1]"
            " : vector<3x4xf32> to vector<3xf32> } : vector<3x4xi1> -> vector<3xf32>"
        ),
        "3",
        lambda a: np.array([a[0, :3].sum(), a[1, :3].sum(), 0]) + 1,
    ),
    "scan": (
        (
            "%z = arith.constant dense<0.0> : vector<3xf32>\n"
            "%r, %s = vector.scan <add>, %v, %z {inclusive = true, reduction_dim = 1}"
            " : vector<3x4xf32>, vector<3xf32>"
        ),
        "3x4",
        lambda a: np.cumsum(a, axis=1),
    ),
    "contract": (
        (
            "%t = vector.transpose %v, [1, 0] : vector<3x4xf32> to vector<4x3xf32>\n"
            "%z = arith.constant dense<2.0> : vector<3x3xf32>\n"
            "%r = vector.contract {indexing_maps = [affine_map<(i, j, k) -> (i, k)>,"
            " affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],"
            ' iterator_types = ["parallel", "parallel", "reduction"],'
            " kind = #vector.kind<add>} %v, %t, %z"
            " : vector<3x4xf32>, vector<4x3xf32> into vector<3x3xf32>"
        ),
        "3x3",
        lambda a: a @ a.T + 2,
    ),
    "outerproduct": (
        (
            "%a = vector.extract %v[0] : vector<4xf32> from vector<3x4xf32>\n"
            "%b = vector.extract %v[2] : vector<4xf32> from vector<3x4xf32>\n"
            "%r = vector.outerproduct %a, %b : vector<4xf32>, vector<4xf32>"
        ),
        "4x4",
        lambda a: np.outer(a[0], a[2]),
    ),
    "transfer with padding": (
        (
            "%p = arith.constant 7.0 : f32\n"
            "%r = vector.transfer_read %x[%c2, %c3], %p"
            " : memref<3x4xf32>, vector<2x2xf32>"
        ),
        "2x2",
        lambda a: np.array([[a[2, 3], 7], [7, 7]]),
    ),
    "transposed transfer": (
        (
            "%p = arith.constant 7.0 : f32\n"
            "%r = vector.transfer_read %x[%c0, %c3], %p"
            " {permutation_map = affine_map<(i, j) -> (j, i)>}"
            " : memref<3x4xf32>, vector<2x3xf32>"
        ),
        "2x3",
        lambda a: np.array([a[:, 3], [7, 7, 7]]),
    ),
    "gather": (
        (
            "%i = arith.constant dense<[3, 0, 9]> : vector<3xi32>\n"
            "%k = arith.constant dense<[true, false, true]> : vector<3xi1>\n"
            "%q = arith.constant dense<-1.0> : vector<3xf32>\n"
            "%r = vector.gather %x[%c0, %c2] [%i], %k, %q"
            " : memref<3x4xf32>, vector<3xi32>, vector<3xi1>, vector<3xf32>"
            " into vector<3xf32>"
        ),
        "3",
        lambda a: np.array([a.ravel()[5], -1, a.ravel()[11]]),
    ),
    "expandload": (
        (
            "%k = arith.constant dense<[true, false, true]> : vector<3xi1>\n"
            "%q = arith.constant dense<-1.0> : vector<3xf32>\n"
            "%r = vector.expandload %x[%c2, %c0], %k, %q"
            " : memref<3x4xf32>, vector<3xi1>, vector<3xf32> into vector<3xf32>"
        ),
        "3",
        lambda a: np.array([a[2, 0], -1, a[2, 1]]),
    ),
    "bitcast": (
        (
            "%i = vector.bitcast %v : vector<3x4xf32> to vector<3x8xi16>\n"
            "%r = vector.bitcast %i : vector<3x8xi16> to vector<3x4xf32>"
        ),
        "3x4",
        lambda a: a,
    ),
}


@pytest.mark.cases("name", VECTORS)
def test_vectors(name: str):
    lines, shape, want = VECTORS[name]
    ty = f"vector<{shape}xf32>"
    text = f"""
    func.func @f(%x: memref<3x4xf32>) -> {ty} {{
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %v = vector.load %x[%c0, %c0] : memref<3x4xf32>, vector<3x4xf32>
      {lines}
      return %r : {ty}
    }}"""
    found = gcg.compile(text, target="interp").f(A.copy())
    np.testing.assert_array_equal(found, want(A))


def test_printing(capsys: pytest.CaptureFixture[str]):
    text = """
    func.func @f(%v: vector<2x2xf32>) {
      vector.print %v : vector<2x2xf32>
      vector.print str "end"
      return
    }"""
    gcg.compile(text, target="interp").f(np.array([[1, 2.5], [3, -4]], "f4"))
    assert capsys.readouterr().out == "( ( 1, 2.5 ), ( 3, -4 ) )\nend"


def test_masked_lanes_touch_nothing():
    text = """
    func.func @f(%x: memref<4xf32>, %n: index) {
      %c2 = arith.constant 2 : index
      %m = vector.create_mask %n : vector<4xi1>
      %v = arith.constant dense<9.0> : vector<4xf32>
      vector.maskedstore %x[%c2], %m, %v
        : memref<4xf32>, vector<4xi1>, vector<4xf32>
      return
    }"""
    program = gcg.compile(text, target="interp")
    x = np.zeros(4, "f4")
    program.f(x, 2)
    assert x.tolist() == [0, 0, 9, 9]
    with pytest.raises(gcg.Error, match=r"vector\.maskedstore"):
        program.f(x, 3)


KINDS = {"i8": "i1", "ui8": "u1", "i16": "i2"}


@pytest.mark.parametrize("parts", [("i8", "ui8"), ("ui8", "i8"), ("i16", "i16")])
def test_an_outer_product_of_packed_words(parts: tuple[str, str]):
    """Words of several integers are multiplied part by part, as VNNI does."""
    text = f"""func.func @f(
        %a: memref<3xi32>, %b: memref<2xi32>, %c: memref<3x2xi32>) {{
      %z = arith.constant 0 : index
      %x = vector.load %a[%z] : memref<3xi32>, vector<3xi32>
      %y = vector.load %b[%z] : memref<2xi32>, vector<2xi32>
      %s = vector.load %c[%z, %z] : memref<3x2xi32>, vector<3x2xi32>
      %o = vector.outerproduct %x, %y, %s {{gcg.words = [{", ".join(parts)}]}}
        : vector<3xi32>, vector<2xi32>
      vector.store %o, %c[%z, %z] : memref<3x2xi32>, vector<3x2xi32>
      return
    }}"""
    a, b = (
        np.random.default_rng(n).integers(-(2**31), 2**31, n + 2).astype("i4")
        for n in (1, 0)
    )
    x, y = (
        words.view(KINDS[part]).reshape(len(words), -1).astype("i8")
        for words, part in zip((a, b), parts, strict=True)
    )
    c = np.arange(6, dtype="i4").reshape(3, 2)
    wanted = (c + x @ y.T).astype("i4")
    gcg.compile(text, target="interp").f(a, b, c)
    np.testing.assert_array_equal(c, wanted)
