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
    target, _, flag = x.operands[0].partition("|")
    mode = chosen(given, SHUFFLES)
    arguments = ", ".join([value, *others])
    lines: list[Line] = [
        f"t_ = S.warps.shuffle({x.index}, {mode!r}, {arguments}, q)",
        o.write(target.strip(), "t_[0]", "b32"),
    ]
    if flag:
        lines.append(o.write(flag.strip(), "t_[1]", "pred"))
    return lines


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
    given = mods(x, ("sync", *REDUCTIONS))
    kind = given[-1]
    value, member = o.read(x.operands[1], kind), o.read(x.operands[2], "b32")
    mode = chosen(given, REDUCTIONS)
    call = f"S.warps.reduce({x.index}, {mode!r}, {value}, {member}, q)"
    return [o.write(x.operands[0], call, kind)]


def warp_barrier(x: Instruction, o: OperandText) -> list[Line]:
    """``bar.warp.sync``: lanes of a warp run in step here, so nothing is left to do."""
    del o
    if x.modifiers[:2] != ("warp", "sync"):
        raise Untranslatable("a barrier in the middle of a block")
    return []


WARP_RULES: dict[str, Rule] = {
    "shfl": shfl,
    "vote": vote,
    "activemask": activemask,
    "redux": redux,
    "bar": warp_barrier,
    "barrier": warp_barrier,
}
