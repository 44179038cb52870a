"""What would take too long to compile is refused, by name and place."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors


def chain(count: int) -> str:
    """A loop whose body is a chain of additions."""
    steps = "\n".join(f"%v{n + 1} = arith.addf %v{n}, %v0 : f32" for n in range(count))
    return f"""func.func @f(%X: memref<64xf32>, %Y: memref<64xf32>) {{
      affine.for %i = 0 to 64 {{
        %v0 = affine.load %X[%i] : memref<64xf32>
        {steps}
        affine.store %v{count}, %Y[%i] : memref<64xf32>
      }}
      return
    }}"""


def doubled(width: int) -> str:
    """An addition of two vectors."""
    vector, array = f"vector<{width}xf32>", f"memref<{width}xf32>"
    return f"""func.func @f(%X: {array}, %Y: {array}) {{
      %c0 = arith.constant 0 : index
      %x = vector.load %X[%c0] : {array}, {vector}
      %y = arith.addf %x, %x : {vector}
      vector.store %y, %Y[%c0] : {array}, {vector}
      return
    }}"""


def test_more_operations_than_compile_in_reason_are_refused() -> None:
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    text = chain(40)
    with pytest.raises(errors.TooManyOperations, match="limit of 40") as found:
        gcg.compile(text, target="cpu", max_operations=40).f(x, y)
    assert "raise max_operations" in str(found.value)
    gcg.compile(text, target="cpu", max_operations=60).f(x, y)
    assert (y == 41).all()


@pytest.mark.slow
def test_the_limit_is_there_without_asking_for_it() -> None:
    program = gcg.compile(chain(1 << 15), target="cpu")
    with pytest.raises(errors.TooManyOperations):
        program.f(np.ones(64, np.float32), np.ones(64, np.float32))


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_a_vector_longer_than_a_kernel_can_hold_is_refused(target: str) -> None:
    x = np.ones(100_000, np.float32)
    with pytest.raises(errors.VectorTooLong, match="vector<100000xf32>"):
        gcg.compile(doubled(100_000), target=target).f(x, x.copy())
    y = np.zeros(64, np.float32)
    gcg.compile(doubled(64), target=target).f(x[:64], y)
    assert (y == 2).all()
