"""Both front ends give the same instructions.

For CUDA kernels, compared are the multisets of the PTX instructions with their
constants, without the numbers of registers.  Branches, and the predicates that they
test, are left out: LLVM inverts and duplicates tests where the basic blocks stand in
another order.  LLVM does not unroll loops here: it decides by estimated sizes, and a
loop whose estimate is at the limit is unrolled after one front end and not after the
other.  Variables become values before both texts are read, since some passes depend
on the order in which a value's uses were made.  Of machine code for CPUs, the
arithmetic on floats is compared, without the unroll factors that one front end gives.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import pytest

import gpucodegen as gcg
from examples.catalogue import PROGRAMS
from gpucodegen.intrinsics.cpu.front_end import DirectCompiler
from gpucodegen.intrinsics.cuda import assembly
from gpucodegen.intrinsics.framework import unrolling
from gpucodegen.runtime.cpu.kernels import assembly as cpu_assembly
from gpucodegen.runtime.cuda.compilation import architecture_of, llvm_text
from gpucodegen.runtime.host.generated_code import FRONT_END_VARIABLE, FRONT_ENDS
from gpucodegen.runtime.host.spec import KernelSpec
from tests.mapping.kernel_kinds import KINDS

pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
POLYBENCH = Path(__file__).parents[2] / "examples" / "polybench"
SOURCES = {
    **{f"kind {name}": kind for name, kind in KINDS.items()},
    **{f"example {name}": program for name, program in PROGRAMS.items()},
    **{f"polybench {path.stem}": path for path in sorted(POLYBENCH.glob("*.mlir"))},
}


def kernels(name: str, target: str = "cuda") -> Iterator[KernelSpec]:
    """The kernels of a program."""
    source: Any = SOURCES[name]
    options = getattr(source, "options", {})
    text = source if isinstance(source, Path) else source.text
    program = gcg.compile(text, target=target, verify=False, **options)
    entries = program.names if isinstance(source, Path) else (source.entry,)
    for entry in entries:
        yield from program[entry].executable().kernels


_FLOATS = re.compile(
    r"\s(v?(?:add|sub|mul|div|fn?m(?:add|sub)\d+|max|min|sqrt)[ps][sd])\s"
)
_CONTROL = re.compile(r"setp|bra|ret\b|(and|or|xor|not)\.pred")
_PREDICATED = re.compile(r"@!?%p\d+\s+")


def instructions(ptx: str) -> Counter[str]:
    """How often a PTX text has each instruction, by opcode and constants.

    >>> body = ["{", "add.s32 %r3, %r1, 5;", "$L1:", "@%p2 bra $L1;", "}"]
    >>> instructions("\\n".join([".entry k()", *body]))
    Counter({'add.s32 %r, %r, 5;': 1})
    """
    found: Counter[str] = Counter()
    for line in ptx[ptx.index("\n{") :].splitlines():
        text = _PREDICATED.sub("", line.partition("//")[0].strip())
        if text and text[0].isalpha() and not _CONTROL.match(text):
            plain = re.sub(r"(%[a-z]+)\d+", r"\1", text)
            found[" ".join(plain.split())] += 1
    return found


def promoted(text: str) -> str:
    """An LLVM text with its variables as values."""
    module = llvm.parse_assembly(text)
    machine = assembly._machine("sm_80")
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.run(module, assembly._passes(machine))
    return str(module)


@pytest.fixture
def numba_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that Numba's own front end compiles, in order."""
    ran: list[str] = []
    plain = assembly.compile_extra

    def compile_extra(
        typing: Any, code: Any, function: Any, *rest: Any, **by: Any
    ) -> Any:
        ran.append(function.__name__)
        return plain(typing, code, function, *rest, **by)

    monkeypatch.setattr(assembly, "compile_extra", compile_extra)
    return ran


@pytest.fixture
def loops_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The PTX keeps the loops of the LLVM module."""

    def passes(machine: Any) -> Any:
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_unrolling = False
        return llvm.create_pass_builder(machine, options)

    monkeypatch.setattr(assembly, "_passes", passes)


@pytest.mark.usefixtures("loops_as_written")
@pytest.mark.drawn(1)
@pytest.mark.sampled(80)
@pytest.mark.cases("name", [*SOURCES], parts=4)
def test_both_front_ends_give_the_same_instructions(
    name: str, numba_runs: list[str]
) -> None:
    direct, numba = FRONT_ENDS
    for spec in kernels(name):
        text = llvm_text(spec, direct)
        assert numba_runs == []
        architecture = assembly.known(architecture_of(spec))
        other = llvm_text(spec, numba)
        found, wanted = (
            instructions(assembly.ptx(promoted(each), architecture))
            for each in (text, other)
        )
        assert numba_runs.pop() == spec.name
        assert found == wanted
        assert found


@pytest.mark.slow
@pytest.mark.drawn(1)
@pytest.mark.cases(
    "name", [name for name in SOURCES if not name.startswith("kind")], parts=4
)
def test_both_front_ends_for_cpus_give_the_same_arithmetic(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = DirectCompiler.define_pipelines

    def alone(compiler: DirectCompiler) -> list[Any]:
        return made(compiler)[:1]  # what it does not cover is an error

    monkeypatch.setattr(DirectCompiler, "define_pipelines", alone)
    monkeypatch.setattr(unrolling, "mark_loop", lambda *_: None)
    for spec in kernels(name, "cpu"):
        found: list[Counter[str]] = []
        for front_end in FRONT_ENDS:
            monkeypatch.setenv(FRONT_END_VARIABLE, front_end)
            found.append(Counter(_FLOATS.findall(cpu_assembly(spec))))
        assert found[0] == found[1]
