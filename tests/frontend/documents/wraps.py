"""What the text around a piece has given: definitions, values, branch targets."""

from __future__ import annotations

from typing import NamedTuple


class Wrap(NamedTuple):
    """Text before the file's piece, inside its function, and after the piece."""

    before: str = ""
    inside: str = ""
    after: str = ""


_LAYOUTS = """\
#imapA = (d0, d1) -> (d0, d1)
#imapB = (d0, d1, d2) -> (d2, d1, d0)
#imapS = (d0, d1)[s0] -> (d0 + s0, d1)
#layout = (d0, d1) -> (d1, d0)
#layout_map0 = (d0, d1) -> (d1, d0)
#layout_map1 = (d0, d1)[s0, s1] -> (d0 + s0, d1 + s1)
"""
_LAYOUTS_2020 = """\
#identity = affine_map<(d0, d1) -> (d0, d1)>
#imapA = affine_map<(d0, d1) -> (d1, d0)>
#col_major = affine_map<(d0, d1, d2) -> (d2, d1, d0)>
#tiled_dynamic = affine_map<(d0, d1)[s0, s1] -> (d0 floordiv s0, d1 floordiv s1,
                                                 d0 mod s0, d1 mod s1)>
#padded = affine_map<(d0, d1) -> (d0, (d1 + 2) floordiv 2, (d1 + 2) mod 2)>
#imapS = affine_map<(d0, d1)[s0] -> (d0 + s0, d1)>
"""

WRAPS: dict[str, Wrap] = {
    "": Wrap(),
    "avx": Wrap("!avx_m128 = type vector<4 x f32>\n"),
    "branch": Wrap(
        after="^bb1:\n  return\n^bb2(%passed: index):\n  return\n",
    ),
    "encoding": Wrap("#ENCODING = #foo.encoding<dense>\n"),
    "helpers": Wrap(
        "func @helper_2D(memref<16x32xf32>)\n"
        "func @helper_3D(memref<16x32x64xf32>)\n"
        "func @helper(memref<*xf32>)\n"
    ),
    "layout_line": Wrap("#layout = (d0) -> (d0 + 1)\n"),
    "layout_1d": Wrap("#layout = (d0) -> (d0 + 1)\n"),
    "layout_map0": Wrap("#layout_map0 = (d0, d1) -> (d1, d0)\n"),
    "layouts": Wrap(_LAYOUTS),
    "layouts_2020": Wrap(_LAYOUTS_2020),
    "library": Wrap(
        "func @linalg_matmul(memref<?x?xf32, stride_specification>,\n"
        "                    memref<?x?xf32, stride_specification>,\n"
        "                    memref<?x?xf32, stride_specification>)\n"
    ),
    "map": Wrap("#map = affine_map<(d0) -> (d0 + 10)>\n"),
    "my_add": Wrap("func @my_add(tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>\n"),
    "myfn": Wrap("func @myfn(tensor<16xf32>, f32) -> tensor<16xf32>\n"),
    "result": Wrap(inside='%result:2 = "foo_div"() : () -> (f32, i32)\n'),
}
