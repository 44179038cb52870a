"""The text of schedules: what `str` prints is read again, and nothing is run."""

from __future__ import annotations

import ast

from gpucodegen import errors
from gpucodegen.schedule.steps import Schedule, Step, Value, invalid, value_of


def parse(text: str) -> Schedule:
    """The schedule that a text prints, as Python calls it; nothing else is run.

    Raises InvalidOption with the line of what cannot be read.

    >>> print(parse("schedule(unroll('k', factor=4))"))
    schedule(
        unroll("k", factor=4),
    )
    """
    found = _read(text)
    if len(found) != 1 or not isinstance(found[0], ast.Expr):
        raise invalid(text, "Write schedule(step, step, ..)")
    return _schedule(found[0].value)


def parse_all(text: str) -> dict[str, Schedule]:
    r"""Schedules by function, as ``f = schedule(..)`` on lines of their own.

    A schedule without a name is that of every other function. Raises InvalidOption.

    >>> list(parse_all("f = schedule(vectorize())\nschedule()"))
    ['f', '']
    """
    made: dict[str, Schedule] = {}
    for node in _read(text):
        match node:
            case ast.Assign([ast.Name(name)], value):
                made[name] = _schedule(value)
            case ast.Expr(value):
                made[""] = _schedule(value)
            case _:
                raise _unreadable(node)
    return made


def _read(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text.strip(), "<schedule>").body
    except SyntaxError as problem:
        hint = f"Line {problem.lineno}: {problem.msg}"
        raise invalid(text, hint) from None


def _schedule(node: ast.expr) -> Schedule:
    if not isinstance(node, ast.Call) or _called(node) != "schedule" or node.keywords:
        raise _unreadable(node)
    return Schedule(tuple(map(_step, node.args)))


def _step(node: ast.expr) -> Step:
    from gpucodegen.schedule import passes

    if not isinstance(node, ast.Call):
        raise _unreadable(node)
    name = _called(node)
    names = [_literal(one) for one in node.args]
    given = [(one.arg, _literal(one.value)) for one in node.keywords]
    parameters = tuple((str(key), value) for key, value in given if key is not None)
    if len(parameters) != len(given) or not all(isinstance(n, str) for n in names):
        raise _unreadable(node)
    step = Step(name, tuple(map(str, names)), parameters)
    passes.check(step)
    return step


def _called(node: ast.Call) -> str:
    if not isinstance(node.func, ast.Name):
        raise _unreadable(node)
    return node.func.id


def _literal(node: ast.expr) -> Value:
    try:
        return value_of(ast.literal_eval(node))
    except ValueError:
        raise _unreadable(node) from None


def _unreadable(node: ast.AST) -> errors.InvalidOption:
    line = getattr(node, "lineno", 1)
    hint = f"Line {line}: write steps as tile('i', sizes=(32, 8))"
    return invalid(ast.unparse(node), hint)
