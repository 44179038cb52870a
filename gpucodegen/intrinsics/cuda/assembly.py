"""PTX of a kernel, by the NVPTX backend of llvmlite's LLVM."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from numba.core import types
from numba.core.compiler import Flags, compile_extra
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import FastMathOptions
from numba.core.target_extension import target_override

from gpucodegen import errors
from gpucodegen.debugging.levels import tell
from gpucodegen.intrinsics.cuda import front_end
from gpucodegen.intrinsics.cuda.exact_loads import NOTED_FROM, narrowed
from gpucodegen.intrinsics.cuda.target import NAME, TRIPLE, Kernel, KernelDispatcher
from gpucodegen.intrinsics.framework.pipeline import KernelCompiler

ARCHITECTURES = {
    "sm_80": 80,
    "sm_86": 80,
    "sm_87": 80,
    "sm_89": 80,
    "sm_90": 80,
    "sm_90a": 80,
    "sm_100": 86,
    "sm_100a": 86,
    "sm_120": 87,
    "sm_120a": 87,
}
"""The oldest version of PTX that knows each: 80 is 8.0, that of CUDA 12.0."""
LATER = {
    "fence.proxy.tensormap": 83,
    ".e4m3.e4m3.": 84,
    ".e5m2.e5m2.": 84,
    "x2.e4m3x2": 81,
    "x2.e5m2x2": 81,
}
"""Instructions that came later; LLVM does not know those that it only passes on."""
_VERSION = re.compile(r"^\.version (\d+)\.(\d+)$", re.MULTILINE)
_EMPTY_SECTION = "\t.section\t.debug_macinfo\t{\t}\n"
_EXTERNAL = re.compile(
    r"\.extern \.func[^;]*?([\w$]+)\s*\(?[^;()]*\)?[^;()]*;", re.DOTALL
)


@global_compiler_lock
def llvm_text(
    function: Callable[..., Any],
    definition: ast.FunctionDef | None,
    argument_types: tuple[Any, ...],
    kernel: Kernel,
    fastmath: Collection[str] = (),
) -> str:
    """The LLVM text of a kernel, before any optimisation.

    ``definition`` is its syntax tree.  Without one, and where `front_end` does not
    cover the kernel, Numba compiles the function.
    """
    if definition is not None:
        names = function.__globals__
        try:
            with target_override(NAME):
                return front_end.llvm_text(
                    definition, names, argument_types, kernel, fastmath
                )
        except front_end.NotCovered as reason:
            tell(2, f"kernel {function.__name__}: Numba's front end, since {reason}")
    return _by_numba(function, argument_types, kernel, fastmath)


def _by_numba(
    function: Callable[..., Any],
    argument_types: tuple[Any, ...],
    kernel: Kernel,
    fastmath: Collection[str],
) -> str:
    flags = Flags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.error_model, flags.nrt = "numpy", False
    if fastmath:
        flags.fastmath = FastMathOptions(set(fastmath))
    target = KernelDispatcher.targetdescr
    with target_override(NAME):
        made = compile_extra(
            target.typing_context,
            target.target_context.subtarget(kernel=kernel),
            function,
            argument_types,
            types.void,
            flags,
            {},
            pipeline_class=KernelCompiler,
        )
    return made.library.get_llvm_str()


@global_compiler_lock
def ptx(text: str, architecture: str) -> str:
    """The PTX of an LLVM module; refused if it calls an undefined function."""
    module = llvm.parse_assembly(text)
    module.verify()
    machine = _machine(architecture)
    builder = _passes(machine)
    with _without_promotion():
        builder.getModulePassManager().run(module, builder)
    made = str(machine.emit_assembly(module)).replace(_EMPTY_SECTION, "")
    made = narrowed(made)
    oldest = ARCHITECTURES[architecture]
    made = _VERSION.sub(f".version {_sufficient(oldest, made)}", made)
    missing = _EXTERNAL.search(made)
    if missing:
        raise errors.NoDeviceFunction(function=missing[1])
    return made


def _sufficient(oldest: int, text: str) -> str:
    """The oldest PTX version of an architecture, or a later one that a text needs.

    >>> _sufficient(80, "fence.proxy.tensormap::generic"), _sufficient(86, "")
    ('8.3', '8.6')
    """
    wanted = [version for name, version in LATER.items() if name in text]
    return "{}.{}".format(*divmod(max([oldest, *wanted]), 10))


def known(architecture: str) -> str:
    """The architecture itself, or the newest known one before it.

    PTX of an older one runs on every later one, except architecture-specific features.

    >>> known("sm_90a"), known("sm_103")
    ('sm_90a', 'sm_100')
    """
    if architecture in ARCHITECTURES:
        return architecture
    number = number_of(architecture)
    plain = [name for name in ARCHITECTURES if not name.endswith("a")]
    return max((n for n in plain if number_of(n) <= number), key=number_of)


def number_of(architecture: str) -> int:
    """The number of an architecture.

    >>> number_of("sm_90a")
    90
    """
    return int(architecture.strip("sm_af"))


@cache
def _machine(architecture: str) -> Any:
    """The code generator at level 2: at 3 it numbers values twice more.

    Of 16 modules of the benchmark 13 have equal PTX at both, two the same lines in
    another order, and one has four lines fewer at 2.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    _choose_short_pointers()
    version = max(ARCHITECTURES[architecture], NOTED_FROM)
    target = llvm.Target.from_triple(TRIPLE)
    return target.create_target_machine(
        cpu=architecture, opt=2, features=f"+ptx{version}"
    )


@cache
def _choose_short_pointers() -> None:
    """States `LAYOUT` to LLVM, once: an option that is given twice is an error."""
    llvm.set_option("gpucodegen", "--nvptx-short-ptr")


@contextmanager
def _without_promotion() -> Generator[None, None, None]:
    """LLVM's LICM pass does not promote memory to registers inside.

    It compares the accesses of a loop in pairs, which takes more than half of the time
    of all passes for a product of f64.  The mapping to kernels keeps sums in registers
    already: the PTX of all examples and of PolyBench is the same without it.  The
    option is global; whoever compiles with Numba holds the same lock.
    """
    llvm.set_option("gpucodegen", f"{_PROMOTION}=true")
    try:
        yield
    finally:
        llvm.set_option("gpucodegen", f"{_PROMOTION}=false")


_PROMOTION = "--disable-licm-promotion"


def _passes(machine: Any) -> Any:
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    return llvm.create_pass_builder(machine, options)
