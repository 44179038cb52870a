from __future__ import annotations

from tiling_samples import CONVOLUTION, JACOBI, MATMUL, nest

from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import Scop
from gpucodegen.tiling.schedule.promotion import Footprint, footprints


def boxes(scop: Scop, array: str, sizes: dict[str, int]) -> list[Footprint]:
    return list(footprints(model(scop), array, sizes))


def test_matmul_tiles():
    sizes = {"i": 64, "j": 32, "k": 16}
    extents = {a: boxes(MATMUL, a, sizes)[0].extent for a in "ABC"}
    assert extents == {"A": (64, 16), "B": (16, 32), "C": (64, 32)}
    assert boxes(MATMUL, "A", sizes)[0].lower == ("__o_i", "__o_k")


def test_stencil_references_form_one_group_with_halo():
    first, second = boxes(JACOBI, "B", {"i": 16, "j": 32, "k": 16, "l": 32})
    assert (first.extent, second.extent) == ((16, 32), (18, 34))
    assert second.lower == ("-1 + __o_k", "-1 + __o_l")
    assert second.cells == 18 * 34


def test_convolution_input_slides():
    sizes = {"n": 1, "h": 4, "w": 4, "f": 32, "p": 3, "q": 3, "c": 16}
    (box,) = boxes(CONVOLUTION, "I", sizes)
    assert box.extent == (1, 9, 9, 16)
    assert box.lower[1] == "2*__o_h + __o_p"


def test_inner_loops_range_over_everything_they_may():
    scop = nest("for i in 0..N\n  for j in 0..8\n    A[i,j] = B[j]", "N")
    (box,) = boxes(scop, "A", {"i": 4})
    assert (box.lower, box.extent) == (("__o_i", "0"), (4, 8))
    triangle = nest("for i in 0..N\n  for j in 0..i\n    A[j] = B[i]", "N")
    (box,) = boxes(triangle, "A", {"i": 4})
    assert box.extent == (None,)
    assert box.cells is None


def test_steps_stretch_the_box():
    scop = nest("for i in 0..N step 3\n  A[2*i] = B[floor(i/4)]", "N")
    (box,) = boxes(scop, "A", {"i": 4})
    assert box.extent == (19,)
    (box,) = boxes(scop, "B", {"i": 4})
    assert box.extent == (4,)
    assert box.lower == (None,)
