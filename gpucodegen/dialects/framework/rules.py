"""Short forms for writing rules of operations."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import Shape


def wrong(o: Operation, problem: str, hint: str) -> errors.VerifyError:
    """The error for an operation whose parts do not fit."""
    return errors.WrongStructure(
        o.location, operation=o.name, problem=problem, hint=hint
    )


def require(holds: object, o: Operation, problem: str, hint: str) -> None:
    """Refuse an operation unless a condition holds."""
    if not holds:
        raise wrong(o, problem, hint)


def check_no_arguments(o: Operation) -> None:
    """The regions take no arguments."""
    blocks = [block for region in o.regions for block in region.blocks]
    arguments = any(block.arguments for block in blocks)
    require(not arguments, o, "its body takes arguments", "Remove them")


def agree(a: int | None, b: int | None) -> bool:
    """Whether two extents may be equal; None is unknown."""
    return a is None or b is None or a == b


def compatible_shapes(first: Shape, second: Shape) -> bool:
    """Same rank, and no two static extents differ."""
    return len(first) == len(second) and all(map(agree, first, second))


def shown(extent: int | None) -> str:
    """An extent as types show it."""
    return "?" if extent is None else str(extent)
