"""Exchanges of a warp that read lanes which take no part, or have no place in it."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.programs.test_gpu_warps import proven
from tests.programs.warp_texts import launch

EXCHANGES = {
    "gpu.shuffle": "%s, %q = gpu.shuffle xor %v, %one, %n : f32",
    "nvvm.shfl.sync": "%s = nvvm.shfl.sync bfly %n, %v, %one, %last : f32 -> f32",
    "nvvm.vote.sync": "%s = nvvm.vote.sync any %n, %p -> i1",
    "nvvm.vote.ballot.sync": "%s = nvvm.vote.ballot.sync %n, %p : i32",
    "nvvm.redux.sync": "%s = nvvm.redux.sync add %i4, %n : i32 -> i32",
    "nvvm.bar.warp.sync": "nvvm.bar.warp.sync %n : i32",
}


def exchanged(name: str, number: str, few: str = "") -> str:
    """A kernel with an exchange whose mask, or width, is a number; ``few``: lanes."""
    exchange = EXCHANGES[name]
    if few:
        exchange = f"""%few = arith.cmpi ult, %tx, %c{few} : index
    scf.if %few {{
      {exchange}
    }}"""
    return launch(
        f"""
    %one = arith.constant 1 : i32
    %last = arith.constant 31 : i32
    %n = {number}
    %v = memref.load %a[%i] : memref<32xf32>
    %zero = arith.constant 0.0 : f32
    %i4 = arith.fptosi %v : f32 to i32
    %p = arith.cmpf ogt, %v, %zero : f32
    {exchange}""",
        ["memref<32xf32>", "memref<i32>"],
        (32, 1, 1),
    )


def constant(number: int) -> str:
    return f"arith.constant {number} : i32"


MASKED = [name for name in EXCHANGES if name != "gpu.shuffle"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", MASKED)
def test_a_lane_that_the_mask_leaves_out_is_refused(name: str) -> None:
    proven(exchanged(name, constant(-1)))
    proven(exchanged(name, constant(0xFFFF), few="16"))
    with pytest.raises(errors.ThreadsApart, match=r"is not named.*thread_x=16"):
        proven(exchanged(name, constant(0xFFFF)))
    with pytest.raises(errors.ThreadsApart, match=r"lanes that meet.*thread_x=16"):
        proven(exchanged(name, constant(0x3FFFF), few="16"))


@pytest.mark.cases("name", MASKED)
@pytest.mark.cases("mask", [-1, 0xFFFF, 0])
@pytest.mark.sampled(3)
def test_the_device_tells_it_of_masks_that_data_choose(name: str, mask: int) -> None:
    text = exchanged(name, "memref.load %b[] : memref<i32>")
    program = gcg.compile(text, target="sim")
    right = mask == -1
    with nullcontext() if right else pytest.raises(errors.LaunchError, match="mask"):
        program.f(np.ones(32, "f4"), np.array(mask, "i4"))


def test_a_shuffle_reads_lanes_of_its_mask() -> None:
    """Lanes 0 to 14: the last reads lane 15."""
    proven(exchanged("nvvm.shfl.sync", constant(0x3FFF), few="14"))
    with pytest.raises(errors.WrongLanes, match="lane 14 reads lane 15"):
        proven(exchanged("nvvm.shfl.sync", constant(0x7FFF), few="15"))


@pytest.mark.cases("width", [0, -1, 33, 64])
def test_a_width_that_no_warp_has_is_refused(width: int) -> None:
    with pytest.raises(errors.WrongLanes, match=f"a width of {width} lanes"):
        proven(exchanged("gpu.shuffle", constant(width)))
