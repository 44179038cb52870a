"""Mutations of compiled kernels whose transfers are bulk copies."""

from __future__ import annotations

from gpucodegen.ptx.faults import (
    DEADLOCK,
    IN_FLIGHT,
    MBARRIER,
    MISALIGNED,
    OUT_OF_BOUNDS,
    RACE,
    UNINITIALISED,
)
from tests.ptx.mutations.edits import BARRIER, Equivalent, drop, put, shifted

TILES, ROUND = "bulk dma matmul", "bulk there and back"
CHANGED = "bulk rows changed in place"
EXPECT, ARRIVE = r"mbarrier\.expect_tx", r"mbarrier\.arrive"
FENCE, ROWS = r"fence\.proxy\.async", r"cp\.async\.bulk\.shared"
STORE, COMMIT = r"cp\.async\.bulk\.global", r"cp\.async\.bulk\.commit_group"
END = r"cp\.async\.bulk\.wait_group"
ASKED = r"mbarrier\.try_wait[^;]*;"
OVER = "setp.eq.u32 p, 0, 0;"
FLIP = r"xor\.b32(\s+)(%r\d+), %r\d+, \2;"
OTHER = r"(xor\.b32\s+(%r\d+), %r\d+, 1;[^}]*?)shl\.b32(\s+%r\d+), \2, 10;"
"""The other slot, and where it begins."""

BULK = [
    (TILES, "no bytes expected", IN_FLIGHT, (drop(EXPECT, None),)),
    (TILES, "first bytes not expected", (IN_FLIGHT, DEADLOCK), (drop(EXPECT, 0),)),
    (TILES, "last bytes not expected", (IN_FLIGHT, DEADLOCK), (drop(EXPECT, -1),)),
    (
        TILES,
        "too many bytes expected",
        DEADLOCK,
        (put(r"(mov\.b32\s+%r\d+), 1024;", r"\g<1>, 1040;"),),
    ),
    (TILES, "first wait dropped", IN_FLIGHT, (put(ASKED, OVER, 0),)),
    (TILES, "last wait dropped", IN_FLIGHT, (put(ASKED, OVER, -1),)),
    (TILES, "first arrival dropped", DEADLOCK, (drop(ARRIVE, 0),)),
    (
        TILES,
        "first phase not flipped",
        (IN_FLIGHT, MBARRIER, DEADLOCK),
        (put(FLIP, r"mov.b32 \g<2>, \g<2>;", 0),),
    ),
    (
        TILES,
        "last phase not flipped",
        (IN_FLIGHT, MBARRIER, DEADLOCK),
        (put(FLIP, r"mov.b32 \g<2>, \g<2>;", 1),),
    ),
    (TILES, "barriers of phases not made", MBARRIER, (drop(r"mbarrier\.init", None),)),
    (TILES, "barrier dropped behind the making", (MBARRIER, RACE), (drop(BARRIER, 0),)),
    (TILES, "barrier dropped behind the waits", (IN_FLIGHT, RACE), (drop(BARRIER, 1),)),
    (TILES, "a row dropped", (DEADLOCK, UNINITIALISED), (drop(ROWS, 0),)),
    (TILES, "row off its 16 bytes", MISALIGNED, (shifted(ROWS, 8),)),
    (
        TILES,
        "source off its 16 bytes",
        MISALIGNED,
        (put(rf"({ROWS}[^;]*), \[(%rd\d+)\]", r"\g<1>, [\g<2>+4]"),),
    ),
    (
        TILES,
        "source beyond its array",
        OUT_OF_BOUNDS,
        (put(rf"({ROWS}[^;]*), \[(%rd\d+)\]", r"\g<1>, [\g<2>+6144]"),),
    ),
    (
        TILES,
        "rows into the slot in use",
        (IN_FLIGHT, RACE),
        (put(OTHER, r"\g<1>xor.b32\g<3>, \g<2>, 1; shl.b32\g<3>,\g<3>, 10;"),),
    ),
    (
        ROUND,
        "fence before a row dropped",
        Equivalent("that of the store before it has ordered the same writes"),
        (drop(FENCE, 2),),
    ),
    (ROUND, "fence before the first store dropped", RACE, (drop(FENCE, 1),)),
    (ROUND, "wait for the stores dropped", IN_FLIGHT, (drop(END, 0),)),
    (ROUND, "last wait for the stores dropped", IN_FLIGHT, (drop(END, -1),)),
    (
        ROUND,
        "stores waited for but one",
        IN_FLIGHT,
        (put(f"{END} 0", "cp.async.bulk.wait_group 1", 0),),
    ),
    (ROUND, "first group left open", IN_FLIGHT, (drop(COMMIT, 0),)),
    (ROUND, "store off its 16 bytes", MISALIGNED, (shifted(STORE, 4),)),
    (CHANGED, "fence before a row dropped", RACE, (drop(FENCE, 1),)),
    (CHANGED, "wait dropped", IN_FLIGHT, (put(ASKED, OVER, 0),)),
    (CHANGED, "bytes not expected", (IN_FLIGHT, DEADLOCK), (drop(EXPECT, 0),)),
    (
        ROUND,
        "phase not flipped",
        (IN_FLIGHT, DEADLOCK),
        (put(r"(mov\.b32\s+%r\d+, )1;", r"\g<1>0;"),),
    ),
]
