"""A removed wait is named by the verify pass; the emulated device misses both."""

from __future__ import annotations

import pytest

import gpucodegen as gcg
from examples.catalogue import PROGRAMS
from gpucodegen import errors
from tests.targets import ALL

PROGRAM = PROGRAMS["dma_matmul"]
WAITS = [
    number
    for number, line in enumerate(PROGRAM.text.splitlines())
    if "memref.dma_wait" in line
]


def without_lines(*numbers: int) -> str:
    lines = enumerate(PROGRAM.text.splitlines())
    return "\n".join(line for number, line in lines if number not in numbers)


def call(text: str, **options: object) -> None:
    gcg.compile(text, **options)[PROGRAM.entry](*PROGRAM.arguments(PROGRAM.small))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", WAITS)
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_the_verify_pass_names_the_copy(target: str, number: int) -> None:
    with pytest.raises(errors.TransferOvertaken) as caught:
        call(without_lines(number), target=target)
    text = str(caught.value)
    assert "memref.dma_start" in text
    assert text.count("<string>:") == 2


@pytest.mark.slow
def test_the_emulated_device_shows_that_there_is_none() -> None:
    """One wait is for all copies under way; without the other nothing fails."""
    call(without_lines(WAITS[0]), target="sim", verify=False)
    with pytest.raises(errors.UnfinishedTransfer):
        call(without_lines(*WAITS), target="sim", verify=False)


def test_data_is_visible_at_the_wait_and_not_before() -> None:
    text = """func.func @f(%src: memref<4xf32>, %dst: memref<4xf32>,
    %seen: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %tag = memref.alloc() : memref<1xi32>
  affine.for %once = 0 to 1 {
    memref.dma_start %src[%c0], %dst[%c0], %c4, %tag[%c0]
        : memref<4xf32>, memref<4xf32>, memref<1xi32>
    affine.for %i = 0 to 4 {
      %v = affine.load %dst[%i] : memref<4xf32>
      affine.store %v, %seen[%i] : memref<4xf32>
    }
    memref.dma_wait %tag[%c0], %c4 : memref<1xi32>
  }
  memref.dealloc %tag : memref<1xi32>
  return
}"""
    import numpy as np

    source, seen = np.ones(4, "f4"), np.zeros(4, "f4")
    target = np.full(4, 7, "f4")
    gcg.compile(text, target="cpu", verify=False).f(source, target, seen)
    assert seen.tolist() == [7.0] * 4
    assert target.tolist() == [1.0] * 4


AFFINE_FORM = """func.func @f(%src: memref<64xf32>, %dst: memref<64xf32>) {
  %n = arith.constant 16 : index
  %z = arith.constant 0 : index
  affine.for %b = 0 to 4 {
    %buf = memref.alloc() : memref<16xf32, 2>
    %tag = memref.alloc() : memref<1xi32>
    affine.dma_start %src[%b * 16], %buf[%z], %tag[%z], %n
        : memref<64xf32>, memref<16xf32, 2>, memref<1xi32>
    affine.dma_wait %tag[%z], %n : memref<1xi32>
    affine.for %i = 0 to 16 {
      %v = affine.load %buf[%i] : memref<16xf32, 2>
      affine.store %v, %dst[%b * 16 + %i] : memref<64xf32>
    }
  }
  return
}"""
FORM_OF_2019 = """func @f(%src: memref<64xf32>, %dst: memref<64xf32>) {
  %n = constant 64 : index
  %z = constant 0 : index
  %tag = alloc() : memref<1 x i32, (d0) -> (d0), 4>
  dma_start %src[%z], %dst[%z], %n, %tag[%z]
      : memref<64xf32>, memref<64xf32>, memref<1 x i32, (d0) -> (d0), 4>
  dma_wait %tag[%z], %n : memref<1 x i32, (d0) -> (d0), 4>
  return
}"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", [AFFINE_FORM, FORM_OF_2019])
@pytest.mark.parametrize("target", ALL)
def test_other_spellings(text: str, target: str) -> None:
    import numpy as np

    source, copy = np.arange(64, dtype="f4"), np.zeros(64, "f4")
    gcg.compile(text, target=target).f(source, copy)
    assert (source == copy).all()
