"""Translation of warp-level, barrier, branch, call and cluster instructions."""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen.ptx.entries import Instruction, split
from gpucodegen.ptx.parser import slot_register
from gpucodegen.ptx.translation.operands import (
    SPACES,
    Line,
    OperandText,
    Rule,
    Untranslatable,
    chosen,
    is_named_barrier,
    is_voting_barrier,
    mods,
)

SHUFFLES = ("up", "down", "bfly", "idx")
VOTES = ("all", "any", "uni", "ballot")
REDUCTIONS = ("add", "min", "max", "and", "or", "xor")


def shfl(x: Instruction, o: OperandText) -> list[Line]:
    """``shfl``: a register of another lane, and whether there is one."""
    given = mods(x, ("sync", *SHUFFLES))
    if "sync" not in given:
        raise Untranslatable("a shuffle without .sync")
    value, *others = (o.read(a, "b32") for a in x.operands[1:5])
    mode = chosen(given, SHUFFLES)
    arguments = ", ".join([value, *others])
    return _two_results(x, o, f"S.warps.shuffle({x.index}, {mode!r}, {arguments}, q)")


def vote(x: Instruction, o: OperandText) -> list[Line]:
    """``vote``: a reduction of a predicate over the member lanes."""
    given = [m for m in x.modifiers if m in VOTES]
    if "sync" not in x.modifiers or not given:
        raise Untranslatable("a vote without .sync")
    kind = "b32" if given[0] == "ballot" else "pred"
    value, member = o.predicate(x.operands[1]), o.read(x.operands[2], "b32")
    call = f"S.warps.vote({x.index}, {given[0]!r}, {value}, {member}, q)"
    return [o.write(x.operands[0], call, kind)]


def activemask(x: Instruction, o: OperandText) -> list[Line]:
    """``activemask``: the running lanes of the warp."""
    return [o.write(x.operands[0], "S.warps.ballot(np.True_, q)", "b32")]


def redux(x: Instruction, o: OperandText) -> list[Line]:
    """``redux``: a reduction over the lanes of a warp."""
    given = mods(x, ("sync", *REDUCTIONS, "abs", "NaN"))
    kind, mode = given[-1], chosen(given, REDUCTIONS)
    value, member = o.read(x.operands[1], kind), o.read(x.operands[2], "b32")
    if kind == "f32":
        if mode not in ("min", "max"):
            raise Untranslatable("no such form")
        mode = f"{mode}.NaN" if "NaN" in given else f"{mode}.f"
        value = f"np.abs({value})" if "abs" in given else value
    call = f"S.warps.reduce({x.index}, {mode!r}, {value}, {member}, q)"
    return [o.write(x.operands[0], call, kind)]


def _two_results(x: Instruction, o: OperandText, call: str) -> list[Line]:
    """A word and a predicate, separated by a bar; each may be missing."""
    target, _, flag = x.operands[0].partition("|")
    lines: list[Line] = [f"t_ = {call}", o.write(target.strip(), "t_[0]", "b32")]
    return [*lines, o.write(flag.strip(), "t_[1]", "pred")] if flag else lines


def match(x: Instruction, o: OperandText) -> list[Line]:
    """``match``: the lanes of a warp with the same value."""
    given = mods(x, ("sync", "any", "all"))
    mode, kind = chosen(given, ("any", "all")), given[-1]
    value, member = o.read(x.operands[1], kind), o.read(x.operands[2], "b32")
    call = f"S.warps.match({x.index}, {mode!r}, {value}, {member}, q)"
    return _two_results(x, o, call)


def elect(x: Instruction, o: OperandText) -> list[Line]:
    """``elect``: one of the member lanes."""
    if x.name != "elect.sync":
        raise Untranslatable("no such form")
    member = o.read(x.operands[1], "b32")
    return _two_results(x, o, f"S.warps.elect({x.index}, {member}, q)")


def warp_barrier(x: Instruction, o: OperandText) -> list[Line]:
    """``bar.warp.sync``: the named lanes synchronise, and see each other's accesses."""
    if x.modifiers[:2] != ("warp", "sync"):
        raise Untranslatable("a barrier in the middle of a block")
    return [f"S.warps.sync({x.index}, {o.read(x.operands[0], 'b32')}, q)"]


WARP_RULES: dict[str, Rule] = {
    "shfl": shfl,
    "vote": vote,
    "activemask": activemask,
    "redux": redux,
    "match": match,
    "elect": elect,
    "bar": warp_barrier,
    "barrier": warp_barrier,
}


LEAVING = frozenset(("bra", "brx", "ret", "exit", "trap", "brkpt"))
"""Opcodes, other than barriers, that end a basic block."""


def _passed(o: OperandText, slot: str, size: int) -> str:
    """A parameter of a remaining call, from the register that holds it."""
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
    """A call of a function of the driver; other calls have been inlined."""
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
    """Sets the barrier that lanes arrive at, its thread count and its reduction."""
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
    """Sets the label index of an indirect branch."""
    number, name = x.operands
    labels = o.entry.targets.get(name, ())
    if not labels or not set(labels) <= o.entry.labels.keys():
        raise Untranslatable("unknown targets")
    return f"S.end_value = {o.read(number, 'u32')}"


def mapa(x: Instruction, o: OperandText) -> list[Line]:
    """``mapa``: the same address in the shared memory of another block."""
    kind = mods(x, SPACES)[-1]
    word = f"s{kind[1:]}"
    sources = f"{o.read(x.operands[1], word)}, {o.read(x.operands[2], 'u32')}"
    call = f"S.accesses.clusters.mapped({x.index}, {sources}, q)"
    return [o.write(x.operands[0], call, word)]


def getctarank(x: Instruction, o: OperandText) -> list[Line]:
    """``getctarank``: the rank of the block whose shared memory an address is in."""
    address = o.read(x.operands[1], f"s{mods(x, SPACES)[-1][1:]}")
    return [o.write(x.operands[0], f"S.accesses.clusters.ranks({address})", "s32")]


CONTROL_RULES: dict[str, Rule] = {
    "call": call,
    "mapa": mapa,
    "getctarank": getctarank,
}
