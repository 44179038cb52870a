"""Bugs of the past, and legality checks switched off, to be put back one at a time.

Each says what it replaces, and the area of random programs that shows it.
``python -m tests.made.mutations [NAME ...]`` searches for the first program of each.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np

from gpucodegen.passes.gpu.blocks.row_distribution import Element
from gpucodegen.python import elementwise
from gpucodegen.python.arrays import cast

MOST = 500
"""Programs of an area among which one must show the bug."""


@dataclass(frozen=True)
class Mutation:
    """``changes``: a path below ``gpucodegen`` and what stands there instead.

    ``engine`` runs the programs of the area; "" is the interpreter alone.  The search
    begins at ``first``, where an earlier one found the bug soon after.
    """

    changes: dict[str, Any]
    area: str
    engine: str
    first: int = 0

    @contextmanager
    def applied(self) -> Iterator[None]:
        """With the bug; what earlier compilations left on disk is not used."""
        with ExitStack() as stack:
            variables = {"GPUCODEGEN_CACHE_SIZE": "0"}
            stack.enter_context(patch.dict(os.environ, variables))
            for path, new in self.changes.items():
                place, name = path.rsplit(".", 1)
                stack.enter_context(patch.object(_found(place), name, new))
            yield


def _found(path: str) -> Any:
    """A module below ``gpucodegen``, or a class in one."""
    try:
        return import_module(f"gpucodegen.{path}")
    except ModuleNotFoundError:
        module, name = path.rsplit(".", 1)
        return getattr(import_module(f"gpucodegen.{module}"), name)


def _hosted_with_its_epilogue(contraction: Any, host: Any) -> Any:
    """The epilogue looks for the sums where they grow, not under their own place."""
    result = contraction.result

    def to(place: Any) -> Any:
        return host if place == result else place

    start, epilogue = contraction.start, contraction.epilogue
    return replace(
        contraction,
        result=host,
        start=start and start.moved(to),
        epilogue=epilogue and epilogue.moved(to),
    )


def _truncated(b: Any, value: Any, target: Any, after: str) -> Any:
    """A float that does not fit its integer type saturates."""
    from gpucodegen.ir.types import I64, INDEX
    from gpucodegen.python import scalars

    name = "arith.fptoui" if after == "u" else "arith.fptosi"
    (whole,) = b.add(name, (value,), [I64 if target == INDEX else target])
    return scalars._as_integer(b, whole, target, after)


def _as_python_bool(ufunc: Any, kinds: Any) -> Any:
    """A comparison is Python's bool."""
    operands, result = RESOLVED(ufunc, kinds)
    return operands, (bool if result == np.dtype(bool) else result)


def _quotient_of_remainder(b: Any, values: Any) -> Any:
    """A floor division without NumPy's rules for zero and infinity."""
    x, y = values
    rest = elementwise._float_remainder(b, values)
    (whole,) = b.add("arith.subf", (x, rest), [x.type])
    (quotient,) = b.add("arith.divf", (whole, y), [x.type])
    return b.add("math.roundeven", (quotient,), [x.type])[0]


ROWS = elementwise.ROWS
RESOLVED = elementwise.resolved
FUSION = "passes.contraction.epilogue_fusion"
MUTATIONS = {
    "sums under the place they grow in": Mutation(
        {f"{FUSION}._hosted": _hosted_with_its_epilogue},
        *("destinations", "cpu passes", 440),
    ),
    "tensors in place whatever reads them later": Mutation(
        {"passes.prepare.tensors.conflicts.Conflicts.of_write": (lambda *_: None)},
        *("destinations", "cpu passes"),
    ),
    "loops interchanged against a dependence": Mutation(
        {"passes.loops.interchange.check_interchange": lambda *_, **__: None},
        *("raised", "cpu passes", 5),
    ),
    "a transfer for each thread of a block": Mutation(
        {"interp.memref._is_first": lambda *_: True},
        *("staged", "sim passes"),
    ),
    "elements of loops over other ranges": Mutation(
        {
            "passes.gpu.blocks.row_distribution.Element": lambda *given: Element(
                *given[:3], ((), (), 1)
            )
        },
        *("rows", "sim", 60),
    ),
    "a shared buffer for each thread of a block": Mutation(
        {"interp.memref.is_shared": lambda _: False},
        *("tensors", "sim passes"),
    ),
    "comparisons are Python's bools": Mutation(
        {"python.elementwise.resolved": _as_python_bool}, "jit", "", 15
    ),
    "floor division by the remainder": Mutation(
        {
            "python.elementwise.ROWS": ROWS
            | {np.floor_divide: ROWS[np.floor_divide] | {"f": _quotient_of_remainder}}
        },
        *("jit", ""),
    ),
    "floats that saturate as integers": Mutation(
        {"python.scalars._truncated": _truncated}, "jit", "", 50
    ),
    "parts that overlap count as disjoint": Mutation(
        {"python.arrays.may_share": lambda *_: False}, "jit", ""
    ),
    "a copy of the own type is a view": Mutation(
        {"python.functions.numpy_functions.renewed": cast}, "jit", "", 25
    ),
}
"""At least ten, each of which one of `MOST` programs of its area shows."""


def shown(mutation: Mutation) -> tuple[int, str]:
    """The first program that shows a bug, and the difference; -1 if none does."""
    from tests.made.rounds import failures

    engines = (mutation.engine,) if mutation.engine else ()
    with mutation.applied():
        for seed in range(mutation.first, MOST):
            try:
                found = failures(mutation.area, seed, engines)
            except Exception as problem:  # noqa: BLE001 - the bug may break anything
                found = [f"{type(problem).__name__}: {problem}"]
            if found:
                return seed, found[0]
    return -1, ""


def main(*names: str) -> None:
    """Print the first program that shows each bug."""
    for name in names or MUTATIONS:
        seed, text = shown(MUTATIONS[name])
        sys.stdout.write(f"{name}: {seed} {text[:160]!r}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
