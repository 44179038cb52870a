"""What control needs to know: barriers, indirect branches, and calls that stay."""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen.ptx.parsing.calls import slot_register
from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.parsing.text import split
from gpucodegen.ptx.translation.operands import Line, OperandText, Untranslatable
from gpucodegen.ptx.translation.orders import is_named_barrier, is_voting_barrier
from gpucodegen.ptx.translation.rules.tables import SPACES, Rule, mods

LEAVING = frozenset(("bra", "brx", "ret", "exit", "trap", "brkpt"))
"""What ends a basic block and is no barrier."""


def _passed(o: OperandText, slot: str, size: int) -> str:
    """A parameter of a call that stays, from the register that stands for it."""
    return o.read(slot_register(slot, 0, size), f"b{8 * size}")


def _vprintf(x: Instruction, o: OperandText, slots: list[str]) -> str:
    form, values = (_passed(o, slot, 8) for slot in slots)
    return f"S.printing.vprintf({x.index}, {form}, {values}, q)"


def _assertfail(x: Instruction, o: OperandText, slots: list[str]) -> str:
    sizes = (8, 8, 4, 8, 8)
    parts = ", ".join(_passed(o, s, n) for s, n in zip(slots, sizes, strict=True))
    return f"S.printing.assertfail({x.index}, ({parts}), q)"


SYSTEM_CALLS: dict[str, Callable[[Instruction, OperandText, list[str]], str]] = {
    "vprintf": _vprintf,
    "__assertfail": _assertfail,
}
"""Functions that every driver has."""


def call(x: Instruction, o: OperandText) -> list[Line]:
    """A call of a function that the driver has; others have been put in place."""
    lists = [operand for operand in x.operands if operand.startswith("(")]
    returns = x.operands[0].startswith("(")
    name = x.operands[1 if returns else 0]
    if name not in SYSTEM_CALLS:
        raise Untranslatable(f"a call of {name}: external, indirect or recursive")
    text = SYSTEM_CALLS[name](x, o, list(split(lists[-1][1:-1])))
    if not returns:
        return [text]
    slot = slot_register(lists[0][1:-1].strip(), 0, 4)
    o.entry.registers.single.setdefault(slot, "b32")
    return [o.write(slot, text, "b32")]


def barrier_name(x: Instruction, o: OperandText) -> str:
    """Tells which barrier lanes come to, how many it waits for, and what they vote."""
    if "cluster" in x.modifiers:
        kind = {*x.modifiers} - {"cluster", "aligned", "release", "acquire", "relaxed"}
        if kind not in ({"arrive"}, {"wait"}) or x.operands:
            raise Untranslatable("no such barrier")
        return "pass"
    named = list(x.operands)
    votes = is_voting_barrier(x)
    if not (votes or is_named_barrier(x)):
        raise Untranslatable("no such barrier")
    if not votes:
        numbers = [o.read(operand, "u32") for operand in named]
    else:
        o.write(named.pop(0), "", x.modifiers[-1])  # it must be a register
        vote = o.predicate(named.pop())
        numbers = [o.read(operand, "u32") for operand in named]
        numbers = [*[*numbers, "None"][:2], vote]
    return f"S.barriers.name({', '.join(numbers)})"


def branch_index(x: Instruction, o: OperandText) -> str:
    """Tells which of its labels an indirect branch takes."""
    number, name = x.operands
    labels = o.entry.targets.get(name, ())
    if not labels or not set(labels) <= o.entry.labels.keys():
        raise Untranslatable("unknown targets")
    return f"S.end_value = {o.read(number, 'u32')}"


def mapa(x: Instruction, o: OperandText) -> list[Line]:
    """The address of the same place in the shared memory of another block."""
    kind = mods(x, SPACES)[-1]
    word = f"s{kind[1:]}"
    sources = f"{o.read(x.operands[1], word)}, {o.read(x.operands[2], 'u32')}"
    call = f"S.accesses.clusters.mapped({x.index}, {sources}, q)"
    return [o.write(x.operands[0], call, word)]


def getctarank(x: Instruction, o: OperandText) -> list[Line]:
    """The rank of the block in whose shared memory an address lies."""
    address = o.read(x.operands[1], f"s{mods(x, SPACES)[-1][1:]}")
    return [o.write(x.operands[0], f"S.accesses.clusters.ranks({address})", "s32")]


CONTROL_RULES: dict[str, Rule] = {
    "call": call,
    "mapa": mapa,
    "getctarank": getctarank,
}
