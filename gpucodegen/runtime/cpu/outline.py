"""Parallel loops of a kernel as functions of their own, which threads share.

Comes in: the text of a kernel with ``prange`` loops.  Goes out: its syntax tree, each
of these loops a function of a range and of the variables that it takes from outside:

    for i in prange(n): ...    =>    if parallel_for(kernel_0, n, (a, b)): return

A kernel whose loop was interrupted goes no further: what follows may need all of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

LOOP = "prange"
CALL = "parallel_for"


@dataclass(frozen=True, slots=True)
class Outlined:
    """A module whose function calls the ``parts``, functions of the same module."""

    tree: ast.Module
    parts: tuple[str, ...]


def outlined(source: str, name: str) -> Outlined:
    """The kernel ``name`` with its outermost parallel loops as functions.

    >>> made = outlined('''
    ... def f(A, n):
    ...     for t in range(3):
    ...         for i in prange(n):
    ...             k = i + t
    ...             A[k] = k''', "f")
    >>> print(ast.unparse(made.tree))
    def f_0(begin, end, A, t):
        for i in range(begin, end):
            k = i + t
            A[k] = k
    <BLANKLINE>
    def f(A, n):
        for t in range(3):
            if parallel_for(f_0, n, (A, t)):
                return
    """
    tree = ast.parse(source)
    position, kernel = next(
        (at, node)
        for at, node in enumerate(tree.body)
        if isinstance(node, ast.FunctionDef) and node.name == name
    )
    outliner = _Outliner(name, _names(tree))
    outliner.visit(kernel)
    own = dict.fromkeys([*_arguments(kernel), *_Uses.of([kernel]).stored])
    for part, call in outliner.made:
        (loop,) = part.body
        assert isinstance(loop, ast.For)
        needed = _Uses.of([loop]).needed
        taken = [each for each in own if each in needed]
        part.args.args += [ast.arg(each) for each in taken]
        loaded: list[ast.expr] = [ast.Name(each, ast.Load()) for each in taken]
        call.args.append(ast.Tuple(loaded, ast.Load()))
    parts = [part for part, _ in outliner.made]
    tree.body[position:position] = parts
    return Outlined(ast.fix_missing_locations(tree), tuple(p.name for p in parts))


def _arguments(kernel: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in kernel.args.args]


def _names(tree: ast.AST) -> set[str]:
    """Every name of a text."""
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return found | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


@dataclass
class _Outliner(ast.NodeTransformer):
    """Takes parallel loops out of a function; their variables are found afterwards."""

    name: str
    used: set[str]
    made: list[tuple[ast.FunctionDef, ast.Call]] = field(
        default_factory=list[tuple[ast.FunctionDef, ast.Call]]
    )

    def visit_For(self, node: ast.For) -> ast.stmt:
        """One parallel loop, or the loops in a sequential one."""
        if not _is_parallel(node):
            self.generic_visit(node)
            return node
        assert isinstance(node.iter, ast.Call)
        begin, end, name = map(
            self._fresh, ("begin", "end", f"{self.name}_{len(self.made)}")
        )
        bounds: list[ast.expr] = [ast.Name(n, ast.Load()) for n in (begin, end)]
        over = ast.Call(ast.Name("range", ast.Load()), bounds, [])
        loop = ast.For(node.target, over, node.body, [])
        given = [ast.arg(begin), ast.arg(end)]
        arguments = ast.arguments(
            posonlyargs=[], args=given, kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        part = ast.FunctionDef(name, arguments, [ast.copy_location(loop, node)], [])
        called: list[ast.expr] = [ast.Name(name, ast.Load()), *node.iter.args]
        call = ast.Call(ast.Name(CALL, ast.Load()), called, [])
        self.made.append((ast.copy_location(part, node), call))
        return ast.copy_location(ast.If(call, [ast.Return()], []), node)

    def _fresh(self, name: str) -> str:
        while name in self.used:
            name += "_"
        return name


def _is_parallel(node: ast.For) -> bool:
    called = node.iter.func if isinstance(node.iter, ast.Call) else None
    return isinstance(called, ast.Name) and called.id == LOOP


@dataclass
class _Uses(ast.NodeVisitor):
    """Variables in the order of evaluation: ``needed`` are read before any write."""

    stored: dict[str, None] = field(default_factory=dict[str, None])
    needed: dict[str, None] = field(default_factory=dict[str, None])

    @staticmethod
    def of(nodes: Iterable[ast.AST]) -> _Uses:
        """The variables of some statements."""
        uses = _Uses()
        for node in nodes:
            uses.visit(node)
        return uses

    def visit_Name(self, node: ast.Name) -> None:
        """A use."""
        if isinstance(node.ctx, ast.Store):
            self.stored.setdefault(node.id)
        elif node.id not in self.stored:
            self.needed.setdefault(node.id)

    def generic_visit(self, node: ast.AST) -> None:
        """The parts of a node, targets last."""
        for part in sorted(_parts(node), key=lambda p: p[0] in {"target", "targets"}):
            self.visit(part[1])

    def visit_For(self, node: ast.For) -> None:
        """The range, the variable, the body."""
        for part in (node.iter, node.target, *node.body):
            self.visit(part)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """``x += 1`` reads ``x`` first."""
        if isinstance(node.target, ast.Name):
            self.visit(ast.Name(node.target.id, ast.Load()))
        self.generic_visit(node)


def _parts(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for name, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield name, part
