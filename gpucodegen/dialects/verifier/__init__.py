"""Verifier of modules: structure, control flow, dominance, symbols, affine values."""

from __future__ import annotations

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.verifier.affine_values import check_affine_values
from gpucodegen.dialects.verifier.control_flow import (
    check_control_flow,
    check_dominance,
)
from gpucodegen.dialects.verifier.structure import check_structure, check_symbols
from gpucodegen.ir.operation import Operation, deep_recursion

CHECKS = (
    check_structure,
    check_control_flow,
    check_dominance,
    check_symbols,
    check_affine_values,
)


def verify(module: Module | Operation) -> None:
    """Raise the first :class:`gpucodegen.errors.VerifyError` found in a module.

    Unregistered operations are taken on trust.
    """
    op = module.operation if isinstance(module, Module) else module
    with deep_recursion():
        for check in CHECKS:
            check(op)
