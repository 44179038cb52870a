"""Kernels of all kinds are right as they are, and told of where they are spoilt."""

from __future__ import annotations

from collections import Counter

import pytest

from gpucodegen import ptx
from tests.ptx.compiled import PROGRAMS, Recorded, recorded
from tests.ptx.handwritten import WRITTEN, Tensors, Written
from tests.ptx.mutations.edits import Different, Equivalent, Mutation
from tests.ptx.mutations.table import MUTATIONS

KERNELS = [*PROGRAMS, *WRITTEN]


def subject(name: str) -> Recorded | Written | Tensors:
    return recorded(name) if name in PROGRAMS else WRITTEN[name]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.sampled(11)
def test_originals_are_clean_and_right(name: str) -> None:
    kernel = subject(name)
    assert kernel.run(kernel.text)


@pytest.mark.sampled(58)
@pytest.mark.cases(
    "mutation", MUTATIONS, ids=lambda m: f"{m.kernel}: {m.what}", parts=5
)
def test_mutations(mutation: Mutation) -> None:
    kernel = subject(mutation.kernel)
    text = mutation.apply(kernel.text)
    if not mutation.kinds:
        assert kernel.run(text) == isinstance(mutation.expected, Equivalent)
        return
    with pytest.raises(ptx.Fault) as caught:
        kernel.run(text)
    problem = caught.value
    assert problem.kind in mutation.kinds, problem
    assert problem.kernel in text
    name = next(w for w in problem.instruction.split() if w[0] != "@")
    assert name in text.splitlines()[problem.line - 1]
    assert problem.thread is not None
    assert problem.block is not None
    if mutation.kernel in PROGRAMS:
        assert problem.location is not None


def test_there_are_mutations_of_every_kernel() -> None:
    each = Counter(m.kernel for m in MUTATIONS if m.kinds)
    assert set(each) == set(KERNELS)
    assert min(each.values()) >= 3
    kinds = Equivalent | Different
    exceptions = [m.expected for m in MUTATIONS if isinstance(m.expected, kinds)]
    assert all(why.reason for why in exceptions)
    assert len({(m.kernel, m.what) for m in MUTATIONS}) == len(MUTATIONS)
    assert len(MUTATIONS) - len(exceptions) >= 60
