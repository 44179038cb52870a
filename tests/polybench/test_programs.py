"""Every kernel against plain loops in float64, as it is and tiled by force."""

from __future__ import annotations

from functools import cache

import pytest

import gpucodegen as gcg
from examples.catalogue import Program
from examples.polybench.catalogue import KERNELS
from gpucodegen.dialects.builtin import Module
from gpucodegen.passes.framework.pipeline_text import parse_pipeline

SIZES = (3, 5, 32)
TILINGS = {
    name: (*SIZES[at % 3 :], *SIZES[: at % 3]) for at, name in enumerate(KERNELS)
}
"""The sizes take turns in being that of the outermost loop."""
ON_THE_CPU = ("gemm", "lu", "nussinov", "trmm")


@cache
def parsed(name: str) -> Module:
    return gcg.parse(KERNELS[name].path.read_text(encoding="utf-8"))


@cache
def tiled(name: str) -> Module:
    text = f"tile-bands{{sizes=[{','.join(map(str, TILINGS[name]))}]}}"
    (tile,) = parse_pipeline(text)
    return tile.apply(parsed(name))


def beyond_a_tile(kernel: Program) -> dict[str, int]:
    """Extents that no tile size divides and that exceed all of them."""
    return {e: 2 if e == "T" else 2 * n + 17 for e, n in kernel.small.items()}


def run(name: str, source: object, target: str, size: dict[str, int] | None) -> None:
    kernel = KERNELS[name]
    kernel.run(gcg.compile(source, target=target)[kernel.entry], size)


@pytest.mark.slow
@pytest.mark.cases("name", KERNELS)
def test_text_parses_back(name: str) -> None:
    text = str(parsed(name))
    assert str(gcg.parse(text)) == text


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.drawn(11)
def test_cpu(name: str) -> None:
    kernel = KERNELS[name]
    compiled = gcg.compile(kernel.path, target="cpu")
    kernel.run(compiled[kernel.entry], beyond_a_tile(kernel))
    for stage, text in compiled.stages(kernel.entry):
        assert str(gcg.parse(text)) == text, stage


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_emulated_device(name: str) -> None:
    run(name, KERNELS[name].path, "sim", None)


@pytest.mark.sampled(2)
@pytest.mark.cases("name", KERNELS, parts=2)
def test_tiled_text_parses_back(name: str) -> None:
    text = str(tiled(name))
    assert str(gcg.parse(text)) == text
    assert "_tile" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.drawn(15)
def test_tiled_on_the_emulated_device(name: str) -> None:
    run(name, tiled(name), "sim", None)


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_THE_CPU)
def test_tiled_on_the_cpu(name: str) -> None:
    run(name, tiled(name), "cpu", beyond_a_tile(KERNELS[name]))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(KERNELS) - set(ON_THE_CPU)))
@pytest.mark.drawn(10)
def test_others_tiled_on_the_cpu(name: str) -> None:
    run(name, tiled(name), "cpu", beyond_a_tile(KERNELS[name]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gemver", "trmm", "covariance"])
def test_nests_of_fewer_loops_take_the_first_sizes(name: str) -> None:
    kernel = KERNELS[name]
    compiled = gcg.compile(kernel.path, target="sim", tile_sizes=(3, 5))
    if name == "covariance":
        with pytest.raises(gcg.CompileError, match="bounds of an inner loop depend"):
            kernel.run(compiled[kernel.entry])
    else:
        kernel.run(compiled[kernel.entry])


@pytest.mark.slow
def test_a_column_is_walked_by_a_stride_that_llvm_does_not_know() -> None:
    kernel = KERNELS["lu"]
    compiled = gcg.compile(kernel.path, target="cpu")
    kernel.run(compiled[kernel.entry], {"N": 20})
    assert "A[k * A_stride0 + j]" in compiled.source("lu")
    assert "A[i * 20 + k]" in compiled.source("lu")
