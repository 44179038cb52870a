"""Which instructions order threads, and which lanes must meet at one."""

from __future__ import annotations

from gpucodegen.ptx.parsing.entries import Instruction

_FINE = frozenset(("mbarrier", "wgmma", "fence", "membar"))
_ORDERS = frozenset(("acquire", "release", "acq_rel"))
_STRONG = _ORDERS | {"relaxed", "volatile", "mmio"}
_COLLECTIVE = frozenset(
    ("shfl", "vote", "redux", "match", "ldmatrix", "stmatrix", "elect", "movmatrix")
)
_PLAIN = frozenset(("cta", "aligned"))


def is_block_barrier(x: Instruction) -> bool:
    """Whether threads of several warps meet at an instruction."""
    return x.opcode in ("bar", "barrier") and x.modifiers[:1] != ("warp",)


def is_whole_barrier(x: Instruction) -> bool:
    """Whether a barrier is the one of all threads of a block."""
    return {*x.modifiers} - _PLAIN == {"sync"} and x.operands in ((), ("0",))


def is_named_barrier(x: Instruction) -> bool:
    """Whether a barrier has a number, or a number of threads.

    >>> is_named_barrier(Instruction.of("bar.arrive 1, 64", 0, 1, None))
    True
    """
    kind = {*x.modifiers} - _PLAIN
    count = len(x.operands)
    return kind in ({"sync"}, {"arrive"}) and ("arrive" in kind) < count <= 2


def is_voting_barrier(x: Instruction) -> bool:
    """Whether a barrier counts for how many threads a predicate holds.

    >>> is_voting_barrier(Instruction.of("bar.red.popc.u32 %r1, 0, %p1", 0, 1, None))
    True
    """
    kind = {*x.modifiers} - _PLAIN
    votes = ({"red", "popc", "u32"}, {"red", "and", "pred"}, {"red", "or", "pred"})
    return kind in votes and 3 <= len(x.operands) <= 4


def is_fine(x: Instruction) -> bool:
    """Whether an instruction may order threads otherwise than the block's barrier."""
    if x.opcode in ("bar", "barrier"):
        return not is_whole_barrier(x)
    bulk = x.opcode == "cp" and "bulk" in x.modifiers
    return bulk or x.opcode in _FINE or bool(_ORDERS & {*x.modifiers})


def order_of(x: Instruction) -> str:
    """How strong a load, store or atomic is: relaxed at least if atomic in itself.

    >>> order_of(Instruction.of("ld.volatile.global.u32 %r1, [%d1]", 0, 1, None))
    'relaxed'
    """
    for modifier in x.modifiers:
        if modifier in _ORDERS:
            return modifier
    atomic = x.opcode in ("atom", "red") or _STRONG & {*x.modifiers}
    return "relaxed" if atomic else ""


def is_atomic(x: Instruction) -> bool:
    """Whether an instruction is known not to race with atomics."""
    return x.opcode in ("atom", "red", "ld", "st") and bool(order_of(x))


def is_collective(x: Instruction) -> bool:
    """Whether the lanes of a warp meet at an instruction."""
    warp = x.opcode in ("bar", "barrier") and x.modifiers[:1] == ("warp",)
    return warp or x.opcode in _COLLECTIVE or x.name.startswith("mma.sync")
