"""Single edits of a kernel's nodes: what a proof may no longer prove."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from gpucodegen.tiling.model.scop import (
    Barrier,
    GroupWait,
    If,
    Loop,
    Node,
    Role,
    Scop,
    Statement,
)

Nodes = tuple[Node, ...]
Edit = Callable[[Node], Nodes]


def edits(scop: Scop) -> Iterator[tuple[str, Scop]]:
    """A kernel with one node left out, repeated, moved or changed, by what was done."""
    for name, body in _edited(scop.body):
        try:
            changed = replace(scop, body=body)
        except ValueError:
            continue
        if changed != scop:
            yield name, changed


def _edited(nodes: Nodes) -> Iterator[tuple[str, Nodes]]:
    for n, node in enumerate(nodes):
        before, behind = nodes[:n], nodes[n + 1 :]
        is_grid = isinstance(node, Loop) and node.role is not Role.SEQUENTIAL
        if not is_grid:
            what = getattr(node, "name", type(node).__name__)
            yield f"without {what}", (*before, *behind)
            yield f"{what} moved", (*before, *behind[:1], node, *behind[1:])
        if isinstance(node, Statement):
            again = replace(node, name=f"{node.name} again")
            yield f"{node.name} twice", (*before, node, again, *behind)
        for name, changed in _changed(node):
            yield name, (*before, changed, *behind)


def _changed(node: Node) -> Iterator[tuple[str, Node]]:
    """A node with one number changed, or one edit inside."""
    match node:
        case Loop():
            if node.role is Role.SEQUENTIAL:
                for upper in _numbers(node.uppers[0]):
                    yield f"{node.name} < {upper}", replace(node, upper=upper)
            for name, body in _edited(node.body):
                yield name, replace(node, body=body)
        case If(constraints=(text, *rest)):
            for other in _numbers(text):
                yield f"if {other}", replace(node, constraints=(other, *rest))
            for name, body in _edited(node.body):
                yield name, replace(node, body=body)
            for name, body in _edited(node.orelse):
                yield name, replace(node, orelse=body)
        case Barrier(lanes=None):
            yield "a barrier of warps", replace(node, lanes=(1 << 32) - 1)
        case Barrier():
            yield "a barrier of blocks", replace(node, lanes=None)
            yield "a barrier of half warps", replace(node, lanes=(1 << 16) - 1)
            yield "a barrier without memory", replace(node, orders=frozenset())
        case GroupWait():
            yield "one group more", replace(node, pending=node.pending + 1)
        case Statement():
            yield from _changed_statements(node)
        case _:
            pass


def _changed_statements(node: Statement) -> Iterator[tuple[str, Statement]]:
    if node.phase is not None and node.phase.odd is not None:
        for odd in _numbers(node.phase.odd):
            changed = replace(node.phase, odd=odd)
            yield f"{node.name}: {odd}", replace(node, phase=changed)
    if node.phase is not None and node.phase.number is not None:
        for number in _near(node.phase.number):
            changed = replace(node.phase, number=number)
            yield f"{node.name}: {number}", replace(node, phase=changed)
    for k, access in enumerate(node.accesses):
        for d, index in enumerate(access.indices):
            for text in _numbers(index or ""):
                indices = (*access.indices[:d], text, *access.indices[d + 1 :])
                accesses = list(node.accesses)
                accesses[k] = replace(access, indices=indices)
                what = f"{node.name}: {access.array}[{text}]"
                yield what, replace(node, accesses=tuple(accesses))


def _near(number: int) -> list[int]:
    found = {number + 1, max(0, number - 1), 2 * number, number // 2}
    return sorted(found - {number})


def _numbers(text: str) -> Iterator[str]:
    """The text with one number changed, divisors not to zero."""
    for found in re.finditer(r"(?<!\w)\d+", text):
        before = text[: found.start()].rstrip()
        for number in _near(int(found[0])):
            if number or not before.endswith(("mod", "/")):
                yield f"{text[: found.start()]}{number}{text[found.end() :]}"
