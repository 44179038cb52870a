"""Kernels through the pass `vectorize` at a forced width, and their execution."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.vectorize import Vectorize
from tests.emit.running import loaded

WIDTHS = st.sampled_from([128, 256, 512])
CACHES = st.sampled_from([0, 1 << 20])
"""Without a cache every store that may go past it does."""


def vectorized(text: str, bits: int = 256, cache: int = 1 << 20) -> gcg.Module:
    """The module after the pass, verified, its text read back."""
    made = run_pipeline(gcg.parse(text), [Vectorize(bits, cache=cache, kept=4 * cache)])
    assert str(gcg.parse(str(made))) == str(made)
    return made


def kernel(arguments: str, body: str, target: str) -> str:
    """A function ``f`` that runs ``body`` as a kernel of one thread."""
    pairs = [part.split(": ", 1) for part in arguments.split(", %")]
    names = ", ".join(f"%{name.lstrip('%')}" for name, _ in pairs)
    types = ", ".join(ty for _, ty in pairs)
    passed = ", ".join(f"%{name.lstrip('%')} : {ty}" for name, ty in pairs)
    if target == "cpu":
        return f"""
        func.func private @k({arguments}) attributes {{gcg.kernel = "cpu"}} {{
          {body}
          return
        }}
        func.func @f({arguments}) {{
          call @k({names}) : ({types}) -> ()
          return
        }}"""
    return f"""
    gpu.module @m {{ gpu.func @k({arguments}) kernel {{
      {body}
      gpu.return
    }} }}
    func.func @f({arguments}) {{
      %one = arith.constant 1 : index
      gpu.launch_func @m::@k blocks in (%one, %one, %one)
          threads in (%one, %one, %one) args({passed})
      return
    }}"""


def run(module: gcg.Module, target: str, *arguments: Any) -> None:
    """Execute ``f`` of a module of kernels."""
    loaded(module, target, "f")(*arguments)
