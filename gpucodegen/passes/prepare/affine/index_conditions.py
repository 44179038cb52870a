"""Comparisons of affine indices as conditions ``index >= 0`` that hold together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpucodegen.dialects import arith
from gpucodegen.ir.affine import AffineExpr, Binary, Const, Dim
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.framework.indexing import Index


@dataclass(slots=True)
class Conditions:
    """What is known of truth values; ``natural`` values are never negative."""

    known: dict[Value, tuple[Index, ...]] = field(
        default_factory=dict[Value, "tuple[Index, ...]"]
    )
    natural: set[Value] = field(default_factory=set[Value])

    def learn(self, op: Operation, indices: Mapping[Value, Index]) -> None:
        """Take in an operation whose operands have these affine forms."""
        if op.name == "memref.dim":
            self.natural.add(op.result)
        elif op.name == "arith.cmpi" and op.operands[0].type == INDEX:
            left, right = (indices.get(v) for v in op.operands)
            if left is not None and right is not None:
                found = self._compared(arith.predicate(op), left, right)
                if found is not None:
                    self.known[op.result] = found
        elif op.name == "arith.andi":
            parts = [self.known[v] for v in op.operands if v in self.known]
            if len(parts) == len(op.operands):
                self.known[op.result] = tuple(c for part in parts for c in part)

    def _compared(
        self, predicate: str, left: Index, right: Index
    ) -> tuple[Index, ...] | None:
        """The conditions that a comparison is.

        Unsigned, a < b is 0 <= a < b where b is not negative as a signed number.
        """
        if predicate in _MIRRORED:
            return self._compared(_MIRRORED[predicate], right, left)
        match predicate:
            case "eq":
                return left - right, right - left
            case "slt":
                return (right - left - 1,)
            case "sle":
                return (right - left,)
            case "ult" | "ule" if self.is_natural(right):
                return left, right - left - int(predicate == "ult")
            case _:
                return None

    def is_natural(self, index: Index) -> bool:
        """Whether an index is certainly not negative."""
        natural = [value in self.natural for value in index.values]
        return _is_natural(index.expr, natural)


def _is_natural(expr: AffineExpr, natural: list[bool]) -> bool:
    match expr:
        case Const(value):
            return value >= 0
        case Dim(position):
            return natural[position]
        case Binary("+" | "*" | "mod" | "floordiv", lhs, rhs):
            return _is_natural(lhs, natural) and _is_natural(rhs, natural)
        case _:
            return False


_MIRRORED = {"sgt": "slt", "sge": "sle", "ugt": "ult", "uge": "ule"}
