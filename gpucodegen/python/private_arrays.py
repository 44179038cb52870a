"""Arrays that a loop binds anew in each iteration, in one buffer of their own.

    for k in range(n):                       X[...] = x
        x = x + a * p              =>        for k in range(n):
                                                 X[...] = X + a * p      # x is X

The loop carries no array then, so it can be compiled as a whole.  This is right iff

- each iteration binds the variable to a new array of the same shape and dtype, while
  nothing else refers to its old one (`assigned`), and
- nothing else writes to the buffer, in the loop or behind it (`written_buffers`), for
  Python would write to the array that the variable had before the first iteration, or
  to one that has another name, and
- nothing writes by another name to the array that the variable had before the loop once
  the buffer has its elements: the variable may refer to it until it is bound anew.

The second one is not needed where nothing else refers to the array that the variable
had before the loop, if the function made it: nobody sees which of both is written to.
Where one of them does not hold, the loop is translated again and carries references.

A loop that selects from an array by ``x = x[mask]`` carries the number of its rows:

    n = len(X)
    for k in range(..):
        x = X[:n]
        move the rows of x that the mask selects to the front; n = their number

No row moves back, and all before it have been read, so this needs no second buffer.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python.arrays import Lazy, View, assign, copied
from gpucodegen.python.block_arguments import Join, PrefixJoin, prefix
from gpucodegen.python.context import Bound, Context
from gpucodegen.python.iterables import Zipped
from gpucodegen.python.masks import Selected
from gpucodegen.python.range_checks import Block
from gpucodegen.python.results import leaves
from gpucodegen.python.scalars import same
from gpucodegen.python.written_buffers import writes


def candidates(
    c: Context, node: ast.For | ast.While, names: Sequence[str]
) -> list[str]:
    """Variables with arrays that a loop binds by plain assignments only."""
    plain: list[str] = []
    stored: list[str] = []
    for statement in node.body:
        for inner in ast.walk(statement):
            if isinstance(inner, ast.Assign) and len(inner.targets) == 1:
                target = inner.targets[0]
                plain += [target.id] if isinstance(target, ast.Name) else []
            elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                stored.append(inner.id)
    return [
        name
        for name in names
        if isinstance(c.variables[name], View)
        and 0 < plain.count(name) == stored.count(name)
    ]


def shrinking(c: Context, node: ast.For | ast.While, names: Sequence[str]) -> set[str]:
    """Variables ``x`` of `candidates` with an assignment ``x = x[..]``."""
    found: set[str] = set()
    for inner in (n for statement in node.body for n in ast.walk(statement)):
        match inner:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Subscript(value=ast.Name(id=other)),
            ) if name == other and name in names and name not in c.private:
                found.add(name)
            case _:
                pass
    return found


def buffer(c: Context, name: str, loop: object) -> View:
    """A buffer with the elements of a variable: that of a loop around, or a copy."""
    view = c.variables[name]
    if c.private.get(name) is view and not _is_shared(c, name, view.roots):
        return view
    made = copied(c.b, view)
    c.buffers.expected[made.memory] = 1
    c.buffers.loops[made.memory] = loop
    c.buffers.wholes[made.memory] = made
    if _is_shared(c, name, view.roots):
        c.buffers.initial[made.memory] = view.roots
    elif view.roots <= _allocated(c):
        c.buffers.free.add(made.memory)
    return made


def _allocated(c: Context) -> frozenset[object]:
    """The buffers that the open blocks allocate."""
    found: set[object] = set()
    b: OperationList | None = c.b
    while b is not None:
        found |= {op.result for op in b.operations if op.name == "memref.alloc"}
        b = b.outer if isinstance(b, Block) else None
    return frozenset(found)


def selected(c: Context, name: str, value: Bound) -> bool:
    """Whether ``x = x[mask]`` was done in the buffer of the variable."""
    view = c.private.get(name)
    if not isinstance(value, Selected) or view is None or view.cut is None:
        return False
    memory, read = view.cut[0], value.whole.plain
    whole = c.buffers.wholes.get(memory)
    source = None if read is None else read.view
    if (
        whole is None
        or c.variables.get(name) is not view
        or source is None
        or source.memory is not view.memory
        or not same(value.whole.extents, view.extents)
        or value.mask.rank != 1
        or _is_shared(c, name, view.roots)
    ):
        return False
    count = value.moved_to_front(c.b, view)
    c.buffers.expected[memory] += 1
    c.variables[name] = c.private[name] = prefix(c, whole, count)
    return True


def assigned(c: Context, name: str, value: Bound) -> bool:
    """Whether an assignment to a variable was done in its buffer.

    The value must be new: computed, or (a part of) a buffer allocated in this block.
    """
    view = c.private.get(name)
    if view is None or c.variables.get(name) is not view or value is view:
        return value is view and view is not None
    if not isinstance(value, View | Lazy) or value.dtype != view.dtype:
        return False
    if isinstance(value, View) or value.plain is not None:
        roots = _roots(value)
        made = {op.result for op in c.b.operations if op.name == "memref.alloc"}
        if not roots or not roots <= made or _is_shared(c, "", roots):
            return False
    if not same(value.extents, view.extents) or _is_shared(c, name, view.roots):
        return False
    assign(c.b, value, view)
    c.buffers.expected[_whole(c, view)] += 1
    return True


def _whole(c: Context, view: View) -> Value:
    """The buffer of a private variable, of which its array may be the first rows."""
    is_part = view.memory not in c.buffers.expected and view.cut is not None
    return view.cut[0] if is_part and view.cut else view.memory


def join_rows(
    c: Context, name: str, values: Sequence[Bound], private: Sequence[dict[str, View]]
) -> list[Join]:
    """The join of arrays that are all first rows of a variable's buffer; else nothing.

    ``private``: the arrays in buffers at the end of each arm.
    """
    for value, own in zip(values, private, strict=True):
        if own.get(name) is not value or not isinstance(value, View) or not value.cut:
            return []
    whole = c.buffers.wholes.get(values[0].cut[0])
    return [] if whole is None else [PrefixJoin(whole, name)]


def _is_shared(c: Context, name: str, roots: frozenset[object]) -> bool:
    """Whether another variable, also of a caller, may refer to one of the buffers."""
    others = [value for other, value in c.variables.items() if other != name]
    return any(
        not roots.isdisjoint(_roots(leaf)) for value in others for leaf in leaves(value)
    ) or (c.caller is not None and _is_shared(c.caller, "", roots))


def _roots(leaf: Bound) -> frozenset[object]:
    if isinstance(leaf, View):
        return leaf.roots
    if isinstance(leaf, Zipped):
        return frozenset[object]().union(*map(_roots, leaf.parts))
    reads = leaf.reads if isinstance(leaf, Lazy) else ()
    views = (read.view for read in reads if read.view is not None)
    return frozenset[object]().union(*(view.roots for view in views))


def only_assigned(
    c: Context,
    operations: Sequence[Operation],
    after: Mapping[str, Bound],
    buffers: Mapping[str, View],
    before: Mapping[Value, int],
    smaller: Collection[str],
) -> bool:
    """Whether an iteration leaves each variable in its buffer, and assigns it only.

    ``before``: the expected writes when the iteration began; ``smaller``: variables
    whose number of rows the loop carries.
    """
    expected = c.buffers.expected
    for name, view in buffers.items():
        whole = _whole(c, view)
        if after.get(name) is not (c.private[name] if name in smaller else view):
            return False
        count = expected[whole] - before[whole]
        if whole not in c.buffers.free and writes(operations, view.memory) != count:
            return False
    return True
