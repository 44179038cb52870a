"""Instructions by which the lanes of a warp speak to each other."""

from __future__ import annotations

from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.translation.operands import Line, OperandText, Untranslatable
from gpucodegen.ptx.translation.rules.tables import Rule, chosen, mods

SHUFFLES = ("up", "down", "bfly", "idx")
VOTES = ("all", "any", "uni", "ballot")
REDUCTIONS = ("add", "min", "max", "and", "or", "xor")


def shfl(x: Instruction, o: OperandText) -> list[Line]:
    """A register of another lane, and whether there is one."""
    given = mods(x, ("sync", *SHUFFLES))
    if "sync" not in given:
        raise Untranslatable("a shuffle without .sync")
    value, *others = (o.read(a, "b32") for a in x.operands[1:5])
    mode = chosen(given, SHUFFLES)
    arguments = ", ".join([value, *others])
    return _two_results(x, o, f"S.warps.shuffle({x.index}, {mode!r}, {arguments}, q)")


def vote(x: Instruction, o: OperandText) -> list[Line]:
    """A question to all lanes of a warp that take part."""
    given = [m for m in x.modifiers if m in VOTES]
    if "sync" not in x.modifiers or not given:
        raise Untranslatable("a vote without .sync")
    kind = "b32" if given[0] == "ballot" else "pred"
    value, member = o.predicate(x.operands[1]), o.read(x.operands[2], "b32")
    call = f"S.warps.vote({x.index}, {given[0]!r}, {value}, {member}, q)"
    return [o.write(x.operands[0], call, kind)]


def activemask(x: Instruction, o: OperandText) -> list[Line]:
    """The lanes of the warp that run."""
    return [o.write(x.operands[0], "S.warps.ballot(np.True_, q)", "b32")]


def redux(x: Instruction, o: OperandText) -> list[Line]:
    """A reduction over the lanes of a warp."""
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
    """A word and a predicate behind a bar; each may be missing."""
    target, _, flag = x.operands[0].partition("|")
    lines: list[Line] = [f"t_ = {call}", o.write(target.strip(), "t_[0]", "b32")]
    return [*lines, o.write(flag.strip(), "t_[1]", "pred")] if flag else lines


def match(x: Instruction, o: OperandText) -> list[Line]:
    """Which lanes of a warp have the same value."""
    given = mods(x, ("sync", "any", "all"))
    mode, kind = chosen(given, ("any", "all")), given[-1]
    value, member = o.read(x.operands[1], kind), o.read(x.operands[2], "b32")
    call = f"S.warps.match({x.index}, {mode!r}, {value}, {member}, q)"
    return _two_results(x, o, call)


def elect(x: Instruction, o: OperandText) -> list[Line]:
    """One lane of those that take part."""
    if x.name != "elect.sync":
        raise Untranslatable("no such form")
    member = o.read(x.operands[1], "b32")
    return _two_results(x, o, f"S.warps.elect({x.index}, {member}, q)")


def warp_barrier(x: Instruction, o: OperandText) -> list[Line]:
    """``bar.warp.sync``: the lanes that it names meet, and know of each other."""
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
