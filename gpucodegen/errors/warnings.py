"""Warning catalogue, part W, and `tell`, which warns at the caller's line."""

from __future__ import annotations

import warnings
from types import FrameType

from gpucodegen.errors.base import CodegenWarning

_PACKAGE = __name__.partition(".")[0]
_BETWEEN = {"contextlib", "functools"}
"""Standard-library modules whose frames may be between two of ours."""


def tell(warning: Warning | str) -> None:
    """Warn; the place is the innermost line outside the package.

    The :mod:`warnings` module counts frames, and no count is right for a warning that
    a pass, the parser and the cache may all cause, at any depth.
    """
    frame = caller()
    names = frame.f_globals
    kind = type(warning) if isinstance(warning, Warning) else UserWarning
    warnings.warn_explicit(
        warning,
        kind,
        frame.f_code.co_filename,
        frame.f_lineno,
        names.get("__name__", "<unknown>"),
        names.setdefault("__warningregistry__", {}),
    )


def caller() -> FrameType:
    """The frame of the innermost line outside the package."""
    from inspect import currentframe

    frame = currentframe()
    assert frame is not None, "CPython has frames"
    while _is_ours(frame) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__") or ""
    return name.partition(".")[0] == _PACKAGE or name in _BETWEEN


class PossiblyOutOfBounds(CodegenWarning, code="W001"):
    """An access that may leave its buffer."""

    template = "access of {buffer} may be out of bounds: {witness}"
    remedy = "Tighten the loop bounds, or pass arrays that are large enough"


class ProvenOutOfBounds(CodegenWarning, code="W002"):
    """An access that leaves its buffer; an error when compiled."""

    template = "access of {buffer} is out of bounds: {witness}"
    remedy = "Correct the index or the loop bounds"


class UnregisteredOperationKept(CodegenWarning, code="W003"):
    """An unknown operation whose text is kept as it is."""

    template = "operation '{name}' is not known; its text is kept as it is"
    remedy = "It cannot run"


class OldSpelling(CodegenWarning, code="W004"):
    """A spelling that is read but no longer written."""

    template = "'{written}' is read as '{meant}'"
    remedy = "Write {meant}"


class CacheUnusable(CodegenWarning, code="W007"):
    """The disk cache cannot be used."""

    template = "the cache at {path} cannot be used: {reason}"
    remedy = "Set GPUCODEGEN_CACHE_DIR to a folder that you alone may write to"


class ShippedUnusable(CodegenWarning, code="W020"):
    """Tuned schedules of an installed package that cannot be read."""

    template = "the tuned schedules of {name} cannot be used: {reason}"
    remedy = "Tell its authors; 'gpucodegen tune export' writes the form that is read"


class MissingVisibility(CodegenWarning, code="W008"):
    """An external function that is not private."""

    template = "external function {name} is not private"
    remedy = "Write func.func private before its name"


class RangeCrossesFunction(CodegenWarning, code="W010"):
    """A function of 2019 that takes or gives a ``!linalg.range``: read, not run."""

    template = "the !linalg.range of function {name} crosses a function boundary"
    remedy = "Pass its three indices, and make the range where it is used"


class DependenceReported(CodegenWarning, code="W009"):
    """One row of the pass memref-dependence-check."""

    severity = "remark"
    template = "dependence from {source} to {sink} at depth {depth} = {result}"
    remedy = "Keep the first access before the second"


class UndefinedRead(CodegenWarning, code="W011"):
    """A read of a local buffer that finds no value in any of its iterations."""

    template = "{buffer} is read but holds no value yet: {witness}"
    remedy = "Write it first, or pass it in as an argument"


class PossiblyUndefinedRead(CodegenWarning, code="W012"):
    """A read of a local buffer that finds no value in some of its iterations."""

    template = "{buffer} may be read where it holds no value yet: {witness}"
    remedy = "Write all of it first, or correct the index or the loop bounds"


class OrderKept(CodegenWarning, code="W016"):
    """A nest whose order was to change, but isl gave no answer in time."""

    template = "the loops ({loops}) keep their order: {reason}"
    remedy = "Simplify their bounds and subscripts, or split the nest"


class TimeTilesUnproven(CodegenWarning, code="W017"):
    """Tiles or steps of loops that could not be proven free of races in time."""

    template = "the loops of '{function}' run without tiles or barriers: {reason}"
    remedy = "Pass time_tiles=False to start without them"


class KernelUnproven(CodegenWarning, code="W021"):
    """A kernel whose order of threads this proof does not model."""

    template = "the kernel is not proven free of races: {reason}"
    remedy = "Run it with target='sim', which checks every execution for races"


class PossiblySlow(CodegenWarning, code="W019"):
    """A long sum of floats on a GPU, whose order has to stay."""

    template = (
        "{terms} terms are added one after the other, in the order of the program"
    )
    remedy = "Pass reassociate=True, or write fastmath<reassoc>, if any order will do"


class ArgumentCopied(CodegenWarning, code="W022"):
    """An array that every call copies, because of its strides."""

    template = (
        "{function}: every call copies argument {argument} of strides {strides}:"
        " {reason}"
    )
    remedy = "Pass an array that is contiguous, as numpy.ascontiguousarray makes"


class ElementTransfers(CodegenWarning, code="W023"):
    """A loop of the host that accesses the memory of a GPU element by element."""

    template = (
        "the loop stays on the host and {action}: each is a transfer between host and"
        " device; {reason}"
    )
    remedy = "Take these operations out of the loop, so that it becomes a kernel"


class OperationIgnored(CodegenWarning, code="W024"):
    """An operation of an unknown dialect that cannot change a result."""

    template = "'{name}' is of an unknown dialect and is ignored: it has no results"
    remedy = "Pass handlers={{'{name}': function}} to run it, or remove it"


class UnknownCacheSize(CodegenWarning, code="W140"):
    """A cache size that is not a number of bytes."""

    template = "GPUCODEGEN_CACHE_SIZE={value} is not a size, so the limit is 1 GiB"
    remedy = "Write a number of bytes, or one with K, M, G or T, such as 500M"


class TensorCopied(CodegenWarning, code="W018"):
    """One row of the pass bufferize with ``report``."""

    severity = "remark"
    template = "'{operation}' works on a copy of {tensor}: {reason}"
    remedy = "Use the new value in its place, or pass a tensor made here"
