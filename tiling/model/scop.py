"""The data model: a static control part as a tree of loops, conditions and statements.

Comes in: nothing; the lifting of a program builds a `Scop` from these dataclasses.
Goes out: the tree that every other module of this package reads. No isl object is
needed to build one.

Grammar (a body is a tuple of nodes in textual order)::

    Scop      := parameters, context, arrays, body
    node      := Loop(body) | If(body, orelse) | Leaf
    Statement := accesses in order of execution, [Reduction], [Tag]
    Access    := array, READ | WRITE, one index per dimension, [span]

Expressions and constraints are isl text over parameter names and the names of the
surrounding loops: ``"2*i + floor((j + 1)/4)"``, ``"(i mod 8) - j"``, ``"i - N >= 0"``,
``"i = 0"``. isl takes factors and divisors as plain integers only (``-2*i``, not
``(-2)*i``). Only parameters and loop names occur in such text, so only they must be isl
identifiers; statements and arrays may have any name.

What has no affine form stays in the tree and is over-approximated, never left out:

* an unknown index is ``None``: any cell along that dimension;
* an unknown bound is the empty tuple: the loop is unbounded on that side;
* a loop that is not affine (``scf.for`` with loaded bounds, ``while``) is `Loop` with
  ``opaque=True``: it repeats its body an unknown number of times;
* an unknown condition is ``constraints=None``: either branch may run.

A buffer allocated inside loops is a fresh one in each iteration: `Array.scope` names
these loops. An SSA value carried by a loop (``iter_args``) is a 0-d array with
``register=True`` and the loops around the carrying loop as scope.

>>> accumulate = Statement(
...     "S0",
...     accesses=(
...         read("A", "i", "k"),
...         read("B", "k", "j"),
...         read("C", "i", "j"),
...         write("C", "i", "j"),
...     ),
...     reduction=Reduction("add", read=2, write=3),
... )
>>> matmul = Scop(
...     parameters=("M", "N", "K"),
...     arrays=(
...         Array("A", ("M", "K")), Array("B", ("K", "N")), Array("C", ("M", "N"))
...     ),
...     body=nest(
...         (Loop("i", "0", "M"), Loop("j", "0", "N"), Loop("k", "0", "K")),
...         (accumulate,),
...     ),
... )
>>> [loop.name for loop in loops(matmul.body)]
['i', 'j', 'k']
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class AccessKind(Enum):
    """Whether an access reads or writes its cell."""

    READ = "read"
    WRITE = "write"


class Role(Enum):
    """What a loop of a mapped kernel stands for; other nests are all sequential."""

    SEQUENTIAL = "sequential"
    BLOCK = "block"
    THREAD = "thread"


@dataclass(frozen=True, slots=True)
class Access:
    """One access of a statement: array and one index expression per dimension.

    ``span`` adds local iterators ``(name, exclusive upper bound)`` counting from 0 that
    the indices may use: ``Access("A", WRITE, ("i", "j + v"), span=(("v", "32"),))`` is
    a store of 32 consecutive elements. An iterator without a bound is any integer for
    which the constraints in ``where`` hold. ``must=False``: the access may not happen.
    ``assumed``: stands for an operation whose body is unknown. ``atomic``: how an
    atomic update combines; those of one kind never race. ``listed=False``: takes no row
    of `depcheck`.
    ``trusted``: an index that is not known was taken to lie in its dimension.
    """

    array: str
    kind: AccessKind
    indices: tuple[str | None, ...]
    span: tuple[tuple[str, str | None], ...] = ()
    where: tuple[str, ...] = ()
    must: bool = True
    assumed: bool = False
    atomic: str = ""
    listed: bool = True
    trusted: bool = False
    loc: object = None

    @property
    def writes(self) -> bool:
        """Whether this is a write."""
        return self.kind is AccessKind.WRITE

    @property
    def ranges(self) -> tuple[str, ...]:
        """What holds for the local iterators."""
        bounded = ((name, upper) for name, upper in self.span if upper is not None)
        return (*(f"0 <= {name} < {upper}" for name, upper in bounded), *self.where)

    @property
    def exact(self) -> bool:
        """Whether every instance certainly touches exactly the stated cells."""
        return self.must and None not in self.indices


@dataclass(frozen=True, slots=True)
class Reduction:
    """The statement is ``cell = cell OP value`` with an associative, commutative OP.

    ``read`` and ``write`` are the positions, in the statement's accesses, of the two
    accesses of the accumulated cell; the value does not depend on the cell.
    ``reassociable`` tells whether the program allows another order of the terms.
    """

    operator: str
    read: int
    write: int
    reassociable: bool = False


@dataclass(frozen=True, slots=True)
class Tag:
    """The completion flag of an asynchronous copy: a cell of a tag array."""

    array: str
    indices: tuple[str | None, ...] = ()


class Turn(Enum):
    """What a statement does to an mbarrier, which is the cell of its first access."""

    INIT = "init"
    ARRIVE = "arrive"
    WAIT = "wait"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class Phase:
    """The part of a statement in the phases of an mbarrier.

    ``number``: arrivals that end a phase (INIT), bytes that arrive (COPY) or that an
    arrival expects (ARRIVE); None where it is not known.  ``odd``: where the phase that
    a WAIT waits for has the parity 1; None where that is not known.
    """

    turn: Turn
    number: int | None = None
    odd: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """One or more operations executed together, with all their memory accesses.

    A statement with a ``tag`` is the start of an asynchronous copy: its accesses may
    happen at any moment until the `Wait` on the same tag.  One that is ``grouped``
    starts a copy of its thread alone, which may last until a `GroupWait` ends it.  The
    group of one that is ``joined`` is closed by the next start in the same loops.
    ``bulk``: the copy is an engine's, with groups of their own; it sees what threads
    have written behind a `ProxyFence` only.
    ``phase``: it belongs to an mbarrier; a copy lasts until its phase is over.
    """

    name: str
    accesses: tuple[Access, ...]
    reduction: Reduction | None = None
    tag: Tag | None = None
    loc: object = None
    grouped: bool = False
    joined: bool = False
    bulk: bool = False
    phase: Phase | None = None


@dataclass(frozen=True, slots=True)
class Barrier:
    """All threads of the block meet here, those of all blocks, or lanes of each warp.

    ``lanes`` has a bit for each lane of a warp that has to come; None stands for all
    threads of the block, or of all blocks where these meet too: ``of_grid``.
    ``alone``: no lane may come that it does not name.  ``orders`` are the memories
    whose accesses before it are over: ``shared`` by a block, ``global``.  ``what`` is
    what the program calls it.
    """

    loc: object = None
    lanes: int | None = None
    orders: frozenset[str] = frozenset({"shared", "global"})
    what: str = "barrier"
    of_grid: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Completion of the copies started with this tag; implies a barrier.

    It ends only copies after whose groups ``pending`` others were closed.  ``payload``
    is the caller's own; nothing here reads it.
    """

    tag: Tag
    loc: object = None
    pending: int = 0
    payload: object = None


@dataclass(frozen=True, slots=True)
class Commit:
    """A thread closes the group of copies that it has started since the last one.

    ``bulk``: of those of engines.
    """

    loc: object = None
    bulk: bool = False


@dataclass(frozen=True, slots=True)
class GroupWait:
    """A thread waits for its closed groups of copies but for the newest ``pending``.

    ``bulk``: of those of engines; ``reads``: until these have read what they copy.
    """

    pending: int = 0
    loc: object = None
    bulk: bool = False
    reads: bool = False


@dataclass(frozen=True, slots=True)
class ProxyFence:
    """Engines that copy see what a thread wrote before, if they are started behind."""

    loc: object = None


@dataclass(frozen=True, slots=True)
class Loop:
    """``for name = max(lower) to min(upper) step step``, upper bounds exclusive.

    A single bound may be given as plain text. ``parallel`` records that the program
    declares the loop parallel. ``payload`` is the caller's own; nothing here reads it.
    """

    name: str
    lower: str | tuple[str, ...] = ()
    upper: str | tuple[str, ...] = ()
    step: int = 1
    body: tuple[Node, ...] = ()
    parallel: bool = False
    opaque: bool = False
    role: Role = Role.SEQUENTIAL
    payload: object = None
    loc: object = None

    @property
    def lowers(self) -> tuple[str, ...]:
        """The lower bounds, of which the largest counts."""
        return (self.lower,) if isinstance(self.lower, str) else self.lower

    @property
    def uppers(self) -> tuple[str, ...]:
        """The exclusive upper bounds, of which the smallest counts."""
        return (self.upper,) if isinstance(self.upper, str) else self.upper


@dataclass(frozen=True, slots=True)
class If:
    """``body`` where all constraints hold, ``orelse`` elsewhere; None is unknown.

    ``uniform``: an unknown condition that all threads of a block decide alike.
    """

    constraints: tuple[str, ...] | None
    body: tuple[Node, ...] = ()
    orelse: tuple[Node, ...] = ()
    uniform: bool = False
    loc: object = None


Leaf: TypeAlias = Statement | Barrier | Wait | Commit | GroupWait | ProxyFence
Node: TypeAlias = Loop | If | Leaf


@dataclass(frozen=True, slots=True)
class Array:
    """A buffer; extents are numbers, isl text over parameters, or None (unknown).

    ``fresh``: allocated here, its cells hold nothing before they are written.
    ``forgotten``: its cells are not read after the program. ``ordered``: its one cell
    stands for a world outside, so that every access has to keep its place.
    ``scoped_extents``: by dimension, those that the loops of ``scope`` decide, as isl
    text over their variables; their ``shape`` has a parameter that may be any number.
    """

    name: str
    shape: tuple[int | str | None, ...] = ()
    scope: tuple[str, ...] = ()
    register: bool = False
    fresh: bool = False
    forgotten: bool = False
    ordered: bool = False
    loc: object = None
    scoped_extents: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Scop:
    """A program part: symbolic parameters, what is known of them, arrays, body.

    Parameters are integers; ``context`` lists constraints on them (``"N >= 1"``).
    ``words``: what a reader is told for parameters that the program does not name.
    """

    parameters: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    arrays: tuple[Array, ...] = ()
    body: tuple[Node, ...] = ()
    loc: object = None
    words: tuple[tuple[str, str], ...] = ()

    def told(self, text: str) -> str:
        """A formula in the words of the program.

        >>> Scop(("A_size0",), words=(("A_size0", "dim 0 of A"),)).told("A_size0 > 4")
        'dim 0 of A > 4'
        """
        words = dict(self.words)
        return _IDENTIFIER.sub(lambda found: words.get(found[0], found[0]), text)

    def __post_init__(self) -> None:
        """Check that names are unique and that expressions can be read back."""
        names = [*self.parameters, *(loop.name for loop in loops(self.body))]
        _check_unique("loop or parameter", names)
        _check_unique("statement", [s.name for s in statements(self.body)])
        _check_unique("array", [array.name for array in self.arrays])
        for name in names:
            if not _IDENTIFIER.fullmatch(name) or name in RESERVED:
                message = f"{name!r} is not an isl identifier; rename the loop."
                raise ValueError(message)
        known = {array.name: array for array in self.arrays}
        for statement in statements(self.body):
            for access in statement.accesses:
                array = known.get(access.array)
                if array is None or len(array.shape) != len(access.indices):
                    message = (
                        f"statement {statement.name!r} accesses {access.array!r} with "
                        f"{len(access.indices)} indices; declare an array of that rank."
                    )
                    raise ValueError(message)


RESERVED = frozenset(
    "and or not implies exists mod floor ceil min max true false infty NaN "
    "floord ceild int rat union domain range before lex".split()
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _check_unique(what: str, names: Sequence[str]) -> None:
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        message = f"{what} {repeated[0]!r} is defined twice; names must be unique."
        raise ValueError(message)


def read(array: str, *indices: str | None, loc: object = None) -> Access:
    """Read one cell.

    >>> read("A", "i", "k").indices
    ('i', 'k')
    """
    return Access(array, AccessKind.READ, indices, loc=loc)


def write(array: str, *indices: str | None, loc: object = None) -> Access:
    """Write one cell.

    >>> write("A", "i").writes
    True
    """
    return Access(array, AccessKind.WRITE, indices, loc=loc)


def nest(chain: Sequence[Loop], body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Nest the loops of ``chain``, outermost first, around ``body``.

    >>> nest((Loop("i", "0", "N"), Loop("j", "0", "i")), ())[0].body[0].name
    'j'
    """
    for loop in reversed(chain):
        body = (replace(loop, body=body),)
    return body


def walk(body: tuple[Node, ...]) -> Iterator[Node]:
    """Every node in pre-order."""
    for node in body:
        yield node
        match node:
            case Loop():
                yield from walk(node.body)
            case If():
                yield from walk(node.body)
                yield from walk(node.orelse)
            case _:
                pass


def loops(body: tuple[Node, ...]) -> Iterator[Loop]:
    """Every loop in pre-order."""
    return (node for node in walk(body) if isinstance(node, Loop))


def statements(body: tuple[Node, ...]) -> Iterator[Statement]:
    """Every statement in textual order."""
    return (node for node in walk(body) if isinstance(node, Statement))
