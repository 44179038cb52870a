"""Which variables a function reads later, before they get new values."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


def assigned(block: Iterable[ast.stmt]) -> list[str]:
    r"""Names that a block assigns, in order.

    >>> assigned(ast.parse("b = a\nfor i in x: c[0] = 1; b += 2").body)
    ['b', 'i']
    """
    names = (
        inner.id
        for node in block
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    )
    return list(dict.fromkeys(names))


@dataclass(slots=True)
class Liveness:
    """Which variables are read after each statement, before they get new values.

    ``after``: for each loop and branch; ``inside``: what a loop's body reads of what
    was assigned before, or in an earlier iteration.
    """

    after: dict[ast.stmt, frozenset[str]] = field(
        default_factory=dict[ast.stmt, "frozenset[str]"]
    )
    inside: dict[ast.stmt, frozenset[str]] = field(
        default_factory=dict[ast.stmt, "frozenset[str]"]
    )

    def before(self, block: Sequence[ast.stmt], live: frozenset[str]) -> frozenset[str]:
        """What is read before the block, if ``live`` is read after it."""
        for node in reversed(block):
            live = self._statement(node, live)
        return live

    def _statement(self, node: ast.stmt, live: frozenset[str]) -> frozenset[str]:
        if isinstance(node, ast.If):
            self.after[node] = self.after.get(node, frozenset()) | live
            arms = (self.before(arm, live) for arm in (node.body, node.orelse))
            return frozenset().union(*arms) | _read(node.test)
        if isinstance(node, ast.For | ast.While):
            head = node.iter if isinstance(node, ast.For) else node.test
            around = live | (
                _read(head) if isinstance(node, ast.While) else frozenset()
            )
            target = {node.target.id} if _has_name(node) else set[str]()
            body = around
            while True:
                found = (self.before(node.body, body) - target) | around
                if found <= body:
                    break
                body = body | found
            self.after[node] = self.after.get(node, frozenset()) | live
            self.inside[node] = self.inside.get(node, frozenset()) | found
            return found | _read(head)
        stores = {n.id for n in ast.walk(node) if _is_name(n, ast.Store)}
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return live | _read(node) | {node.target.id}
        return (live - stores) | _read(node)


def _has_name(node: ast.For | ast.While) -> bool:
    return isinstance(node, ast.For) and isinstance(node.target, ast.Name)


def _is_name(node: ast.AST, ctx: type[ast.expr_context]) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ctx)


def _read(node: ast.AST) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(node) if _is_name(n, ast.Load))  # type: ignore[attr-defined]
