"""Bugs of the past, and legality checks switched off, to be put back one at a time.

Each says what it replaces, the pass that is then to blame, and the areas of random
programs that show it.  ``python -m tests.made.mutations [NAME ...]`` searches for the
first program of each.
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

MOST = 500
"""Programs of an area among which one must show the bug."""


@dataclass(frozen=True)
class Mutation:
    """``changes``: a path below ``gpucodegen.passes`` and what stands there instead.

    ``engine`` runs the programs; ``pass_`` is named by it, "" where it names none.
    ``seed``: a program known to show it.
    """

    changes: dict[str, Any]
    area: str
    engine: str
    pass_: str = ""
    seed: int = 0

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
    """A module below ``gpucodegen.passes``, or a class in one."""
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


def _kept(value: Any, *_: Any) -> Any:
    return value


FUSION = "passes.contraction.fusion.epilogue_fusion"
MUTATIONS = {
    "sums under the place they grow in": Mutation(
        {f"{FUSION}._hosted": _hosted_with_its_epilogue},
        *("destinations", "cpu passes", "map-cpu"),
    ),
    "sums under the place they grow in, on a GPU": Mutation(
        {f"{FUSION}._hosted": _hosted_with_its_epilogue},
        *("destinations", "sim passes", "map-gpu"),
    ),
    "an epilogue whose dependences leave their cell": Mutation(
        {f"{FUSION}.leaving": lambda *_: None},
        *("chains", "cpu passes", "map-cpu"),
    ),
    "tensors in place whatever reads them later": Mutation(
        {
            "passes.prepare.tensors.analysis.conflicts.Conflicts.of_write": lambda *_: (
                None
            )
        },
        *("destinations", "cpu passes", "bufferize"),
    ),
    "loops fused against a dependence": Mutation(
        {"passes.loops.order.fusion.check_fusion": lambda *_, **__: None},
        *("raised", "cpu passes", "improve-locality"),
    ),
    "loops interchanged against a dependence": Mutation(
        {"passes.loops.order.interchange.check_interchange": lambda *_, **__: None},
        *("raised", "cpu passes", "improve-locality"),
    ),
    "a carried cell that an iteration reads first": Mutation(
        {"passes.prepare.affine.mem2reg._reads_first": lambda *_: False},
        *("raised", "cpu passes", "mem2reg"),
    ),
    "differences of indices raised as sums": Mutation(
        {"passes.prepare.affine.raise_to_affine._INDICES": None},
        *("control", "cpu passes", "raise-to-affine"),
    ),
    "i1 folded as a wide integer": Mutation(
        {
            "passes.prepare.affine.canonicalize._wrapped": _kept,
            "passes.prepare.affine.canonicalize._signed": _kept,
        },
        *("dtypes", "cpu passes", "canonicalize"),
    ),
    "stores merged that other places read": Mutation(
        {"passes.loops.cells.contract_arrays._paths": None},
        *("chains", "cpu passes", "contract-arrays"),
    ),
}


def main(*names: str) -> None:
    """Print the first program that shows each bug."""
    from tests.made.rounds import failures

    for name in names or MUTATIONS:
        mutation = MUTATIONS[name]
        with mutation.applied():
            for seed in range(mutation.seed, MOST):
                try:
                    found = failures(mutation.area, seed, (mutation.engine,))
                except Exception as problem:  # noqa: BLE001
                    found = [f"{type(problem).__name__}: {problem}"]
                if found:
                    sys.stdout.write(f"{name}: {seed} {found[0][:160]}\n")
                    sys.stdout.flush()
                    break
            else:
                sys.stdout.write(f"{name}: NOT FOUND\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
