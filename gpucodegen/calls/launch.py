"""Fast path of calls that are a single launch, and the form key of arguments.

The launch that an artifact states becomes a function of machine words (addresses and
numbers), or of arrays that machine code checks: it allocates the results, launches the
kernel, raises reported errors, and returns the results. The form of a call holds
everything but addresses and numeric values; calls of one form share a plan.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, cast

import numpy as np

from gpucodegen.calls.foreign_arrays import OWN, library_of
from gpucodegen.calls.overlaps import Touching
from gpucodegen.runtime.host.arguments import alignment_of
from gpucodegen.runtime.host.engines import Maker
from gpucodegen.runtime.host.spec import StatedLaunch
from gpucodegen.runtime.storage.machine_code import C_LIBRARY
from gpucodegen.tiling.machine.gpu.devices import WIDEST

Form = Hashable


def form_of(arguments: Sequence[object]) -> Form:
    """The target required by the environment, and the form of each argument.

    The form is the type and, of an array, element type, extents, strides and access, or
    the device that holds it and the alignment of its address.

    >>> a, b = np.zeros((2, 3)), np.ones((2, 3))
    >>> form_of((a, 1)) == form_of((b, 2)), form_of((a, 1)) == form_of((a.T, 1))
    (True, False)
    """
    form: list[Hashable] = [required_target()]
    for a in arguments:
        if type(a) is np.ndarray:
            form.append((a.dtype, a.shape, a.strides, a.flags.writeable))
        else:
            form.append(type(a) if type(a) in NUMBERS else _other(type(a), a))
    return tuple(form)


NUMBERS = frozenset({bool, int, float, complex, *np.sctypeDict.values()})
"""Types of Python and NumPy whose values are numbers."""


def _other(kind: type[object], value: Any) -> Hashable:
    """The form of a device array; for other values only the type."""
    if library_of(kind) is not OWN:
        return kind
    try:
        place = getattr(value.data, "device_id", None)
        room = place is not None and alignment_of(value.data.ptr, WIDEST)
        form: Hashable = kind, value.shape, value.strides, value.dtype, place, room
        hash(form)
    except Exception:  # noqa: BLE001 - whatever other libraries raise
        return kind
    return form


TARGET_VARIABLE = ctypes.create_string_buffer(b"GPUCODEGEN_TARGET")
_getenv = ctypes.PyDLL(C_LIBRARY).getenv
_getenv.argtypes, _getenv.restype = (ctypes.c_char_p,), ctypes.c_char_p


def required_target() -> bytes | None:
    """The target that the environment requires in place of the program's.

    It is read by the C library, which `os.environ` keeps up to date: that takes 0.16
    us, `os.environ.get` 0.8 us, a fifth of a repeated call.

    >>> import os
    >>> required_target() == os.environb.get(b"GPUCODEGEN_TARGET")
    True
    """
    return _getenv(TARGET_VARIABLE)


Entry = Callable[..., Any]
"""A call that returns `NotImplemented` if its arguments need further checks."""
SWITCH = "GPUCODEGEN_DIRECT"
"""Environment variable; 0 disables the machine-code checks of calls."""
ADDRESS, ARRAY = 0, 1
"""Parts of a factory's result: the array's address, and the array."""


def no_fast_path(*arguments: object) -> Any:
    """An `Entry` without a fast path: it rejects all arguments."""
    del arguments
    return NotImplemented


def on_words(
    launch: StatedLaunch, runtime: Any, values: Sequence[Any]
) -> Callable[..., Any]:
    """A call as a function of words: the addresses of arrays, and numbers.

    ``values``: the buffers and numbers of one such call.

    >>> from gpucodegen.runtime.cpu.engine import NumpyEngine, compiled
    >>> from gpucodegen.runtime.host.host import HostApi
    >>> made = StatedLaunch("k", (1, 0), (((2,), "f32"), ((3,), "f64")))
    >>> runtime = HostApi(NumpyEngine(compiled))
    >>> runtime.kernel = lambda *_: lambda *words: print(words[1])
    >>> [array.shape for array in on_words(made, runtime, [7])(7)]
    7
    [(2,), (3,)]
    """
    kernel = runtime.kernel(launch.kernel, launch.grid, launch.block, values)
    makers, maps = _makers(launch, runtime), _maps(launch, runtime, values)
    count = len(values) + len(makers) + len(maps)
    core = _in_order(kernel, launch.order, count)
    if maps:
        core = _with_maps(core, maps)
    return _with_results(launch, runtime, core, makers, ADDRESS)


Maps = list[tuple[int, Callable[[int], Any]]]
"""Per tensor map, its argument and the conversion of an address to the array."""


def _maps(launch: StatedLaunch, runtime: Any, values: Sequence[Any]) -> Maps:
    return [(n, runtime.map_of(values[n], *form)) for n, *form in launch.maps]


def _with_maps(core: Entry, maps: Maps) -> Entry:
    """A function that computes the trailing words of tensor maps itself."""

    def run(*words: Any) -> Any:
        made = [array(words[n]) for n, array in maps]
        return core(*words, *map(_place, made))

    return run


def _place(array: Any) -> int:
    """Device address of an array."""
    return array.data.ptr


def prepared(
    launch: StatedLaunch, runtime: Any, words: Sequence[Any], values: Sequence[Any]
) -> Callable[..., None] | None:
    """A call with these words, packed now; it takes a stream by keyword.

    ``values``: the buffers and numbers that the words stand for. None if a call
    allocates arrays.
    """
    if launch.results or launch.words:
        return None
    maps = [made(words[n]) for n, made in _maps(launch, runtime, values)]
    every = [*words, *map(_place, maps)]
    given = [every[n] for n in launch.order]
    start = runtime.prepared(launch.kernel, launch.grid, launch.block, given, values)
    if not maps:
        return start
    kept = partial(start)
    vars(kept)["maps"] = maps  # the maps live as long as the call
    return kept


def _in_order(kernel: Entry, order: tuple[int, ...], count: int) -> Entry:
    """The kernel as a function of ``count`` words, which it takes in ``order``.

    >>> _in_order(print, (1, 0), 2)("a", "b"), _in_order(print, (0,), 2)("a", "b")
    b a
    a
    (None, None)
    """
    if order == tuple(range(count)):
        return kernel
    if len(order) < 2:  # of one item, an item getter makes no tuple
        return lambda *words: kernel(*[words[n] for n in order])
    taken = cast("Callable[[Sequence[Any]], Sequence[Any]]", itemgetter(*order))
    return lambda *words: kernel(*taken(words))


def on_arrays(
    launch: StatedLaunch,
    runtime: Any,
    arrays: Sequence[np.ndarray[Any, Any]],
    apart: Sequence[Touching],
) -> Entry:
    """A call as a function of arrays of this form; `no_fast_path` without a fast path.

    ``apart``: as for `gpucodegen.runtime.cpu.direct_call.direct_call`.
    """
    from gpucodegen.runtime.cpu.direct_call import direct_call

    if required_target() or os.environ.get(SWITCH) == "0":
        return no_fast_path
    makers = _makers(launch, runtime)
    every = [*arrays, *(make()[ARRAY] for make in makers)]
    code = runtime.address(launch.kernel)
    core = direct_call(code, every, launch.order, apart, TARGET_VARIABLE)
    if core is None:
        return no_fast_path
    return _with_results(launch, runtime, core, makers, ARRAY)


def _makers(launch: StatedLaunch, runtime: Any) -> list[Maker]:
    """Factories of the results, and of the report words."""
    words = [((launch.words,), "i64")] if launch.words else []
    return [runtime.maker(*form) for form in (*launch.results, *words)]


def _with_results(
    launch: StatedLaunch, runtime: Any, core: Entry, makers: Sequence[Maker], part: int
) -> Callable[..., Any]:
    """A function of arguments, results and words as one of arguments alone.

    ``part`` selects from a factory's return value what ``core`` takes.
    """
    results = makers[: len(launch.results)]
    if launch.words:
        core = _watched(core, makers[-1], part, runtime.look, launch.told)
    if not results:
        return core
    if launch.numbers == (0,) and launch.single:
        return _making_a_number(core, results[0], part)
    if launch.single:
        return _making_one(core, results[0], part)
    whole = _making(core, results, part)
    return _with_numbers(whole, launch.numbers) if launch.numbers else whole


def _watched(
    core: Entry, make: Maker, part: int, look: Callable[[Any, Any], None], told: Any
) -> Entry:
    """A call with report words after its arguments, which are checked at the end."""

    def run(*arguments: Any) -> Any:
        made = make()
        made[ARRAY].fill(0)
        done = core(*arguments, made[part])
        look(made[ARRAY], told)
        return done

    return run


def _making_one(core: Entry, make: Maker, part: int) -> Entry:
    """A call with a new array after its arguments, which it returns."""

    def run(*arguments: Any) -> Any:
        made = make()
        done = core(*arguments, made[part])
        return made[1] if done is None else done

    return run


def _making_a_number(core: Entry, make: Maker, part: int) -> Entry:
    """A call with a new array after its arguments; it returns the number in that."""

    def run(*arguments: Any) -> Any:
        made = make()
        done = core(*arguments, made[part])
        return made[ARRAY].item() if done is None else done

    return run


def _with_numbers(core: Entry, numbers: Sequence[int]) -> Entry:
    """A call some of whose results are the numbers in the arrays that it returns."""
    taken = frozenset(numbers)

    def run(*arguments: Any) -> Any:
        done = core(*arguments)
        if done is NotImplemented:
            return done
        return tuple([a.item() if n in taken else a for n, a in enumerate(done)])

    return run


def _making(core: Entry, makers: Sequence[Maker], part: int) -> Entry:
    """A call with several new arrays after its arguments, which it returns."""

    def run(*arguments: Any) -> Any:
        made = [make() for make in makers]
        done = core(*arguments, *[each[part] for each in made])
        return tuple([each[ARRAY] for each in made]) if done is None else done

    return run
