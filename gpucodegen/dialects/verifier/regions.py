"""Regions: as many as declared, with the blocks and arguments they must have."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.ir.operation import Operation, Region

_OPTIONAL = frozenset(["affine.if", "scf.if"])
"""Operations that may leave their second region empty."""

_WITHOUT_ARGUMENTS = frozenset(
    ["affine.if", "builtin.module", "scf.execute_region", "scf.if"]
)
_MANY_BLOCKS = frozenset(["gpu.launch"])
_ONE_BLOCK = frozenset(["scf.forall.in_parallel"])
"""Operations of one block without a terminator, besides graph regions."""


def check_regions(op: Operation, definition: Op) -> None:
    """The regions' number, their blocks, and whether the first has arguments."""
    if definition.regions is not None and len(op.regions) != definition.regions:
        raise _wrong(op, _counted(definition.regions, "region"), len(op.regions))
    is_structured = bool(definition.terminators) or definition.has(Trait.GRAPH)
    has_one = is_structured and op.name not in _MANY_BLOCKS
    for region in op.regions:
        if has_one or op.name in _ONE_BLOCK:
            _check_one_block(op, region)
        if op.name in _WITHOUT_ARGUMENTS and region.blocks:
            _check_no_arguments(op, region)


def _check_one_block(op: Operation, region: Region) -> None:
    is_missing = op.name in _OPTIONAL and region is not op.regions[0]
    if len(region.blocks) != 1 and (region.blocks or not is_missing):
        raise _wrong(op, "a region of one block", _counted(len(region.blocks), "block"))


def _check_no_arguments(op: Operation, region: Region) -> None:
    count = len(region.blocks[0].arguments)
    if count:
        raise _wrong(op, "a region without arguments", _counted(count, "argument"))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _wrong(op: Operation, expected: str, actual: object) -> errors.VerifyError:
    return errors.WrongRegionCount(
        op.location, operation=op.name, expected=expected, actual=actual
    )
