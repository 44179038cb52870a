"""Operands, modifiers, access sites and special registers, for all instruction rules.

`OperandText` takes one kernel and the variables of its module, and renders operands as
Python expressions and results as assignments.  The names in them are those of generated
functions: ``R`` (registers), ``S`` (the running batch), ``q`` (the mask of the
instruction) and constants made here. `mods` rejects unknown modifiers; `Site` describes
a memory access; the ``is_...`` predicates classify instructions that synchronise
threads; `Special` gives the values of special registers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import field
from typing import Any, NamedTuple, Protocol

import numpy as np

from gpucodegen.ptx.entries import Entry, Instruction, integer, real, word
from gpucodegen.ptx.memory import BASE
from gpucodegen.ptx.types import DTYPES, Array, Value, dtype
from gpucodegen.records import dataclass

Extents = tuple[int, int, int]


class Asked(Protocol):
    """The inputs of special registers: lane numbers and launch sizes."""

    thread: Array
    """Number of each lane in its block."""
    block: Array
    """Number of each lane's block in the grid."""
    extents: Extents
    """Threads of a block along x, y, z."""
    grid: Extents
    shared_bytes: int
    dynamic_bytes: int
    cluster: Extents
    """Blocks of a cluster."""
    ticks: int
    """The value of clocks."""


@dataclass(frozen=True, slots=True)
class Special:
    """The type of a special register and its value for the lanes of a batch."""

    dtype: str
    value: Callable[[Asked], Value]


def place(number: Value, extents: Extents, axis: int) -> Value:
    """A coordinate of the thread or block with this number; x varies fastest."""
    for extent in extents[:axis]:
        number = number // extent
    return number % extents[axis]


def _uniform(value: Value) -> Value:
    """One scalar, if all lanes have the same value."""
    found = value.astype("i4")
    return found[0] if (found == found[0]).all() else found


def _block(s: Asked, axis: int) -> Value:
    return place(s.block, s.grid, axis)


def _rank(s: Asked) -> Value:
    """The number of each lane's block in its cluster."""
    (i, j, k), x = s.cluster, [_block(s, axis) for axis in range(3)]
    return x[0] % i + i * (x[1] % j + j * (x[2] % k))


COORDINATES: dict[str, Callable[[Asked, int], Value]] = {
    "tid": lambda s, axis: _uniform(place(s.thread, s.extents, axis)),
    "ntid": lambda s, axis: np.int32(s.extents[axis]),
    "ctaid": lambda s, axis: _uniform(_block(s, axis)),
    "nctaid": lambda s, axis: np.int32(s.grid[axis]),
    "clusterid": lambda s, axis: _uniform(_block(s, axis) // s.cluster[axis]),
    "nclusterid": lambda s, axis: np.int32(s.grid[axis] // s.cluster[axis]),
    "cluster_ctaid": lambda s, axis: _uniform(_block(s, axis) % s.cluster[axis]),
    "cluster_nctaid": lambda s, axis: np.int32(s.cluster[axis]),
}
"""Registers with a value for each of x, y, z."""


def _lanes(form: Callable[[Array], Value]) -> Special:
    """The mask of lanes relative to one's own (``%lanemask_lt`` and the like)."""
    return Special(
        "i4",
        lambda s: (
            form(np.uint64(1) << (s.thread % 32).astype("u8")).astype("u4").view("i4")
        ),
    )


_ONE = np.uint64(1)


def _along(form: Callable[[Asked, int], Value], axis: int) -> Callable[[Asked], Value]:
    return lambda s: form(s, axis)


_FIXED: dict[str, Special] = {
    "%laneid": Special("i4", lambda s: (s.thread % 32).astype("i4")),
    "%warpid": Special("i4", lambda s: (s.thread // 32).astype("i4")),
    "%nwarpid": Special("i4", lambda s: np.int32(s.thread.max() // 32 + 1)),
    "%dynamic_smem_size": Special("i4", lambda s: np.int32(s.dynamic_bytes)),
    "%total_smem_size": Special("i4", lambda s: np.int32(s.shared_bytes)),
    "%clock": Special("i4", lambda s: np.int32(s.ticks & 0x7FFFFFFF)),
    "%clock_hi": Special("i4", lambda s: np.int32(s.ticks >> 32)),
    "%clock64": Special("i8", lambda s: np.int64(s.ticks)),
    "%globaltimer": Special("i8", lambda s: np.int64(s.ticks)),
    "%globaltimer_lo": Special("i4", lambda s: np.int32(s.ticks & 0x7FFFFFFF)),
    "%globaltimer_hi": Special("i4", lambda s: np.int32(s.ticks >> 32)),
    "%smid": Special("i4", lambda s: _uniform(s.block % PROCESSORS)),
    "%nsmid": Special("i4", lambda _: np.int32(PROCESSORS)),
    "%gridid": Special("i8", lambda _: np.int64(0)),
    "%aggr_smem_size": Special("i4", lambda s: np.int32(s.shared_bytes)),
    "%reserved_smem_offset_begin": Special("i4", lambda _: np.int32(0)),
    "%reserved_smem_offset_end": Special("i4", lambda _: np.int32(SHARED_START)),
    "%cluster_ctarank": Special("i4", lambda s: _uniform(_rank(s))),
    "%cluster_nctarank": Special(
        "i4", lambda s: np.int32(s.cluster[0] * s.cluster[1] * s.cluster[2])
    ),
    "%is_explicit_cluster": Special("?", lambda s: np.bool_(s.cluster != (1, 1, 1))),
    "WARP_SZ": Special("i4", lambda _: np.int32(32)),
    "%lanemask_eq": _lanes(lambda one: one),
    "%lanemask_lt": _lanes(lambda one: one - _ONE),
    "%lanemask_le": _lanes(lambda one: one + one - _ONE),
    "%lanemask_gt": _lanes(lambda one: ~(one + one - _ONE)),
    "%lanemask_ge": _lanes(lambda one: ~(one - _ONE)),
}
SPECIAL = _FIXED | {
    f"%{name}.{letter}": Special("i4", _along(form, axis))
    for name, form in COORDINATES.items()
    for axis, letter in enumerate("xyz")
}
CLOCKS = frozenset(name for name in SPECIAL if "clock" in name or "timer" in name)
"""Registers that change while a kernel runs."""
PROCESSORS = 132
"""Multiprocessors of the device: those of an H100."""


SHARED_START = 1024
"""The first address of shared memory that a block may use, as on sm_90."""
SHARED_WINDOW, LOCAL_WINDOW, PARAMETER_WINDOW = 1 << 40, 2 << 40, 3 << 40
"""Generic addresses of shared and local memory and of parameters."""
RANK = 24
"""The bit from which on a shared address holds a block's rank in its cluster, plus one;
zero stands for the block itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """An instruction that reads or writes ``count`` elements per lane.

    ``index`` is that of the instruction, ``offset`` is added to the address, in bytes;
    ``dtype`` is NumPy's name of an element.
    """

    index: int
    space: str
    offset: int
    dtype: str
    count: int
    width: int
    """Bytes that one lane moves: at most 16."""
    shift: int
    """The width as a power of two."""
    order: str = ""
    """``relaxed`` or more if it is atomic in itself, as ``.volatile`` ones are too."""

    @property
    def size(self) -> int:
        return self.width // self.count

    @staticmethod
    def of(
        index: int,
        space: str,
        offset: int,
        dtype: str,
        count: int = 1,
        size: int = 0,
        order: str = "",
    ) -> Site:
        """A site; ``size`` is that of an element, if NumPy's type does not tell."""
        width = count * (size or np.dtype(dtype).itemsize)
        return Site(
            index, space, offset, dtype, count, width, width.bit_length() - 1, order
        )


_FINE = frozenset(("mbarrier", "wgmma", "fence", "membar"))
_ORDERS = frozenset(("acquire", "release", "acq_rel"))
_STRONG = _ORDERS | {"relaxed", "volatile", "mmio"}
_COLLECTIVE = frozenset(
    ("shfl", "vote", "redux", "match", "ldmatrix", "stmatrix", "elect", "movmatrix")
)
_PLAIN = frozenset(("cta", "aligned"))


def is_block_barrier(x: Instruction) -> bool:
    """Whether threads of several warps synchronise at an instruction."""
    return x.opcode in ("bar", "barrier") and x.modifiers[:1] != ("warp",)


def is_whole_barrier(x: Instruction) -> bool:
    """Whether a barrier is the one of all threads of a block."""
    return {*x.modifiers} - _PLAIN == {"sync"} and x.operands in ((), ("0",))


def is_named_barrier(x: Instruction) -> bool:
    """Whether a barrier has a number, or a thread count.

    >>> is_named_barrier(Instruction.of("bar.arrive 1, 64", 0, 1, None))
    True
    """
    kind = {*x.modifiers} - _PLAIN
    count = len(x.operands)
    return kind in ({"sync"}, {"arrive"}) and ("arrive" in kind) < count <= 2


def is_voting_barrier(x: Instruction) -> bool:
    """Whether a barrier also reduces a predicate (``barrier.red``).

    >>> is_voting_barrier(Instruction.of("bar.red.popc.u32 %r1, 0, %p1", 0, 1, None))
    True
    """
    kind = {*x.modifiers} - _PLAIN
    votes = ({"red", "popc", "u32"}, {"red", "and", "pred"}, {"red", "or", "pred"})
    return kind in votes and 3 <= len(x.operands) <= 4


def is_fine(x: Instruction) -> bool:
    """Whether an instruction may order threads apart from the block's barrier."""
    if x.opcode in ("bar", "barrier"):
        return not is_whole_barrier(x)
    bulk = x.opcode == "cp" and "bulk" in x.modifiers
    return bulk or x.opcode in _FINE or bool(_ORDERS & {*x.modifiers})


def order_of(x: Instruction) -> str:
    """The memory order of a load, store or atomic; at least relaxed for atomics.

    >>> order_of(Instruction.of("ld.volatile.global.u32 %r1, [%d1]", 0, 1, None))
    'relaxed'
    """
    for modifier in x.modifiers:
        if modifier in _ORDERS:
            return modifier
    atomic = x.opcode in ("atom", "red") or _STRONG & {*x.modifiers}
    return "relaxed" if atomic else ""


def is_atomic(x: Instruction) -> bool:
    """Whether an instruction cannot race with atomics."""
    return x.opcode in ("atom", "red", "ld", "st") and bool(order_of(x))


def is_collective(x: Instruction) -> bool:
    """Whether the lanes of a warp synchronise at an instruction."""
    warp = x.opcode in ("bar", "barrier") and x.modifiers[:1] == ("warp",)
    return warp or x.opcode in _COLLECTIVE or x.name.startswith("mma.sync")


class Untranslatable(Exception):
    """An instruction cannot be translated; the message has the reason."""


class Write(NamedTuple):
    """An assignment to a register, under the mask if there is one."""

    register: int
    value: str


Line = str | Write
"""A line of a generated function."""

_ADDRESS = re.compile(r"\[\s*(%?[\w$]+)\s*(?:\+\s*(-?\w+))?\s*\]")
_SYMBOL = re.compile(r"([\w$]+)(?:\+(\d+))?")


def address_parts(operand: str) -> tuple[str, int]:
    """Register or variable, and offset in bytes, of an operand in brackets."""
    found = _ADDRESS.fullmatch(operand)
    if found is None:
        raise Untranslatable(f"address {operand}")
    return found[1], int(found[2] or "0", 0)


def short(kind: np.dtype[Any]) -> str:
    """NumPy's shortest name of a type.

    >>> short(np.dtype("float32")), short(np.dtype("bool"))
    ('f4', '?')
    """
    return kind.str[1:] if kind.kind != "b" else "?"


def recast(value: str, have: np.dtype[Any], want: np.dtype[Any]) -> str:
    """Reinterprets bits; a narrower type takes the lowest ones."""
    if have == want:
        return value
    if have.itemsize == want.itemsize and "b" not in have.kind + want.kind:
        return f"{value}.view({short(want)!r})"
    if want.kind == "f":
        return f"{value}.astype('i{want.itemsize}').view({short(want)!r})"
    if have.kind == "f":
        return f"{value}.view('i{have.itemsize}').astype({short(want)!r})"
    return f"{value}.astype({short(want)!r})"


@dataclass(slots=True)
class OperandText:
    """Renders operands of one kernel's instructions."""

    entry: Entry
    variables: Collection[str]
    constants: dict[str, Any] = field(default_factory=dict[str, Any])
    known: dict[tuple[str, Any], str] = field(
        default_factory=dict[tuple[str, Any], str]
    )

    def constant(self, value: Any) -> str:
        """The name of any constant."""
        name = f"K{len(self.constants)}"
        self.constants[name] = value
        return name

    def number(self, value: float, kind: np.dtype[Any]) -> str:
        """The name of a NumPy scalar; integers are reduced modulo their width."""
        key = short(kind), repr(value)
        if key not in self.known:
            whole = kind.kind in "iu"
            made = word(int(value), kind) if whole else kind.type(value)
            self.known[key] = self.constant(made)
        return self.known[key]

    def read(self, operand: str, kind: str) -> str:
        """An operand as an expression of a PTX type."""
        want = dtype(kind)
        register = self.entry.registers.number(operand)
        if register is not None:
            have = np.dtype(self.entry.registers.storage[register])
            return recast(f"R[{register}]", have, want)
        if operand[0] in "-!" and not operand[1:2].isdigit():
            sign = "~" if operand[0] == "!" else "-"
            return f"({sign}{self.read(operand[1:], kind)})"
        if operand in SPECIAL:
            value = f"S.special({operand!r})"
            return recast(value, np.dtype(SPECIAL[operand].dtype), want)
        return self._literal(operand, want) or self._symbol(operand, want)

    def _literal(self, text: str, want: np.dtype[Any]) -> str:
        number, value = integer(text), real(text)
        if number is not None:
            if want.kind == "f":  # the bits of it
                return self.number(word(number, want), want)
            return self.number(number, want)
        if value is None:
            return ""
        if want.kind == "f":
            return self.number(value[0], want)
        have = np.dtype(f"f{value[1]}")
        return recast(self.number(value[0], have), have, want)

    def _symbol(self, text: str, want: np.dtype[Any]) -> str:
        found = _SYMBOL.fullmatch(text)
        if found is None:
            raise Untranslatable(f"operand {text}")
        name, offset = found[1], int(found[2] or 0)
        if name in self.entry.shared.variables:
            start = SHARED_START + self.entry.shared.variables[name].offset
            return self.number(start + offset, want)
        if name in self.entry.local.variables:
            return self.number(self.entry.local.variables[name].offset + offset, want)
        for parameter in self.entry.parameters:
            if parameter.name == name:
                return self.number(parameter.offset + offset, want)
        if name in self.variables:
            return f"(S.symbols[{name!r}] + {self.number(offset, np.dtype('i8'))})"
        raise Untranslatable(f"unknown name {name}")

    def predicate(self, operand: str) -> str:
        """A predicate, possibly negated or a number."""
        if operand.isdigit():
            return "np.True_" if int(operand) else "np.False_"
        return self.read(operand, "pred")

    def address(self, operand: str) -> tuple[str, int]:
        """Expression and offset of an operand in brackets."""
        name, offset = address_parts(operand)
        register = self.entry.registers.number(name)
        if register is None:
            return self.read(name, "s64"), offset
        if self.entry.registers.storage[register] == "i8":
            return f"R[{register}]", offset
        return f"R[{register}].view('u4').astype('i8')", offset

    def write(self, register: str, value: str, kind: str) -> Line:
        """Assigns a result of a PTX type to a register; ``_`` discards it."""
        if register == "_":
            return value
        number = self.entry.registers.number(register)
        if number is None:
            raise Untranslatable(f"destination {register}")
        want = np.dtype(self.entry.registers.storage[number])
        return Write(number, recast(f"({value})", dtype(kind), want))


WINDOWS = {
    "shared": SHARED_WINDOW,
    "local": LOCAL_WINDOW,
    "param": PARAMETER_WINDOW,
}
"""Offsets that turn an address of a space into a generic one."""
RANGES = {
    "shared": (SHARED_WINDOW, LOCAL_WINDOW),
    "local": (LOCAL_WINDOW, PARAMETER_WINDOW),
    "param": (PARAMETER_WINDOW, PARAMETER_WINDOW + SHARED_WINDOW),
    "global": (BASE, 1 << 62),
    "const": (BASE, 1 << 62),
}
"""The generic addresses of each space."""


Rule = Callable[[Instruction, OperandText], list[Line]]
"""The lines that execute an instruction; raises `Untranslatable`."""

IGNORED = frozenset(
    "aligned uni relaxed acquire release acq_rel weak volatile mmio nc gpu cta sys "
    "cluster".split()
)
"""Modifiers that change nothing here: lanes run in order, memory has one copy."""
COMBINATIONS = {"and": "&", "or": "|", "xor": "^"}
"""How a result is combined with a predicate."""
SPACES = tuple(
    "param param:entry param:func global shared shared:cta shared:cluster local "
    "const".split()
)
ROUNDINGS = ("rn", "rz", "rm", "rp")


def mods(x: Instruction, known: Iterable[str] = ()) -> list[str]:
    """The modifiers that matter; `Untranslatable` if one is neither known nor a type.

    Cache hints, ``L1:...`` and ``L2:...``, are left out.
    """
    left = [
        m for m in x.modifiers if m not in IGNORED and not m.startswith(("L1:", "L2:"))
    ]
    allowed = {*known, *DTYPES}
    strange = [m for m in left if m not in allowed]
    if strange:
        raise Untranslatable(f"modifier {strange[0]}")
    return left


def chosen(given: Iterable[str], among: Iterable[str], default: str = "") -> str:
    """The first modifier that is among ``among``."""
    some = set(among)
    return next((m for m in given if m in some), default)
