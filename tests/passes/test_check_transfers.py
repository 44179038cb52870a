"""Starts and waits that do not belong together, each error at its place."""

from __future__ import annotations

import pytest
from lowering import apply

from gpucodegen import errors

FRAME = """func.func @f(%x: memref<64xf32>, %y: memref<64xf32>, %n: index) {{
  %c8 = arith.constant 8 : index
  %c4 = arith.constant 4 : index
  %t = memref.alloc() : memref<4xi32>
{}
  return
}}"""
START = """affine.dma_start %x[{}], %y[{}], %t[{}], %c8
    : memref<64xf32>, memref<64xf32>, memref<4xi32>"""
WAIT = "affine.dma_wait %t[{}], %{} : memref<4xi32>"


def start(at: str = "0", tag: str = "0") -> str:
    return START.format(at, at, tag)


def wait(tag: str = "0", count: str = "c8") -> str:
    return WAIT.format(tag, count)


def loop(body: str, iv: str = "i", extent: str = "4") -> str:
    return f"affine.for %{iv} = 0 to {extent} {{\n{body}\n}}"


MATCHED = {
    "one": start() + "\n" + wait(),
    "in turn": f"{start()}\n{wait()}\n{start()}\n{wait()}",
    "a loop of tags": loop(start("%i * 8", "%i")) + "\n" + loop(wait("%i")),
    "from the last iteration": "\n".join(
        [
            start(),
            loop(f"{wait('%i mod 2')}\n{start('%i * 8 + 8', '(%i + 1) mod 2')}"),
            wait(),
        ]
    ),
    "maybe": loop(start(), extent="%n")[:-1] + wait() + "\n}",
}


@pytest.mark.cases("name", MATCHED)
def test_matched(name: str) -> None:
    apply("check-transfers", FRAME.format(MATCHED[name]))


@pytest.mark.cases(
    ("body", "line", "message"),
    [
        (start(), 5, "dma_start has no matching dma_wait"),
        (
            wait(),
            5,
            "dma_wait has no matching dma_start: no copy with its tag is under",
        ),
        (start(tag="1") + "\n" + wait(tag="2"), 5, "dma_start has no matching"),
        (f"{start()}\n{wait()}\n{wait()}", 8, "dma_wait has no matching dma_start"),
        (loop(start("%i * 8", "%i")) + "\n" + loop(wait("%i"), extent="3"), 6, "(i=3)"),
        (start() + "\n" + wait(count="c4"), 7, "waits for 4 elements, 8 are under way"),
        (
            "\n".join([loop(start("%i * 8", "%i")), wait("0"), loop(wait("%i"))]),
            11,
            "no copy with its tag is under way at (i_1=0)",
        ),
    ],
)
def test_unmatched(body: str, line: int, message: str) -> None:
    with pytest.raises(errors.UnpairedTransfer) as caught:
        apply("check-transfers", FRAME.format(body))
    assert message in str(caught.value)
    assert caught.value.location.line == line
