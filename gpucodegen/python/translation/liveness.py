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
            self.after[node] = self.after.get(node, NOTHING) | live
            first, second = (self.before(arm, live) for arm in (node.body, node.orelse))
            return first | second | names(node.test, ast.Load)
        if isinstance(node, ast.For | ast.While):
            return self._loop(node, live)
        read = names(node, ast.Load)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return live | read | {node.target.id}
        return (live - names(node, ast.Store)) | read

    def _loop(self, node: ast.For | ast.While, live: frozenset[str]) -> frozenset[str]:
        if isinstance(node, ast.For):
            head, target, around = node.iter, names(node.target, ast.Store), live
        else:
            head, target = node.test, NOTHING
            around = live | names(head, ast.Load)
        found = around
        while True:
            wider = (self.before(node.body, found) - target) | found
            if wider == found:
                break
            found = wider
        self.after[node] = self.after.get(node, NOTHING) | live
        self.inside[node] = self.inside.get(node, NOTHING) | found
        return found | names(head, ast.Load)


NOTHING: frozenset[str] = frozenset()


def names(node: ast.AST, ctx: type[ast.expr_context]) -> frozenset[str]:
    """Names that are read or stored anywhere in a node.

    >>> sorted(names(ast.parse("a[i] = b"), ast.Load))
    ['a', 'b', 'i']
    """
    inner = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return frozenset(n.id for n in inner if isinstance(n.ctx, ctx))
