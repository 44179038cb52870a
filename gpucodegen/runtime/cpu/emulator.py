"""The emulator: runs the text of a CUDA kernel without a GPU.

``cuda.syncthreads()`` statements become yields, so each thread is a generator and a
block advances from barrier to barrier.  Races, divergent barriers, accesses out of
bounds, misaligned accesses and data used before its transfer's wait are errors.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gpucodegen import errors
from gpucodegen.runtime.host import modules
from gpucodegen.runtime.host.buffers import Buffer
from gpucodegen.runtime.host.spec import KernelSpec

Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class SimKernel:
    """A kernel as a generator function."""

    spec: KernelSpec
    function: Callable[..., Iterator[int]]

    def launch(self, grid: Triple, block: Triple, args: Sequence[Any]) -> None:
        """Run all blocks, one after another."""
        from gpucodegen.intrinsics.sim import machine as face

        with face.running(block, grid) as machine:
            values = [
                _argument(p, a) for p, a in zip(self.spec.params, args, strict=True)
            ]
            for z in range(grid[2]):
                for y in range(grid[1]):
                    for x in range(grid[0]):
                        self._run_block(machine, face.Dim3(x, y, z), block, values)

    def _run_block(
        self, machine: Any, index: Any, block: Triple, values: Sequence[Any]
    ) -> None:
        from gpucodegen.intrinsics.sim.machine import Dim3, cuda

        cuda.blockIdx = index
        machine.begin_block(index)
        places = [
            Dim3(x, y, z)
            for z in range(block[2])
            for y in range(block[1])
            for x in range(block[0])
        ]
        threads = [self.function(*values) for _ in places]
        while _advance(machine, threads, places):
            machine.barrier()
        machine.transfers.end_block(machine.threads)


def _advance(machine: Any, threads: Sequence[Iterator[int]], places: Any) -> bool:
    """Run every thread to its next barrier; False when all have ended."""
    from gpucodegen.intrinsics.sim.machine import cuda

    stops: dict[int | None, list[int]] = {}
    for number, (thread, place) in enumerate(zip(threads, places, strict=True)):
        machine.thread, cuda.threadIdx = number, place
        stops.setdefault(next(thread, None), []).append(number)
    if len(stops) > 1:
        parts = [
            f"{len(members)} threads, thread {places[members[0]]} first, "
            + ("end" if line is None else f"wait in line {line}")
            for line, members in stops.items()
        ]
        raise errors.DivergentBarrier(block=cuda.blockIdx, problem="; ".join(parts))
    return None not in stops


def _argument(param: Any, value: Any) -> Any:
    """A kernel argument as the emulator's face carries it."""
    from gpucodegen.intrinsics.sim import PLAIN
    from gpucodegen.intrinsics.sim.machine import Memory, Pointer

    if param.kind == "scalar":
        from gpucodegen.intrinsics.framework.elements import element

        name = "int32" if param.dtype == "index" else element(param.dtype).carrier
        return PLAIN[name](value)
    cells, origin = memory_of(value)
    return Pointer(Memory(cells, param.name, "global", origin))


def memory_of(buffer: Buffer) -> tuple[np.ndarray, int]:
    """(elements from the buffer's first to its last, address of its allocation)."""
    array = buffer.array
    extent = 1 + sum(
        (n - 1) * s for n, s in zip(buffer.shape, buffer.strides, strict=True)
    )
    length = extent if all(buffer.shape) else 0
    cells = np.lib.stride_tricks.as_strided(array, (length,), (array.itemsize,))
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    return cells, int(base.__array_interface__["data"][0])


def compile_sim(spec: KernelSpec) -> SimKernel:
    """The kernel's text with barriers as yields and the emulator's intrinsics."""
    with modules.SYNTAX_TREES:
        tree = ast.parse(spec.source)
        tree = ast.fix_missing_locations(_Rewriter(spec.name).visit(tree))
        code = compile(tree, f"<emulated {spec.name}>", "exec")
    namespace: dict[str, Any] = {"__name__": f"sim_{spec.name}"}
    exec(code, namespace)
    return SimKernel(spec, namespace[spec.name])


class _Rewriter(ast.NodeTransformer):
    """Header imports to the emulator's face, barriers of the kernel to yields."""

    PACKAGE = "gpucodegen.intrinsics"
    TWINS: ClassVar = {"cuda": "sim"}
    """The face that a kernel names, and the one with its names here."""

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """Imports of a face, or from it."""
        package, _, face = str(node.module).rpartition(".")
        if node.module == self.PACKAGE:
            for alias in node.names:
                alias.asname = alias.asname or alias.name
                alias.name = self.TWINS.get(alias.name, alias.name)
        elif package == self.PACKAGE:
            node.module = f"{package}.{self.TWINS.get(face, face)}"
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """The kernel becomes a generator even if it has no barrier."""
        if node.name == self.kernel:
            node = _Barriers().visit(node)
            never = ast.parse("if False:\n    yield 0").body
            node.body = [*node.body, *never]
        return node


class _Barriers(ast.NodeTransformer):
    """``cuda.syncthreads()`` as a statement to ``yield LINE``."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if ast.unparse(node) != "cuda.syncthreads()":
            return node
        line = ast.Constant(node.lineno)
        return ast.copy_location(ast.Expr(ast.Yield(line)), node)
