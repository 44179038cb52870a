"""The rules every module obeys, as small named checks."""

from __future__ import annotations

from gpucodegen.ir.operation import Operation


def verify(op: Operation, *, allow_unregistered: bool = True) -> None:
    """Raise the first :class:`gpucodegen.errors.VerifyError` found in a module."""
