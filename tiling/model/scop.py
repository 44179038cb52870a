"""The data model of static control parts: loops, conditions, statements, accesses.

The lifting of a program builds a `Scop` from these dataclasses; every other module of
this package reads it.  No isl object is needed to build one.  The grammar, where a body
is a tuple of nodes in textual order, is::

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
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from gpucodegen.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class AccessKind(Enum):
    """Whether an access reads or writes its cell."""

    READ = "read"
    WRITE = "write"


class Role(Enum):
    """The GPU dimension that a loop of a mapped kernel stands for, or sequential."""

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
    ``assumed``: it stands for an operation whose body is unknown. ``atomic``: the kind
    of an atomic update; updates of one kind never race. ``listed=False``: it has no row
    in the output of `depcheck`. ``trusted``: an unknown index is assumed to be inside
    its dimension.
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
        return self.kind is AccessKind.WRITE

    @property
    def ranges(self) -> tuple[str, ...]:
        """The constraints on the local iterators."""
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
    ``reassociable``: the program allows another order of the terms.
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
    """The operation of a statement on an mbarrier, the cell of its first access."""

    INIT = "init"
    ARRIVE = "arrive"
    WAIT = "wait"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class Phase:
    """The role of a statement in the phases of an mbarrier.

    ``number``: arrivals that complete a phase (INIT), bytes that a copy brings (COPY)
    or that an arrival expects (ARRIVE); None if unknown.  ``odd``: the condition under
    which the phase of a WAIT has parity 1; None if unknown.
    """

    turn: Turn
    number: int | None = None
    odd: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """One or more operations executed together, with all their memory accesses.

    A statement with a ``tag`` starts an asynchronous copy: its accesses may happen at
    any moment until the `Wait` on the same tag.  A ``grouped`` statement starts a copy
    of its own thread, which may last until a `GroupWait` completes it.  A ``joined``
    statement belongs to the commit group of the next start in the same loops. ``bulk``:
    the copy is made by the copy engine (``cp.async.bulk``), with commit groups of its
    own; the engine sees writes of threads only behind a `ProxyFence`. ``phase``: the
    statement belongs to an mbarrier; a copy lasts until its phase completes.
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
    """A barrier of the threads of a block, of a grid, or of lanes of each warp.

    ``lanes`` has a bit for each lane of a warp that must arrive; None stands for all
    threads of the block, or of all blocks if ``of_grid``. ``alone``: no other lane may
    arrive.  ``orders`` names the memories whose earlier accesses complete: ``shared``
    by a block, ``global``.  ``what`` is the operation's name in the program.
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

    It leaves the ``pending`` newest groups in flight.  ``payload`` belongs to the
    caller; nothing here reads it.
    """

    tag: Tag
    loc: object = None
    pending: int = 0
    payload: object = None


@dataclass(frozen=True, slots=True)
class Commit:
    """A thread commits the copies that it has started since its last commit to a group.

    ``bulk``: the copies of the copy engine.
    """

    loc: object = None
    bulk: bool = False


@dataclass(frozen=True, slots=True)
class GroupWait:
    """A thread waits for all but the ``pending`` newest of its commit groups.

    ``bulk``: the groups of the copy engine; ``reads``: it only waits until the engine
    has read the source.
    """

    pending: int = 0
    loc: object = None
    bulk: bool = False
    reads: bool = False


@dataclass(frozen=True, slots=True)
class ProxyFence:
    """Makes earlier writes of a thread visible to later copies of the copy engine."""

    loc: object = None


@dataclass(frozen=True, slots=True)
class Loop:
    """``for name = max(lower) to min(upper) step step``, upper bounds exclusive.

    A single bound may be given as plain text. ``parallel`` records that the program
    declares the loop parallel. ``payload`` belongs to the caller; nothing here reads
    it.
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
        """The lower bounds; the loop starts at the largest."""
        return (self.lower,) if isinstance(self.lower, str) else self.lower

    @property
    def uppers(self) -> tuple[str, ...]:
        """The exclusive upper bounds; the smallest ends the loop."""
        return (self.upper,) if isinstance(self.upper, str) else self.upper


@dataclass(frozen=True, slots=True)
class If:
    """``body`` where all constraints hold, ``orelse`` elsewhere; None is unknown.

    ``uniform``: an unknown condition with one value for all threads of a block.
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

    ``fresh``: allocated here, so its cells are undefined until they are written.
    ``forgotten``: its cells are not read after the program. ``ordered``: its one cell
    stands for side effects, so all accesses keep their order. ``scoped_extents``: by
    dimension, the extents that depend on the loops of ``scope``, as isl text over their
    variables; ``shape`` has a parameter of any value there.
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
    """A program part: symbolic parameters, constraints on them, arrays, body.

    Parameters are integers; ``context`` lists constraints on them (``"N >= 1"``).
    ``words``: descriptions of parameters that have no name in the program.
    """

    parameters: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    arrays: tuple[Array, ...] = ()
    body: tuple[Node, ...] = ()
    loc: object = None
    words: tuple[tuple[str, str], ...] = ()

    def told(self, text: str) -> str:
        """Replaces parameters in a formula by the program's words for them.

        >>> Scop(("A_size0",), words=(("A_size0", "dim 0 of A"),)).told("A_size0 > 4")
        'dim 0 of A > 4'
        """
        words = dict(self.words)
        return _IDENTIFIER.sub(lambda found: words.get(found[0], found[0]), text)

    def __post_init__(self) -> None:
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
