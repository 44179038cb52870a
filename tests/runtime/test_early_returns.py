"""Early returns of CPU kernels free each live buffer once, and no other."""

from __future__ import annotations

import ast

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.runtime.cpu.kernels import outlined

HEADER = """
from gpucodegen.intrinsics import cpu as intrinsics
from gpucodegen.intrinsics.cpu import prange
heap_f64 = intrinsics.heap("f64")
heap_2d_f32 = intrinsics.heap_dynamic(2, "f32")
heap_free_f64 = intrinsics.heap_free("f64")
heap_free_f32 = intrinsics.heap_free("f32")
"""
FREES = {"heap_free_f64": "f64", "heap_free_f32": "f32"}


def freed(body: str, *, parallel: bool = True) -> list[list[str]]:
    """The buffers that each return frees just before it, in textual order."""
    tree = outlined(f"{HEADER}\ndef f(A, c, n):\n{body}", "f", parallel=parallel).tree
    return [found for node in tree.body for found in _before_returns(node)]


def _before_returns(node: ast.AST) -> list[list[str]]:
    found: list[list[str]] = []
    calls: list[str] = []
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.Return):
            found.append(calls)
        found += _before_returns(part)
        match part:
            case ast.Expr(ast.Call(ast.Name(name), [ast.Name(buffer)])) if (
                name in FREES
            ):
                calls = [*calls, f"{buffer} {FREES[name]}"]
            case _:
                calls = []
    return found


STOP = "if c:\n  A[0] = 1\n  return\n"


def indented(text: str, depth: int = 1) -> str:
    return "".join(f"{' ' * depth}{line}\n" for line in text.splitlines())


CASES: list[tuple[str, list[list[str]]]] = [
    (f"{STOP}t = heap_f64(n)\nheap_free_f64(t)", [[]]),
    (f"t = heap_f64(n)\n{STOP}heap_free_f64(t)", [["t f64"]]),
    (f"t = heap_f64(n)\nheap_free_f64(t)\n{STOP}", [[]]),
    (
        (
            f"t = heap_f64(n)\nu = heap_2d_f32(n, n)\n{STOP}heap_free_f64(t)\n"
            f"{STOP}heap_free_f32(u)\n{STOP}"
        ),
        [["u f32", "t f64"], ["u f32"], []],
    ),
    (
        (
            "t = heap_f64(n)\nfor i in range(n):\n u = heap_f64(n)\n"
            f"{indented(STOP)} heap_free_f64(u)\n{STOP}heap_free_f64(t)"
        ),
        [["u f64", "t f64"], ["t f64"]],
    ),
    (
        (
            "t = heap_f64(n)\nif n:\n heap_free_f64(t)\n"
            f"{indented(STOP)}else:\n{indented(STOP)} heap_free_f64(t)\n{STOP}"
        ),
        [[], ["t f64"], []],
    ),
    (
        (
            "t = heap_f64(n)\nwhile n:\n if n == 1:\n  heap_free_f64(t)\n"
            f" else:\n{indented(STOP, 2)}"
        ),
        [[]],
    ),
    (
        (
            f"t = heap_f64(n)\nu = heap_f64(n)\nfor i in range(n):\n t, u = u, t\n"
            f"{indented(STOP)}heap_free_f64(t)\nheap_free_f64(u)\n{STOP}"
        ),
        [["u f64", "t f64"], []],
    ),
    (f"t = heap_f64(n)\nu = t\n{STOP}heap_free_f64(u)", [[]]),
    (
        (
            "t = heap_f64(n)\nfor i in prange(n):\n u = heap_f64(n)\n"
            f"{indented(STOP)} heap_free_f64(u)\nheap_free_f64(t)"
        ),
        [["u f64"], ["t f64"]],
    ),
    (
        (
            "for i in prange(n):\n A[i] = 1\nt = heap_f64(n)\nfor i in prange(n):\n"
            " A[i] = t[i]\nheap_free_f64(t)"
        ),
        [[], ["t f64"]],
    ),
]


@pytest.mark.cases(("body", "expected"), CASES)
def test_returns_free_live_buffers(body: str, expected: list[list[str]]):
    assert freed(indented(body)) == expected


def test_a_parallel_loop_on_one_thread_frees_the_buffers_around_it():
    body = (
        "t = heap_f64(n)\nfor i in prange(n):\n u = heap_f64(n)\n"
        f"{indented(STOP)} heap_free_f64(u)\nheap_free_f64(t)"
    )
    assert freed(indented(body), parallel=False) == [["u f64", "t f64"]]


@pytest.mark.slow
@pytest.mark.cases("threads", [1, 2])
def test_the_buffers_of_an_open_size_are_freed_where_one_fails(threads: int):
    """The second allocation fails: its extent is negative."""
    text = """
    func.func @f(%a: memref<?xf64>, %n: index, %m: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %s = arith.addi %n, %i : index
        %t = memref.alloc(%s) : memref<?xf64>
        %r = arith.subi %m, %i : index
        %u = memref.alloc(%r) : memref<?xf64>
        scf.for %j = %c0 to %r step %c1 {
          %x = memref.load %a[%j] : memref<?xf64>
          memref.store %x, %u[%j] : memref<?xf64>
          memref.store %x, %t[%j] : memref<?xf64>
        }
        scf.for %j = %c0 to %r step %c1 {
          %k = arith.subi %r, %j : index
          %l = arith.subi %k, %c1 : index
          %x = memref.load %u[%l] : memref<?xf64>
          %y = memref.load %t[%j] : memref<?xf64>
          %z = arith.addf %x, %y : f64
          memref.store %z, %a[%j] : memref<?xf64>
        }
      }
      return
    }"""
    program = gcg.compile(text, target="cpu", threads=threads)
    a = np.arange(4.0)
    with pytest.raises(gcg.Error, match="negative"):
        program.f(a, 4, 2)
    with pytest.raises(gcg.Error, match="negative"):
        program.f(a, 4, 2)
