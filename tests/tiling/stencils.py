"""Time loops around stencils, as `Scop`s of parameters T and N."""

from __future__ import annotations

from hypothesis import strategies as st
from tiling_samples import JACOBI, SEIDEL, nest

from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, read, write

SEIDEL_9 = nest(
    """
for t in 0..T
  for i in 1..N - 1
    for j in 1..N - 1
      A[i,j] = A[i - 1,j - 1] A[i - 1,j] A[i - 1,j + 1] A[i,j - 1] A[i,j] A[i,j + 1] \
A[i + 1,j - 1] A[i + 1,j] A[i + 1,j + 1]
""",
    "T N",
)
JACOBI_1D = nest(
    """
for t in 0..T
  for i in 1..N - 1
    B[i] = A[i - 1] A[i] A[i + 1]
  for j in 1..N - 1
    A[j] = B[j - 1] B[j] B[j + 1]
""",
    "T N",
)
FDTD = nest(
    """
for t in 0..T
  for j0 in 0..N
    ey[0,j0] = f[t]
  for i1 in 1..N
    for j1 in 0..N
      ey[i1,j1] = ey[i1,j1] hz[i1,j1] hz[i1 - 1,j1]
  for i2 in 0..N
    for j2 in 1..N
      ex[i2,j2] = ex[i2,j2] hz[i2,j2] hz[i2,j2 - 1]
  for i3 in 0..N - 1
    for j3 in 0..N - 1
      hz[i3,j3] = hz[i3,j3] ex[i3,j3 + 1] ex[i3,j3] ey[i3 + 1,j3] ey[i3,j3]
""",
    "T N",
)
HEAT = nest(
    """
for t in 1..T
  for i in 1..N - 1
    for j in 1..N - 1
      for k in 1..N - 1
        B[i,j,k] = A[i,j,k] A[i - 1,j,k] A[i + 1,j,k] A[i,j - 1,k] A[i,j + 1,k] \
A[i,j,k - 1] A[i,j,k + 1]
  for l in 1..N - 1
    for m in 1..N - 1
      for n in 1..N - 1
        A[l,m,n] = B[l,m,n] B[l - 1,m,n] B[l + 1,m,n] B[l,m - 1,n] B[l,m + 1,n] \
B[l,m,n - 1] B[l,m,n + 1]
""",
    "T N",
)
STENCILS = {
    "seidel": SEIDEL,
    "seidel-9": SEIDEL_9,
    "jacobi-1d": JACOBI_1D,
    "jacobi-2d": JACOBI,
    "fdtd-2d": FDTD,
    "heat-3d": HEAT,
}


@st.composite
def sweeps(draw: st.DrawFn) -> Scop:
    """A time loop around one to three sweeps over a line or a plane, any offsets."""
    rank = draw(st.integers(1, 2))
    bodies = [_sweep(draw, number, rank) for number in range(draw(st.integers(1, 3)))]
    arrays = tuple(Array(name, (None,) * rank) for name in "AB")
    step = draw(st.sampled_from([1, 1, 2]))
    return Scop(("T", "N"), (), arrays, (Loop("t", "0", "T", step, tuple(bodies)),))


def _sweep(draw: st.DrawFn, number: int, rank: int) -> Loop:
    names = [f"{letter}{number}" for letter in "ij"[:rank]]
    target = draw(st.sampled_from("AB"))
    offsets = st.sampled_from(["", "", " - 1", " + 1", " + 2"])
    sources = [
        read(draw(st.sampled_from("AB")), *(f"{n}{draw(offsets)}" for n in names))
        for _ in range(draw(st.integers(1, 3)))
    ]
    body = Statement(f"S{number}", (*sources, write(target, *names)))
    loops = [Loop(n, "1", "N", draw(st.sampled_from([1, 1, 1, 2]))) for n in names]
    inner = (body,)
    for loop in reversed(loops):
        inner = (Loop(loop.name, loop.lower, loop.upper, loop.step, inner),)
    return inner[0]
