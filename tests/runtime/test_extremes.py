"""``min`` and ``max`` of kernels: instructions, and no functions beside the kernel."""

from __future__ import annotations

import ctypes
from itertools import product
from typing import Any

import pytest

EDGES = (-(2**63), -7, -1, 0, 1, 5, 2**63 - 1)


def _min(p: Any, a: Any, b: Any, c: Any) -> None:
    p[0] = min(a, b)
    p[1] = min(a + 0, 5, b, c)


def _max(p: Any, a: Any, b: Any, c: Any) -> None:
    p[0] = max(a, b)
    p[1] = max(a + 0, 5, b, c)


@pytest.mark.parametrize(("kernel", "extreme"), [(_min, min), (_max, max)])
def test_extremes_are_instructions(kernel: Any, extreme: Any) -> None:
    """The values of Python's, and no library is linked."""
    from numba import types

    from gpucodegen.intrinsics.cpu.target import jit

    dispatcher = jit(kernel)
    arguments = (types.CPointer(types.int64), *[types.int64] * 3)
    dispatcher.compile(arguments)
    compiled = dispatcher.overloads[arguments]
    assert not compiled.library._linking_libraries
    out = (ctypes.c_int64 * 2)()
    for a, b, c in product(EDGES, repeat=3):
        entry = compiled.library.get_pointer_to_function(
            compiled.fndesc.llvm_cfunc_wrapper_name
        )
        form = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)
        form(entry)(ctypes.addressof(out), a, b, c)
        assert list(out) == [extreme(a, b), extreme(a, 5, b, c)]
