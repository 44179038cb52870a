"""Well-known nests, as `Scop`s."""

from __future__ import annotations

import re
from itertools import count

from gpucodegen.tiling.model.scop import (
    Access,
    Array,
    Loop,
    Node,
    Reduction,
    Scop,
    Statement,
    read,
    write,
)

ACCESS = re.compile(r"(\w+)\[([^\]]*)\]")


def nest(text: str, parameters: str = "", context: tuple[str, ...] = ()) -> Scop:
    """Lines ``for i in 0..N [step s]``, ``C[i,j] += A[i,k] B[k,j]``, indented by 2."""
    names = count()
    lines = [line for line in text.splitlines() if line.strip()]
    body = _body(lines, names)
    ranks = {a: i.count(",") + 1 if i else 0 for a, i in ACCESS.findall(text)}
    arrays = tuple(Array(name, (None,) * rank) for name, rank in ranks.items())
    return Scop(tuple(parameters.split()), context, arrays, body)


def _body(lines: list[str], names: count[int]) -> tuple[Node, ...]:
    nodes: list[Node] = []
    margin = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    while lines:
        line = lines.pop(0).strip()
        inner: list[str] = []
        while lines and len(lines[0]) - len(lines[0].lstrip()) > margin:
            inner.append(lines.pop(0))
        loop = re.fullmatch(r"for (\w+) in (.+)\.\.(.+?)( step (\d+))?", line)
        if loop:
            name, lower, upper, _, step = loop.groups()
            body = _body(inner, names)
            nodes.append(Loop(name, lower, upper, int(step or 1), body))
        else:
            nodes.append(_statement(line, f"S{next(names)}"))
    return tuple(nodes)


def _statement(line: str, name: str) -> Statement:
    left, sign, right = re.split(r"\s(\+?=)\s", line)
    (target,) = ACCESS.findall(left)
    reads = tuple(_access(read, *source) for source in ACCESS.findall(right))
    if sign == "=":
        return Statement(name, (*reads, _access(write, *target)), loc=line)
    accesses = (*reads, _access(read, *target), _access(write, *target))
    last = len(accesses) - 1
    return Statement(name, accesses, Reduction("add", last - 1, last), loc=line)


def _access(make, array: str, indices: str) -> Access:  # noqa: ANN001
    return make(array, *(i.strip() for i in indices.split(",") if i.strip()))


MATMUL = nest(
    """
for i in 0..M
  for j in 0..N
    for k in 0..K
      C[i,j] += A[i,k] B[k,j]
""",
    "M N K",
)
MATMUL_INIT = nest(
    """
for i in 0..M
  for j in 0..N
    C[i,j] = z[]
    for k in 0..K
      C[i,j] += A[i,k] B[k,j]
""",
    "M N K",
)
CONVOLUTION = nest(
    """
for n in 0..B
  for h in 0..H
    for w in 0..W
      for f in 0..F
        for p in 0..3
          for q in 0..3
            for c in 0..C
              O[n,h,w,f] += I[n,2*h + p,2*w + q,c] K[p,q,c,f]
""",
    "B H W F C",
)
JACOBI = nest(
    """
for t in 0..T
  for i in 1..N - 1
    for j in 1..N - 1
      B[i,j] = A[i,j] A[i,j - 1] A[i,j + 1] A[i - 1,j] A[i + 1,j]
  for k in 1..N - 1
    for l in 1..N - 1
      A[k,l] = B[k,l] B[k,l - 1] B[k,l + 1] B[k - 1,l] B[k + 1,l]
""",
    "T N",
)
SEIDEL = nest(
    """
for t in 0..T
  for i in 1..N - 1
    for j in 1..N - 1
      A[i,j] = A[i - 1,j] A[i,j - 1] A[i,j] A[i,j + 1] A[i + 1,j]
""",
    "T N",
)
TRIANGULAR_SOLVE = nest(
    """
for i in 0..N
  x[i] = b[i]
  for j in 0..i
    x[i] += L[i,j] x[j]
  x[i] = x[i] L[i,i]
""",
    "N",
)
