"""Schedule trees of nests and kernels, in the form of the polyhedral literature.

`schedule_tree` takes the body of a `Scop`, with verdicts and bands where there are
some, and returns a `Tree`::

    tree     := domain(band | sequence | leaf)
    band     := members: loops that run together; permutable; each coincident or not
    sequence := filters, one after the other
    filter   := the statements that take part below
    mark     := a remark of the mapping: "blocks", "threads", a barrier
    leaf     := no more order: one execution

A band is permutable when its members may be interchanged and tiled; a member is
coincident when its iterations may run at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.scop import (
    Barrier,
    Commit,
    GroupWait,
    If,
    Loop,
    Node,
    ProxyFence,
    Role,
    Statement,
    Wait,
    statements,
)
from gpucodegen.tiling.proof.legality import Band

SEPARATOR = "; "
"""Between the domains of statements."""


class NodeKind(Enum):
    """The kinds of nodes."""

    DOMAIN = "domain"
    BAND = "band"
    SEQUENCE = "sequence"
    FILTER = "filter"
    MARK = "mark"
    LEAF = "leaf"


@dataclass(frozen=True, slots=True)
class Tree:
    """A node with its text and its children."""

    kind: NodeKind
    text: str
    children: tuple[Tree, ...] = ()
    permutable: bool = False
    coincident: tuple[bool, ...] = ()

    def walk(self) -> Iterator[Tree]:
        """This node and all below, in pre-order."""
        yield self
        for child in self.children:
            yield from child.walk()

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """The tree as indented text; a leaf is in the line of its filter."""
        name = f"{self.kind.value}: " if self.text else self.kind.value
        first, *others = f"{self.text}{self.flags}".split(SEPARATOR)
        if self.kind is NodeKind.FILTER and self.children[0].kind is NodeKind.LEAF:
            yield f"{name}{first}, {next(self.children[0].lines())}"
            return
        yield f"{name}{first}"
        yield from (f"{' ' * len(name)}{other}" for other in others)
        for child in self.children:
            yield from (f"  {line}" for line in child.lines())

    @property
    def flags(self) -> str:
        """The properties of a band: ``, permutable, coincident [1, 0]``."""
        if not self.coincident:
            return ""
        flags = ", ".join(str(int(flag)) for flag in self.coincident)
        return f"{', permutable' if self.permutable else ''}, coincident [{flags}]"


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The facts about loops that a tree shows.

    ``bands``: runs of loops that form one band, by the name of their first loop.
    ``coincident``: whether the iterations of a loop are independent. ``domains``: per
    statement, its executions; ``leaves``: its effect. ``mark``: the remark on a band
    that begins with a loop, or an empty text.
    """

    bands: Mapping[str, Band]
    coincident: Callable[[Loop], bool]
    domains: Mapping[str, str] = field(default_factory=dict[str, str])
    leaves: Mapping[str, str] = field(default_factory=dict[str, str])
    mark: Callable[[Loop], str] = lambda _: ""


def effects(body: Sequence[Node]) -> dict[str, str]:
    """Per statement the arrays that it writes and reads.

    >>> from gpucodegen.tiling.model.scop import read, write
    >>> effects([Statement("S", (read("A", "i"), read("B", "i"), write("A", "i")))])
    {'S': 'A <- A, B'}
    """
    return {s.name: _effect(s) for s in statements(tuple(body))}


def _effect(statement: Statement) -> str:
    written, read = (
        ", ".join(
            dict.fromkeys(a.array for a in statement.accesses if a.writes is writes)
        )
        for writes in (True, False)
    )
    if not written:
        return f"reads {read}"
    return f"{written} <- {read}" if read else f"sets {written}"


def schedule_tree(body: Sequence[Node], verdicts: Verdicts) -> Tree:
    """The tree of a body.

    >>> from gpucodegen.tiling.model.scop import nest
    >>> body = nest([Loop("i", "0", "N"), Loop("j", "0", "N")], (Statement("S", ()),))
    >>> pair = Band((body[0], body[0].body[0]), (), rectangular=True)
    >>> leaves = {"S": "A <- B"}
    >>> known = Verdicts({"i": pair}, lambda loop: loop.name == "i", leaves=leaves)
    >>> print(schedule_tree(body, known))
    domain: S
      band: i, j, permutable, coincident [1, 0]
        leaf: A <- B
    """
    names = [statement.name for statement in statements(tuple(body))]
    known = verdicts.domains
    domains = (
        SEPARATOR.join(map(known.__getitem__, names)) if known else ", ".join(names)
    )
    return Tree(NodeKind.DOMAIN, domains, _below(body, verdicts))


def _below(body: Sequence[Node], verdicts: Verdicts) -> tuple[Tree, ...]:
    """A sequence of filters, or the only child itself."""
    nodes = list(_flat(body))
    if len(nodes) == 1:
        return _node(nodes[0], verdicts)
    filters = tuple(tree for node in nodes for tree in _filter(node, verdicts))
    return (Tree(NodeKind.SEQUENCE, "", filters),) if filters else ()


def _flat(body: Sequence[Node]) -> Iterator[Node]:
    """The nodes without conditions, which restrict domains and leave no node."""
    for node in body:
        if isinstance(node, If):
            yield from _flat((*node.body, *node.orelse))
        else:
            yield node


def _filter(node: Node, verdicts: Verdicts) -> tuple[Tree, ...]:
    below = _node(node, verdicts)
    names = ", ".join(s.name for s in statements((node,)))
    return (Tree(NodeKind.FILTER, names, below),) if names else below


def _node(node: Node, verdicts: Verdicts) -> tuple[Tree, ...]:
    match node:
        case Loop():
            return _band(node, verdicts)
        case Statement():
            return (Tree(NodeKind.LEAF, verdicts.leaves.get(node.name, "")),)
        case Barrier():
            return (Tree(NodeKind.MARK, "barrier"),)
        case Wait(tag, pending=pending):
            newest = f" but the newest {pending}" if pending else ""
            return (Tree(NodeKind.MARK, f"wait for {tag.array}{newest}"),)
        case Commit():
            return (Tree(NodeKind.MARK, "close a group of copies"),)
        case GroupWait(pending):
            return (Tree(NodeKind.MARK, f"wait for all groups but {pending}"),)
        case ProxyFence():
            return (Tree(NodeKind.MARK, "fence before copies of engines"),)
        case If():
            return _below((node,), verdicts)


def _band(loop: Loop, verdicts: Verdicts) -> tuple[Tree, ...]:
    run = _run(loop, verdicts)
    below = _below(run[-1].body, verdicts)
    members = [m for m in run if m.role is Role.SEQUENTIAL or not _runs_once(m)]
    if not members:
        return below
    band = Tree(
        NodeKind.BAND,
        ", ".join(member.name for member in members),
        below,
        permutable=len(members) > 1,
        coincident=tuple(map(verdicts.coincident, members)),
    )
    mark = verdicts.mark(loop)
    return (Tree(NodeKind.MARK, mark, (band,)) if mark else band,)


def _run(loop: Loop, verdicts: Verdicts) -> Sequence[Loop]:
    """The loops of the band that begins here; blocks, and threads, form one."""
    known = verdicts.bands.get(loop.name)
    if known is not None:
        return known.loops
    run = [loop]
    while loop.role is not Role.SEQUENTIAL and len(run[-1].body) == 1:
        inner = run[-1].body[0]
        if not isinstance(inner, Loop) or inner.role is not loop.role:
            break
        run.append(inner)
    return run


def _runs_once(loop: Loop) -> bool:
    return loop.lowers == ("0",) and loop.uppers == ("1",)
