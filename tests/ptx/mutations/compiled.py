"""Mutations of kernels that the product's pipeline makes."""

from __future__ import annotations

import re

from gpucodegen.ptx.faults import (
    DIVERGENT_BARRIER,
    IN_FLIGHT,
    MISALIGNED,
    OUT_OF_BOUNDS,
    RACE,
    UNINITIALISED,
)
from tests.ptx.mutations.edits import (
    BARRIER,
    COMMIT,
    SCALE,
    WAIT,
    Different,
    Edit,
    Expected,
    bound,
    drop,
    moved,
    put,
    shifted,
    some_only,
)


def simple(
    kernel: str, shift: int = 4
) -> list[tuple[str, str, Expected, tuple[Edit, ...]]]:
    """Kernels without shared memory."""
    return [
        (kernel, "store shifted", OUT_OF_BOUNDS, (shifted(r"st\.global", shift),)),
        (kernel, "store off its word", MISALIGNED, (shifted(r"st\.global", 2),)),
        (kernel, "load off its word", MISALIGNED, (shifted(r"ld\.global", 1),)),
        (
            kernel,
            "store's index doubled",
            OUT_OF_BOUNDS,
            (put(SCALE, r"\g<1>8;", None),),
        ),
        (kernel, "all store to one place", RACE, (one_place,)),
    ]


def one_place(text: str) -> str:
    """Let every thread store where the argument of the store begins."""
    at = re.search(r"st\.global\.\w+\s+\[(%rd\d+)", text)
    assert at is not None
    last = max(int(p) for p in re.findall(r"_param_(\d+)\]", text))
    pointer = re.search(rf"\[(\w+_param_{last})\]", text)
    assert pointer is not None
    again = f"ld.param.b64 {at[1]}, [{pointer[1]}]; "
    return text[: at.start()] + again + text[at.start() :]


def tiled(kernel: str, wide: int) -> list[tuple[str, str, Expected, tuple[Edit, ...]]]:
    """Products whose tiles lie in shared memory, of elements of so many bytes."""
    store, vector = r"st\.shared", r"ld\.shared\.v2"
    rows: list[tuple[str, str, Expected, tuple[Edit, ...]]] = [
        (kernel, "first barrier dropped", (RACE, UNINITIALISED), (drop(BARRIER, 0),)),
        (kernel, "second barrier dropped", RACE, (drop(BARRIER, 1),)),
        (
            kernel,
            "barrier of some threads",
            (DIVERGENT_BARRIER, RACE),
            (some_only(BARRIER),),
        ),
        (
            kernel,
            "barrier of some warps",
            (DIVERGENT_BARRIER, RACE),
            (some_only(BARRIER, 1, threads=32),),
        ),
        (
            kernel,
            "barrier moved behind the first read",
            (RACE, UNINITIALISED),
            (moved(BARRIER, vector),),
        ),
        (
            kernel,
            "barrier moved before the last store",
            (DIVERGENT_BARRIER, RACE, UNINITIALISED),
            (before_the_last_store,),
        ),
        (
            kernel,
            "barrier of one warp",
            RACE,
            (put(r"bar\.sync\s+0", "bar.warp.sync -1"),),
        ),
        (
            kernel,
            "arrives without waiting",
            (RACE, UNINITIALISED),
            (put(r"bar\.sync\s+0", "bar.arrive 1, 1024"),),
        ),
        (kernel, "store dropped", UNINITIALISED, (drop(store, -1),)),
        (
            kernel,
            "store shifted by an element",
            (RACE, UNINITIALISED, OUT_OF_BOUNDS),
            (shifted(store, wide),),
        ),
        (kernel, "vector misaligned", MISALIGNED, (shifted(vector, wide),)),
        (kernel, "read beyond the tiles", OUT_OF_BOUNDS, (shifted(vector, 1 << 16),)),
        (
            kernel,
            "result shifted",
            (RACE, OUT_OF_BOUNDS),
            (shifted(r"st\.global", 4 * wide),),
        ),
        (kernel, "one step too many", OUT_OF_BOUNDS, (too_many_blocks,)),
        (
            kernel,
            "stages not told apart",
            (RACE, UNINITIALISED),
            (put(STAGE, r"\g<1>0;", -1),),
        ),
    ]
    return rows


def before_the_last_store(text: str) -> str:
    """Move the first barrier before the store to shared memory that precedes it."""
    barrier = re.search(r"bar\.sync[^;]*;", text)
    assert barrier is not None
    *_, last = re.finditer(r"st\.shared[^;]*;", text[: barrier.start()])
    rest = text[last.start() : barrier.start()]
    return text[: last.start()] + barrier[0] + rest + text[barrier.end() :]


def too_many_blocks(text: str) -> str:
    """Let the loop over blocks of terms run further, past the factors."""
    return put(r"(setp\.ne\.b32\s+%p\d+, %r\d+, )\d+", r"\g<1>99")(text)


STAGE = r"(and\.b32\s+%r\d+, %r\d+, )1;"
"""What tells the stages apart."""


def turned(kernel: str, wide: int) -> list[tuple[str, str, Expected, tuple[Edit, ...]]]:
    """Kernels that turn a tile around in shared memory between two phases."""
    store, load = r"st\.shared", r"ld\.shared"
    unordered = (RACE, UNINITIALISED)
    return [
        (kernel, "barrier dropped", unordered, (drop(BARRIER, 0),)),
        (
            kernel,
            "barrier of some threads",
            (DIVERGENT_BARRIER, *unordered),
            (some_only(BARRIER),),
        ),
        (
            kernel,
            "barrier of some warps",
            (DIVERGENT_BARRIER, *unordered),
            (some_only(BARRIER, threads=32),),
        ),
        (
            kernel,
            "barrier of one warp",
            unordered,
            (put(r"bar\.sync\s+0", "bar.warp.sync -1"),),
        ),
        (
            kernel,
            "barrier moved behind the first read",
            unordered,
            (moved(BARRIER, load),),
        ),
        (kernel, "cell not stored", UNINITIALISED, (drop(store, 0),)),
        (
            kernel,
            "cell stored beside its place",
            (*unordered, OUT_OF_BOUNDS),
            (shifted(store, wide),),
        ),
        (kernel, "read beyond the tile", OUT_OF_BOUNDS, (shifted(load, 1 << 15),)),
    ]


def early(text: str) -> str:
    """Let the threads meet before each waits for its own copies."""
    meeting = re.search(rf"{BARRIER}[^;]*;", text)
    assert meeting is not None
    rest = text[: meeting.start()] + text[meeting.end() :]
    return put(WAIT, rf"{meeting[0]}\n\g<0>")(rest)


COMPILED = [
    *simple("elementwise"),
    *simple("copy"),
    *simple("transpose", 1 << 14),
    *turned("transpose", 4),
    *simple("stencil", 2 * 4 * 42),
    ("elementwise", "one column too many", (RACE, OUT_OF_BOUNDS), (bound(0, 1),)),
    (
        "elementwise",
        "guard dropped",
        (RACE, OUT_OF_BOUNDS),
        (put(r"@%p\d+ bra[^;]*;", ""),),
    ),
    (
        "stencil",
        "one column too few",
        Different("a column is left out"),
        (bound(0, -1),),
    ),
    ("transpose", "one column too many", (RACE, OUT_OF_BOUNDS), (bound(0, 1),)),
    ("row sums", "one row too many", OUT_OF_BOUNDS, (bound(0, 1),)),
    ("row sums", "one row too few", UNINITIALISED, (bound(0, -1),)),
    ("row sums", "sum shifted", MISALIGNED, (shifted(r"st\.global", 4),)),
    (
        "row sums",
        "sums shifted by a vector",
        (RACE, OUT_OF_BOUNDS),
        (shifted(r"st\.global", 16),),
    ),
    ("row sums", "all sums in one place", RACE, (one_place,)),
    *tiled("matmul f32", 4),
    *tiled("matmul f64", 8),
    *tiled("convolution", 4),
    ("dma matmul", "all waits dropped", IN_FLIGHT, (drop(WAIT, None),)),
    (
        "dma matmul",
        "waits for all groups but one",
        IN_FLIGHT,
        (put(r"wait_group 0", "wait_group 1", None),),
    ),
    ("dma matmul", "all commits dropped", IN_FLIGHT, (drop(COMMIT, None),)),
    (
        "dma matmul",
        "second commit dropped",
        IN_FLIGHT,
        (drop(COMMIT, 1),),
    ),
    ("dma matmul", "first commit dropped", IN_FLIGHT, (drop(COMMIT, 0),)),
    ("dma matmul", "all barriers dropped", RACE, (drop(BARRIER, None),)),
    ("dma matmul", "barrier moved before the wait", (IN_FLIGHT, RACE), (early,)),
    (
        "dma matmul",
        "barrier of one warp",
        RACE,
        (put(r"bar\.sync\s+0", "bar.warp.sync -1"),),
    ),
    (
        "dma matmul",
        "barrier of some threads",
        (DIVERGENT_BARRIER, RACE),
        (some_only(BARRIER),),
    ),
    (
        "dma matmul",
        "copies into the slot in use",
        (IN_FLIGHT, RACE),
        (put(r"(xor\.b32\s+%r\d+, %r\d+), 256;", r"\g<1>, 0;"),),
    ),
    ("dma matmul", "copy off its word", MISALIGNED, (shifted(r"cp\.async\.cg", 2),)),
    (
        "dma matmul",
        "source off its word",
        MISALIGNED,
        (put(r"(cp\.async\.cg[^;]*), \[(%rd\d+)\]", r"\g<1>, [\g<2>+2]"),),
    ),
    (
        "dma matmul",
        "source beyond its array",
        OUT_OF_BOUNDS,
        (put(r"(cp\.async\.cg[^;]*), \[(%rd\d+)\]", r"\g<1>, [\g<2>+6144]"),),
    ),
    (
        "dma matmul",
        "too many elements",
        (OUT_OF_BOUNDS, RACE, IN_FLIGHT),
        (bound(-1, 1024),),
    ),
    ("dma matmul f16", "all waits dropped", IN_FLIGHT, (drop(WAIT, None),)),
    (
        "dma matmul f16",
        "waits for all groups but one",
        IN_FLIGHT,
        (put(r"wait_group 0", "wait_group 1", None),),
    ),
    ("dma matmul f16", "all commits dropped", IN_FLIGHT, (drop(COMMIT, None),)),
    ("dma matmul f16", "all barriers dropped", RACE, (drop(BARRIER, None),)),
    ("dma matmul f16", "barrier moved before the wait", (IN_FLIGHT, RACE), (early,)),
    (
        "dma matmul f16",
        "fragment off its row",
        MISALIGNED,
        (put(r"(ldmatrix[^;]*), \[(%r\d+)\]", r"\g<1>, [\g<2>+8]"),),
    ),
    (
        "dma matmul f16",
        "slices of sums without a barrier",
        RACE,
        (drop(BARRIER, -1),),
    ),
]
