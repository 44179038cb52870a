"""Compile options: one frozen record, validated once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from gpucodegen import errors
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.arguments import plain
from gpucodegen.tiling.machine.gpu.devices import MULTIPROCESSORS

if TYPE_CHECKING:
    from gpucodegen.schedule.steps import Schedule

Precision = Literal["ieee", "tf32", "3xtf32"]
PRECISIONS: tuple[str, ...] = get_args(Precision)
_PRECISIONS = ", ".join(map(repr, PRECISIONS[:-1])) + f" or {PRECISIONS[-1]!r}"


@dataclass(frozen=True, slots=True)
class Options:
    """What ``gpucodegen.compile`` takes besides the source.

    ``target``: "cpu", "cuda", "sim" (CUDA on the emulated device), "interp" (the
    interpreter runs the unmodified module), a target registered with
    `gpucodegen.compiling.targets`, or "auto".
    ``threads``: CPU threads of each call; 1 neither compiles for nor starts a thread
    pool, and more than exist use all of them. None: ``NUMBA_NUM_THREADS``,
    ``OMP_NUM_THREADS``, or every processor.
    ``specialize``: compile for the shapes and strides of each call.
    ``tile_sizes``: tile the outermost band of every nest by these sizes; a nest of
    fewer loops takes the first ones. An illegal tiling is an error.
    ``time_tiles``: temporal tiling of time loops around stencils where that pays, on
    GPUs by launches of several steps; the order of each element's operations stays.
    ``register_tile``: rows, columns and K block of the register tile of contractions on
    the CPU; the machine model chooses zeros.
    ``plan``: plan fields of GPU kernels by name, as in ``{"stream.width": 4}``; the
    model of the device chooses the others. On the CPU loop orders, fusions of nests and
    tiles of time loops, as in ``{"order0": (1, 0), "fusion1": False}`` or
    ``{"time0.steps": 8}``. A name that no target has is refused.
    ``schedule``: the steps of functions by name, as `gpucodegen.schedule.Schedule` or
    as text; a schedule alone is that of every function. Without one, the compiler
    chooses the steps, and ``program.schedule(name)`` tells them.
    ``arch``: GPU architecture to compile for, as "sm_90a". "" is that of the GPU that a
    call runs on; kernels for the emulated device then use the common feature set.
    ``exact``: keep the order of every floating-point sum and do not contract
    multiply-add. ``reassociate``: sums may be reordered anywhere.
    ``precision``: of f32 matrix products on tensor cores of a GPU. "ieee" computes in
    f32, without tensor cores; "tf32" rounds each operand to 11 bits, "3xtf32" splits it
    into two such numbers and adds three products. Sums stay f32, in any order. It is a
    permission: programs without such kernels compute in f32.
    ``verify``: prove every mapped kernel free of races.
    ``unchecked``: on the CPU, accesses that are not proven to stay in bounds run
    without a check, and may end the process or change any memory.
    ``sanitize``: on the CPU, the interpreter runs calls in place of compiled code, and
    finds accesses out of bounds, reads of memory before it is written or after its
    dealloc, and NaN that is made of numbers. Slow. None: the variable
    ``GPUCODEGEN_SANITIZE`` decides, which is on only for 1.
    ``alias``: overlapping written arguments are "refuse"d, or "trust"ed to be harmless.
    ``tuned``: use the schedules that `gpucodegen.tune` stored.
    ``max_operations``: limit of operations in a function with its callees, since each
    takes about a millisecond to compile.
    ``handlers``: functions that run unregistered operations on the host, by operation
    name: they get arrays, numbers and the attributes by keyword.
    ``externals``: functions for those that the program declares without a body, by
    name; a buffer is passed as a writable array.
    """

    target: str = "auto"
    threads: int | None = None
    specialize: bool = True
    tile_sizes: tuple[int, ...] = ()
    time_tiles: bool = True
    register_tile: tuple[int, ...] = ()
    plan: tuple[tuple[str, int], ...] = ()
    schedule: tuple[tuple[str, Schedule], ...] = ()
    arch: str = ""
    exact: bool = False
    reassociate: bool = False
    precision: Precision = "ieee"
    verify: bool = True
    unchecked: bool = False
    sanitize: bool | None = None
    alias: str = "refuse"
    tuned: bool = True
    max_operations: int = 1 << 15
    handlers: Mapping[str, Callable[..., Any]] = field(
        default_factory=dict[str, "Callable[..., Any]"], hash=False
    )
    externals: Mapping[str, Callable[..., Any]] = field(
        default_factory=dict[str, "Callable[..., Any]"], hash=False
    )

    def schedule_of(self, function: str) -> Schedule | None:
        """The given schedule of a function."""
        given = dict(self.schedule)
        return given.get(function, given.get(""))

    @property
    def outside(self) -> dict[str, Callable[..., Any]]:
        """Operations and functions that external functions run, by name.

        >>> Options(externals={"f": print}).outside
        {'f': <built-in function print>}
        """
        return {**self.handlers, **self.externals}

    @property
    def _sizes(self) -> bool:
        return bool(self.tile_sizes or self.register_tile or self.plan)

    def __post_init__(self) -> None:
        for name, is_valid, hint in self._rules():
            if not is_valid:
                value = getattr(self, name)
                raise errors.InvalidOption(name=name, value=value, hint=hint)

    def _rules(self) -> list[tuple[str, bool, str]]:
        return [
            *(
                (name, type(getattr(self, name)) is bool, "Pass True or False")
                for name in FLAGS
            ),
            *(
                (
                    name,
                    all(n >= 0 for n in getattr(self, name)),
                    "Pass a sequence of integers >= 0",
                )
                for name in SIZES
            ),
            (
                "threads",
                self.threads is None or _is_count(self.threads),
                "Pass an integer >= 1",
            ),
            (
                "sanitize",
                self.sanitize is None or type(self.sanitize) is bool,
                "Pass True or False",
            ),
            (
                "arch",
                self.arch in ("", *MULTIPROCESSORS),
                f"Pass one of {', '.join(MULTIPROCESSORS)}",
            ),
            ("precision", self.precision in PRECISIONS, f"Pass {_PRECISIONS}"),
            ("alias", self.alias in ("refuse", "trust"), "Pass 'refuse' or 'trust'"),
            (
                "handlers",
                _are_handlers(self.handlers),
                "Pass a mapping of names of operations to functions",
            ),
            (
                "externals",
                _are_handlers(self.externals),
                "Pass a mapping of names of functions to functions",
            ),
            (
                "max_operations",
                _is_count(self.max_operations),
                "Pass an integer >= 1",
            ),
            (
                "schedule",
                not (self.schedule and self._sizes),
                "Leave out tile_sizes, register_tile and plan: a schedule states them",
            ),
            (
                "reassociate",
                not (self.exact and self.reassociate),
                "Set only one of exact and reassociate",
            ),
        ]


FLAGS = tuple(f.name for f in fields(Options) if type(f.default) is bool)
SIZES = "tile_sizes", "register_tile"


def flag(name: str, value: object) -> bool:
    """A boolean option.

    Raises InvalidOption for any other value.

    >>> flag("exact", True)
    True
    """
    value = plain(value)
    if type(value) is not bool:
        hint = "Pass True or False"
        raise errors.InvalidOption(name=name, value=value, hint=hint)
    return value


SYNONYMS = {
    **dict.fromkeys(("fastmath", "fast_math", "allow_reassoc"), "reassociate"),
    **dict.fromkeys(("backend", "device", "platform"), "target"),
    **dict.fromkeys(("num_threads", "nthreads", "parallel", "workers"), "threads"),
    **dict.fromkeys(("tile", "tiles", "block_size", "blocks"), "tile_sizes"),
    **dict.fromkeys(("sm", "gpu_arch", "compute_capability", "chip"), "arch"),
    **dict.fromkeys(("bounds_check", "boundscheck"), "unchecked"),
}
"""Options by the words of other compilers."""


def make_options(values: dict[str, object]) -> Options:
    """Options from keyword arguments, with a catalogued error for an unknown one."""
    known = [field.name for field in fields(Options)]
    for name, value in values.items():
        if name not in known:
            every = f"Known options: {', '.join(known)}"
            hint = errors.did_you_mean(name, known, every, synonyms=SYNONYMS)
            raise errors.InvalidOption(name=name, value=value, hint=hint.rstrip("?."))
    values = {name: plain(value) for name, value in values.items()}
    for name in SIZES:
        values[name] = _sizes(name, values.get(name, ()))
    values["plan"] = _plan(values.get("plan", ()))
    values["schedule"] = _schedules(values.get("schedule"))
    return Options(**values)  # type: ignore[arg-type]


def _is_count(value: object) -> bool:
    """Whether it is a positive integer."""
    return type(value) is int and value >= 1


def _are_handlers(value: object) -> bool:
    """Whether it maps names to callables."""
    if not isinstance(value, Mapping):
        return False
    given = cast("Mapping[object, object]", value)
    return all(isinstance(n, str) and callable(f) for n, f in given.items())


def _sizes(name: str, value: object) -> tuple[int, ...]:
    try:
        return tuple(map(operator.index, value))  # type: ignore[arg-type]
    except TypeError as bad:
        hint = "Pass a sequence of integers >= 0"
        raise errors.InvalidOption(name=name, value=value, hint=hint) from bad


def _plan(value: object) -> tuple[tuple[str, int], ...]:
    """A mapping of names to values as numbers, in the order of the names.

    >>> _plan({"order0": (1, 0), "fusion1": False, "time0.width": (256,)})
    (('fusion1', 1), ('order0', 21), ('time0.width0', 256))
    """
    if not value:
        return ()
    from gpucodegen.schedule.plan_values import numbers_of

    try:
        given = dict(cast("Mapping[str, Any]", value)).items()
        pairs = [pair for name, one in given for pair in numbers_of(name, one).items()]
        plan = tuple(sorted((name, operator.index(n)) for name, n in pairs))
    except (TypeError, ValueError):
        plan = ()
    if not all(type(n) is str and v >= 0 for n, v in plan) or (value and not plan):
        hint = "Pass a mapping of names to values, as {'stream.width': 4}"
        raise errors.InvalidOption(name="plan", value=value, hint=hint)
    return plan


def _schedules(value: object) -> tuple[tuple[str, Schedule], ...]:
    """Schedules by the names of functions; "" is every function.

    >>> from gpucodegen import schedule as s
    >>> [(name, str(steps)) for name, steps in _schedules({"f": "schedule()"})]
    [('f', 'schedule()')]
    >>> _schedules(s.schedule(s.vectorize()))[0][0]
    ''
    """
    if value is None or value == ():
        return ()
    from gpucodegen.schedule.steps import Schedule
    from gpucodegen.schedule.text import parse

    is_by_name = isinstance(value, Mapping)
    given = cast("Mapping[object, object]", value) if is_by_name else {"": value}
    found: list[tuple[str, Schedule]] = []
    for name, steps in given.items():
        one = parse(steps) if isinstance(steps, str) else steps
        if not isinstance(name, str) or not isinstance(one, Schedule):
            hint = "Pass a schedule, or schedules by the names of functions"
            raise errors.InvalidOption(name="schedule", value=value, hint=hint)
        found.append((name, one))
    return tuple(sorted(found, key=lambda pair: pair[0]))
