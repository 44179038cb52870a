"""Frees the heap buffers of a CPU kernel before its early returns.

A kernel returns early where an assertion fails, an allocation fails, or a parallel loop
was interrupted.  Buffers that are live there would never be freed:

    t = heap_f64(n)
    if not c:                    if not c:
        status[0] = 1      =>        status[0] = 1
        return                       heap_free_f64(t)
    heap_free_f64(t)                 return
                                 heap_free_f64(t)

A forward analysis of the syntax tree finds the live buffers.  Where paths join, a
buffer is live if it is live on each; in a loop, only if no iteration frees it.  So no
buffer is freed twice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from gpucodegen.records import dataclass

_ALLOCATORS = ("heap", "heap_dynamic")
Live = Mapping[str, str]
"""The function that frees each live buffer, by variable, in order of allocation."""


def free_at_returns(tree: ast.Module) -> bool:
    """Frees live buffers before each return; whether there was one.

    The functions of the module call intrinsics that its header makes.

    >>> tree = ast.parse('''
    ... heap_f64 = intrinsics.heap("f64")
    ... heap_free_f64 = intrinsics.heap_free("f64")
    ... def f(n):
    ...     t = heap_f64(n)
    ...     if n > 1:
    ...         return
    ...     heap_free_f64(t)
    ...     if n > 0:
    ...         return''')
    >>> free_at_returns(tree)
    True
    >>> print(ast.unparse(tree.body[2]))
    def f(n):
        t = heap_f64(n)
        if n > 1:
            heap_free_f64(t)
            return
        heap_free_f64(t)
        if n > 0:
            return
    """
    made = dict(intrinsic for node in tree.body for intrinsic in _intrinsics(node))
    frees = {kind: name for name, (maker, kind) in made.items() if maker == "heap_free"}
    allocators = {
        name: frees[kind]
        for name, (maker, kind) in made.items()
        if maker in _ALLOCATORS and kind in frees
    }
    if not allocators:
        return False
    rewriter = _Rewriter(allocators, frozenset(frees.values()))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and _returns(node):
            rewriter.block(node.body, {})
    return rewriter.is_changed


def _returns(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Return) for node in ast.walk(function))


def _intrinsics(node: ast.stmt) -> Iterator[tuple[str, tuple[str, object]]]:
    """Name, factory and element type of an intrinsic that the header makes."""
    match node:
        case ast.Assign(
            [ast.Name(name)],
            ast.Call(ast.Attribute(_, factory), [*_, ast.Constant(kind)]),
        ):
            yield name, (factory, kind)
        case _:
            pass


@dataclass(slots=True)
class _Rewriter:
    """``allocators``: by function, the one that frees its buffers; ``frees``: those."""

    allocators: Mapping[str, str]
    frees: frozenset[str]
    is_changed: bool = False

    def block(self, statements: list[ast.stmt], live: Live) -> Live | None:
        """The buffers that are live after the statements; None if they return."""
        for statement in tuple(statements):
            if isinstance(statement, ast.Return):
                at = statements.index(statement)
                statements[at:at] = [
                    ast.copy_location(_call(free, name), statement)
                    for name, free in reversed(live.items())
                ]
                self.is_changed |= bool(live)
                return None
            after = self.after(statement, live)
            if after is None:
                return None
            live = after
        return live

    def after(self, statement: ast.stmt, live: Live) -> Live | None:
        """The buffers that are live after one statement."""
        match statement:
            case ast.If(_, body, orelse):
                ends = self.block(body, live), self.block(orelse, live)
                known = [end for end in ends if end is not None]
                if not known:
                    return None
                return {k: v for k, v in known[0].items() if k in known[-1]}
            case ast.For(_, _, body) | ast.While(_, body):
                kept = self.kept(statement, live)
                self.block(body, kept)
                return kept
            case ast.Assign([ast.Name(name)], ast.Call(ast.Name(function))) if (
                function in self.allocators
            ):
                return {**_without(live, {name}), name: self.allocators[function]}
            case _:
                return self.kept(statement, live)

    def kept(self, statement: ast.stmt, live: Live) -> Live:
        """The live buffers that no part of a statement frees or binds anew."""
        if not live:
            return live
        return _without(live, self.freed(statement) | _rebound(statement))

    def freed(self, statement: ast.stmt) -> set[str]:
        """The buffers that a statement or its parts free."""
        found: set[str] = set()
        for node in ast.walk(statement):
            match node:
                case ast.Call(ast.Name(function), [ast.Name(name)]) if (
                    function in self.frees
                ):
                    found.add(name)
                case _:
                    pass
        return found


def _call(function: str, name: str) -> ast.stmt:
    called = ast.Name(function, ast.Load())
    return ast.Expr(ast.Call(called, [ast.Name(name, ast.Load())], []))


def _without(live: Live, names: set[str]) -> Live:
    return {name: free for name, free in live.items() if name not in names}


def _rebound(statement: ast.stmt) -> set[str]:
    """Variables that change their buffer, and those whose buffer gets another name.

    ``a, b = b, a`` leaves the two buffers to the two variables.
    """
    found: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Assign):
            targets, values = _names(node.targets[0]), _names(node.value)
            found |= targets ^ values if targets and values else targets
    return found


def _names(node: ast.expr) -> set[str]:
    """The variables of a name or of a tuple of names."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return {part.id for part in parts if isinstance(part, ast.Name)}
