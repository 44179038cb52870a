"""Schedule trees: of nests as written and of kernels as mapped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gpucodegen as gcg
from gpucodegen.report.access_facts import nest_tree
from gpucodegen.report.schedule_tree import NodeKind, Tree
from tests.report.report_nests import LU, example, first_nest


def shape(tree: Tree) -> object:
    """Kinds and texts without leaves."""
    below = [shape(c) for c in tree.children if c.kind is not NodeKind.LEAF]
    return (f"{tree.kind.value} {tree.text}".strip(), *below)


def bands(tree: Tree) -> Iterator[tuple[str, bool, tuple[bool, ...]]]:
    for node in tree.walk():
        if node.kind is NodeKind.BAND:
            yield node.text, node.permutable, node.coincident


def test_matmul_is_one_band():
    tree = nest_tree(first_nest(example("matmul"))[1])
    assert list(bands(tree)) == [("i, j, k", True, (True, True, False))]
    assert [node.kind for node in tree.walk()] == [
        NodeKind.DOMAIN,
        NodeKind.BAND,
        NodeKind.LEAF,
    ]
    assert tree.text.startswith("S0[i, j, k] : 0 <= i < M")


def test_lu_is_a_sequence_inside_a_band():
    _, band = shape(nest_tree(first_nest(LU)[1]))
    assert band == (
        "band k, i",
        ("sequence", ("filter S0",), ("filter S1", ("band j",))),
    )


def test_copies_and_waits_stand_in_order():
    """The tiled product with copies that the rationale of 2019 draws."""
    tree = nest_tree(first_nest(example("dma_matmul"))[1])
    _, band = shape(tree)
    wait_a, wait_b = ("mark wait for a_tag",), ("mark wait for b_tag",)
    steps = (
        "sequence",
        wait_a,
        wait_b,
        ("filter S2",),
        ("filter S3",),
        ("filter S4", ("band ii, jj, kk",)),
    )
    assert band == (
        "band i, j",
        (
            "sequence",
            ("filter S0",),
            ("filter S1",),
            ("filter S2, S3, S4", ("band k", steps)),
        ),
    )


def test_a_kernel_has_blocks_threads_and_barriers():
    explanation = gcg.explain(example("matmul"), targets=("cuda",), sizes=128)
    (kernel,) = explanation.functions[0].mappings[0].kernels
    marks = [n.text for n in kernel.tree.walk() if n.kind is NodeKind.MARK]
    closed, waited = "close a group of copies", "wait for all groups but 2"
    ahead = [closed, closed, "barrier"]
    assert marks == ["blocks", "threads", *ahead, closed, waited, "barrier"]
    first, second, *rest = bands(kernel.tree)
    assert first == ("block_x, block_y", True, (True, True))
    assert second == ("thread_x", False, (True,))
    assert not any(flag for _, _, coincident in rest for flag in coincident)


def test_one_thread_has_no_marks():
    text = example("triangular_solve")
    explanation = gcg.explain(text, targets=("cuda",), function="trsv")
    (kernel,) = explanation.functions[0].mappings[0].kernels
    assert [n for n in kernel.tree.walk() if n.kind is NodeKind.MARK] == []


@pytest.mark.sampled(2)
@pytest.mark.cases(
    "name", ["jacobi_2d", "triangular_solve", "conv_2d", "row_reduction"]
)
def test_every_statement_is_in_the_tree_once(name: str):
    for function in gcg.explain(example(name), targets=()).functions:
        for nest in function.subject.nests:
            leaves = [n for n in nest_tree(nest).walk() if n.kind is NodeKind.LEAF]
            assert len(leaves) == len(nest.statements)
