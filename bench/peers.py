"""Ways of peers to do a program's work, each imported when a case asks for it.

A maker maps the arguments of a call to the call.  Results exist before the call or are
made by it, as the name says; what a peer has to compile or to convert happens before.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import gpucodegen as gcg
from bench.case import Call, Peer
from examples.problems import Arguments


def numpy_peer(work: Callable[..., object], name: str = "NumPy") -> Peer:
    """A function of the arguments in NumPy (or in anything that is always there)."""
    return Peer(name, lambda arguments: lambda: work(*arguments))


def torch_peer(work: Callable[..., Callable[..., object]], name: str = "torch") -> Peer:
    """``work(torch)`` is a function of the arguments as tensors that share memory."""

    def make(arguments: Arguments) -> Call:
        torch: Any = import_module("torch")
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        tensors = [torch.from_numpy(a) if hasattr(a, "shape") else a for a in arguments]
        function = work(torch)
        return lambda: function(*tensors)

    return Peer(name, make, "torch")


def jax_peer(work: Callable[..., Callable[..., object]], inputs: int) -> Peer:
    """``work(jax.numpy)`` is a function of the first ``inputs`` arguments; compiled."""

    def make(arguments: Arguments) -> Call:
        jax: Any = import_module("jax")
        jax.config.update("jax_enable_x64", True)
        given = [jax.numpy.asarray(a) for a in arguments[:inputs]]
        compiled = jax.jit(work(jax.numpy))
        return lambda: compiled(*given).block_until_ready()

    return Peer("JAX", make, "jax")


def iree_peer(text: str, entry: str, inputs: int) -> Peer:
    """A function on tensors, compiled by IREE for the host with all of its features."""

    def make(arguments: Arguments) -> Call:
        compiler: Any = import_module("iree.compiler")
        runtime: Any = import_module("iree.runtime")
        code = compiler.compile_str(
            text,
            target_backends=["llvm-cpu"],
            extra_args=[
                "--iree-llvmcpu-target-cpu=host",
                "--iree-opt-level=O3",
                "--iree-input-demote-f64-to-f32=false",
            ],
        )
        threads = os.environ.get("OMP_NUM_THREADS", "1")
        runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
        driver = "local-sync" if threads == "1" else "local-task"
        module = runtime.load_vm_flatbuffer(code, driver=driver)
        device = runtime.get_device(driver)
        given = [runtime.asdevicearray(device, a) for a in arguments[:inputs]]
        return lambda: module[entry](*given)

    return Peer("IREE", make, "iree.runtime")


def numba_peer(loops: Callable[..., object], name: str = "Numba loops") -> Peer:
    """Plain loops compiled by ``numba.njit(parallel=True, fastmath=True)``."""

    def make(arguments: Arguments) -> Call:
        numba: Any = import_module("numba")
        compiled = numba.njit(parallel=True, fastmath=True)(loops)
        return lambda: compiled(*arguments)

    return Peer(name, make, "numba")


def ours(source: str | Path, entry: str, name: str, **options: Any) -> Peer:
    """Another program, or other options, of ours."""

    def make(arguments: Arguments) -> Call:
        return gcg.compile(source, target="cpu", **options)[entry].bind(*arguments)

    return Peer(name, make)
