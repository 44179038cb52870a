"""Verifier of modules: structure, control flow, dominance, symbols, affine values."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.verifier.affine_values import check_affine_values
from gpucodegen.dialects.verifier.control_flow import (
    check_control_flow,
    check_dominance,
)
from gpucodegen.dialects.verifier.structure import check_structure, check_symbols
from gpucodegen.ir.operation import Operation, deep_recursion

CHECKS = (
    check_dominance,
    check_symbols,
    check_affine_values,
)


def verify(
    module: Module | Operation, verified: AbstractSet[Operation] = frozenset()
) -> None:
    """Raise the first :class:`gpucodegen.errors.VerifyError` found in a module.

    Unregistered operations are taken on trust.  ``verified``: operations of a module
    that this was called for, which are looked at only for their surroundings.
    """
    op = module.operation if isinstance(module, Module) else module
    with deep_recursion():
        check_structure(op, verified)
        check_control_flow(op, verified)
        for check in CHECKS:
            check(op)
