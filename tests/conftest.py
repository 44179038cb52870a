"""Markers that depend on the machine: a GPU, the CUDA compiler without one, documents.

Of many cases alike, ``sampled`` leaves a few to the quick run.  ``cases`` takes what
``parametrize`` does, but runs the cases in a loop: one item of them, not hundreds;
``--case TEXT`` runs only those whose names contain it.

Random programs are the same in every run, so that only a change makes a test fail;
``--fuzz`` makes others, and runs all slow cases, also where ``drawn`` leaves a few.
``--update-golden`` rewrites the files that hold what is generated; ``--processor=NAME``
plans for a processor of `gpucodegen.runtime.processor`, and compiles for it if
this machine runs its code; tests about GPUs alone are left out.
"""

from __future__ import annotations

import importlib.util
import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings

T = TypeVar("T")
Case = tuple[str, dict[str, Any]]
"""The name that a failure shows, and the arguments."""


@cache
def has_gpu() -> bool:
    if importlib.util.find_spec("cupy") is None:
        return False
    import cupy  # pyright: ignore[reportMissingImports]

    try:
        return cupy.cuda.runtime.getDeviceCount() > 0
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


@cache
def has_ptxas() -> bool:
    names = ("numba_cuda", "nvidia.cu13")
    try:
        return all(importlib.util.find_spec(name) for name in names)
    except ModuleNotFoundError:
        return False


@cache
def has_disassembler() -> bool:
    from gpucodegen.runtime.cuda import compilation

    return compilation.has_assembler() and bool(compilation.tool("nvdisasm"))


def has_documents() -> bool:
    return Path(os.environ.get("GPUCODEGEN_DOCUMENTS") or "nowhere").is_dir()


NEEDS = {
    "gpu": (has_gpu, "no CUDA device"),
    "ptxas": (has_ptxas, "numba-cuda of the extra peers is not installed"),
    "sass": (has_disassembler, "nvdisasm of the extra report is not installed"),
    "documents": (has_documents, "GPUCODEGEN_DOCUMENTS names no folder"),
}


ABOUT_DEVICES = {"gpu", "cuda", "ptx", "device"}
"""Words in the names of files whose tests are about devices."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite files of generated text"
    )
    parser.addoption(
        "--fuzz", action="store_true", help="make other random programs in each run"
    )
    parser.addoption(
        "--case", metavar="TEXT", help="run only cases whose names contain this"
    )
    parser.addoption(
        "--processor", metavar="NAME", help="plan and compile for it: sse2, avx2-512k"
    )


def pytest_configure(config: pytest.Config) -> None:
    """No example has a deadline: how long one takes says nothing about the program.

    Numba reads the environment when it is imported, and so do other processes.
    """
    same = not config.getoption("--fuzz")
    settings.register_profile("patient", deadline=None, derandomize=same)
    settings.load_profile("patient")
    name = config.getoption("--processor")
    if name is None:
        return
    from gpucodegen.runtime.processor import PROCESSORS, runs_here

    if name not in PROCESSORS:
        raise pytest.UsageError(f"{name!r} is none of {', '.join(PROCESSORS)}")
    if runs_here(PROCESSORS[name]):
        os.environ |= PROCESSORS[name].variables


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one item, or ``parts`` of them, of all cases of a test marked ``cases``.

    If the test is ``sampled(n)``, one of each n cases is in a quick item, the others in
    as many slow ones.  A property that is ``sampled(n)`` becomes a quick item with an
    nth of the examples and a slow one with all.
    """
    marks = [*metafunc.definition.iter_markers("cases")]
    sampled = metafunc.definition.get_closest_marker("sampled")
    names = [name for mark in marks for name in case_names(mark)]
    if sampled and is_property(metafunc.function):
        names = ["share"]
        metafunc.fixturenames += names
    elif not marks:
        return
    nth = sampled.args[0] if sampled else 1
    parts = max((mark.kwargs.get("parts", 1) for mark in marks), default=1)
    shares = [
        pytest.param(
            *[Share(nth, is_quick, number, parts)] * len(names),
            marks=[] if is_quick else pytest.mark.slow,
            id=("quick" if nth > 1 else "all") if is_quick else "slow",
        )
        for is_quick in (True, False)[: 1 + (nth > 1)]
        for number in range(parts)
    ]
    metafunc.parametrize(names, shares)


def is_property(function: Any) -> bool:
    """Whether Hypothesis makes the arguments."""
    return getattr(function, "is_hypothesis_test", False)


@dataclass(frozen=True, slots=True)
class Share:
    """Which cases of a test one of its items runs."""

    nth: int
    is_quick: bool
    number: int
    parts: int

    def of(self, cases: list[T]) -> list[T]:
        mine = [
            c for i, c in enumerate(cases) if is_chosen(i, self.nth) == self.is_quick
        ]
        return mine[self.number :: self.parts]


def is_chosen(number: int, nth: int) -> bool:
    """Whether a case is the quick one of its ``nth`` neighbours: the next in each turn.

    So quick cases differ in all parameters, also in one of ``nth`` values.
    """
    turn, place = divmod(number, nth)
    return place == turn % nth


def case_names(mark: Any) -> list[str]:
    names: Any = mark.args[0]
    return [n.strip() for n in names.split(",")] if isinstance(names, str) else [*names]


def cases_of(mark: Any) -> list[Case]:
    """The cases of a mark; a function makes its cases here."""
    names, ids = case_names(mark), mark.kwargs.get("ids")
    made: Iterable[Any] = mark.args[1]() if callable(mark.args[1]) else mark.args[1]
    found: list[Case] = []
    for number, case in enumerate(made):
        name, values = None, case
        if isinstance(case, type(pytest.param())):
            assert not case.marks, "marks are for whole items"
            name, values = case.id, case.values
        elif len(names) == 1:
            values = (case,)
        arguments: dict[str, Any] = dict(zip(names, values, strict=True))
        if callable(ids):
            name = "-".join(str(ids(value)) for value in arguments.values())
        elif ids:
            name = [*ids][number]
        texts = (str(getattr(v, "__name__", v)) for v in arguments.values())
        found.append((str(name or ", ".join(texts)), arguments))
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> bool | None:
    """Run a test marked ``cases`` once for each, and report all cases that fail.

    The cases of an item share its fixtures.  A case that is skipped skips the item when
    the others have run, so that a later run repeats it.
    """
    marks: list[pytest.Mark] = [*pyfuncitem.iter_markers("cases")]
    if not marks:
        if is_property(pyfuncitem.obj):
            is_sampled = pyfuncitem.get_closest_marker("sampled") is not None
            share = pyfuncitem.callspec.params["share"] if is_sampled else None
            is_slow = pyfuncitem.get_closest_marker("slow") is not None
            takes_all = not is_slow or pyfuncitem.config.getoption("--fuzz")
            take_a_share_of_examples(pyfuncitem.obj, share, takes_all=takes_all)
        return None
    every: list[tuple[Case, ...]] = list(product(*map(cases_of, reversed(marks))))
    share: Share = pyfuncitem.funcargs[case_names(marks[0])[0]]
    wanted = pyfuncitem.config.getoption("--case") or ""
    mine = [case for case in share.of(every) if wanted in shown(case)]
    if pyfuncitem.config.getoption("--processor") is not None:
        mine = [case for case in mine if all(a.get("target") != "sim" for _, a in case)]
    if wanted and not mine:
        pytest.skip(f"has no case {wanted!r}")
    fixtures = {
        name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames
    }
    failed: list[tuple[str, BaseException]] = []
    skipped: BaseException | None = None
    for case in mine:
        arguments = {name: value for _, one in case for name, value in one.items()}
        try:
            pyfuncitem.obj(**fixtures | arguments)
        except pytest.skip.Exception as reason:
            skipped = reason
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001
            failed.append((shown(case), error))
            error.add_note(f"Case: {failed[-1][0]}")
    if failed:
        told = "".join(f"\n  {' '.join(name.split())[:100]}" for name, _ in failed)
        raise BaseExceptionGroup(
            f"{len(failed)} of {len(mine)} cases failed:{told}\n",
            [e for _, e in failed],
        )
    if skipped is not None:
        raise skipped
    return True


def shown(case: tuple[Case, ...]) -> str:
    """The name of a case: those of its parts, one for each mark."""
    return "; ".join(name for name, _ in case)


FEW_EXAMPLES = 12
"""Examples of a property that the slow run takes in any case."""


def take_a_share_of_examples(
    test: Any, share: Share | None, *, takes_all: bool
) -> None:
    """Set the number of examples of a property: an nth where it is quick.

    Else ``takes_all``, or a quarter of many.
    """
    if not hasattr(test, "all_examples"):
        test.all_examples = test._hypothesis_internal_use_settings
    count = test.all_examples.max_examples
    if share is not None and share.is_quick:
        count = max(1, count // share.nth)
    elif not takes_all:
        count = min(count, max(count // 4, FEW_EXAMPLES))
    test._hypothesis_internal_use_settings = settings(
        test.all_examples, max_examples=count
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    thin_out(items)
    if not config.getoption("--fuzz"):
        config.hook.pytest_deselected(items=draw(items))
    if config.getoption("--processor") is not None:
        config.hook.pytest_deselected(items=[i for i in items if on_a_device(i)])
        items[:] = [item for item in items if not on_a_device(item)]
    for item in items:
        for name, (found, reason) in NEEDS.items():
            if item.get_closest_marker(name) and not found():
                item.add_marker(pytest.mark.skip(reason=reason))


def thin_out(items: list[pytest.Item]) -> None:
    """Of a test marked `sampled(n)` one of each n cases is quick, the others are slow.

    ``sampled(n, long=("lu",))``: so are cases with such words in their names.
    """
    places: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is None or is_shared(item):
            continue
        place = item.nodeid.partition("[")[0]
        is_long = any(word in item.name for word in mark.kwargs.get("long", ()))
        if is_long or not is_chosen(places[place], mark.args[0]):
            item.add_marker(pytest.mark.slow)
        places[place] += 1


def draw(items: list[pytest.Item]) -> list[pytest.Item]:
    """Of the slow items of a test marked `drawn(n)` leave n; returns the others.

    The draw is the same in every run.  With ``--fuzz`` nothing is drawn: all are run.
    ``drawn(n, alike=True)``: tests of the same cases draw the same ones, so that they
    share what is computed for a case.
    """
    slow: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("drawn") and item.get_closest_marker("slow"):
            slow.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: list[pytest.Item] = []
    for place, some in slow.items():
        mark = next(some[0].iter_markers("drawn"))
        (count,) = mark.args
        if mark.kwargs.get("alike"):
            some.sort(key=lambda i: random.Random(i.nodeid.partition("[")[2]).random())
        else:
            random.Random(place).shuffle(some)
        left_out += some[count:]
    gone = set(map(id, left_out))
    items[:] = [item for item in items if id(item) not in gone]
    return left_out


def is_shared(item: pytest.Item) -> bool:
    """Whether `pytest_generate_tests` has made quick and slow items of the test."""
    has_cases = item.get_closest_marker("cases") is not None
    return has_cases or is_property(getattr(item, "obj", None))


def on_a_device(item: pytest.Item) -> bool:
    """Whether a test is about a GPU alone, whose kernels no processor changes.

    Its ``target`` tells, or its file's name.
    """
    call: Any = getattr(item, "callspec", None)
    if call is not None and "target" in call.params:
        return call.params["target"] == "sim"
    return bool(ABOUT_DEVICES & {*item.path.stem.split("_")})


@pytest.fixture(autouse=True)
def processor(request: pytest.FixtureRequest) -> Iterator[None]:
    """The one that ``--processor`` names, where the environment does not state it."""
    name = request.config.getoption("--processor")
    if name is None:
        yield
        return
    from gpucodegen.runtime.processor import PROCESSORS, runs_here, stated

    here = runs_here(PROCESSORS[name])
    with nullcontext() if here else stated(PROCESSORS[name]):
        yield


@pytest.fixture(autouse=True)
def private_cache(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests neither read nor change the user's cache; they share one of their own."""
    folder = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(folder))


@pytest.fixture(autouse=True)
def emulated_device(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels for CUDA run on the emulated device, but in tests of a GPU."""
    if request.node.get_closest_marker("gpu") is None:
        monkeypatch.setenv("GPUCODEGEN_DEVICE", "emulated")


@pytest.fixture(
    params=[
        pytest.param("cupy", marks=pytest.mark.gpu),
        "gpucodegen.runtime.devices.emulated_cupy",
    ],
    ids=["gpu", "emulated"],
)
def xp(request: pytest.FixtureRequest) -> Any:
    """The array library of a device: CuPy, or that of the emulated device."""
    return importlib.import_module(request.param)
