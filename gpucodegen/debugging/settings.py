"""Table of all settings: environment variable, Python option and command flag.

docs/settings.md is generated from this table.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting; ``python`` and ``flag`` are empty where it has none.

    ``python``: an option of ``gpucodegen.compile``, or of ``gpucodegen.debug``.
    """

    variable: str
    python: str
    flag: str
    default: str
    does: str


SETTINGS = (
    Setting(
        "GPUCODEGEN_TARGET",
        "compile(target=)",
        "--target",
        "auto",
        "where programs run, whatever they say themselves",
    ),
    Setting(
        "GPUCODEGEN_SANITIZE",
        "compile(sanitize=)",
        "--sanitize",
        "0",
        "`1`: calls on the CPU run in the interpreter, which checks every access",
    ),
    Setting(
        "GPUCODEGEN_DEVICE",
        "",
        "",
        "gpu",
        "`emulated`: `cuda` runs on the emulated device",
    ),
    Setting(
        "GPUCODEGEN_EMULATED_STEPS",
        "",
        "",
        "10000000",
        "steps in which kernels on the emulated device must end; `0` is any number",
    ),
    Setting(
        "GPUCODEGEN_DIRECT",
        "",
        "",
        "1",
        "`0`: repeated calls are checked in Python and not by machine code",
    ),
    Setting(
        "GPUCODEGEN_FRONT_END",
        "",
        "",
        "direct",
        "`numba`: Numba's type inference compiles kernels, for comparison",
    ),
    Setting(
        "GPUCODEGEN_CACHE_DIR",
        "",
        "",
        "the user's cache folder",
        "the folder that what is compiled is kept in",
    ),
    Setting(
        "GPUCODEGEN_CACHE_SIZE",
        "",
        "",
        "1G",
        "the most that is kept: bytes, or with K, M or G; `0` keeps and reads nothing",
    ),
    Setting(
        "GPUCODEGEN_CACHES",
        "",
        "",
        "the processor's",
        "the processor's caches to plan for, such as `32K,1M,32M,8`",
    ),
    Setting(
        "GPUCODEGEN_DEBUG",
        "debug(level)",
        "--debug",
        "0",
        "how much is told on standard error: 1 to 5",
    ),
    Setting(
        "GPUCODEGEN_PRINT_IR_AFTER",
        "debug(print_ir_after=)",
        "--print-ir-after",
        "",
        "the module after this pass, or after `all`",
    ),
    Setting(
        "GPUCODEGEN_PRINT_IR_BEFORE_FAILURE",
        "debug(print_ir_before_failure=)",
        "--print-ir-before-failure",
        "0",
        "the module that a pass failed on",
    ),
    Setting(
        "GPUCODEGEN_TRACE",
        "debug(trace=)",
        "--trace",
        "",
        "a file for the times of everything, which Perfetto opens",
    ),
    Setting(
        "NUMBA_NUM_THREADS",
        "compile(threads=)",
        "",
        "every processor",
        "threads of kernels on the CPU; bounds `threads=` too",
    ),
    Setting(
        "OMP_NUM_THREADS",
        "compile(threads=)",
        "",
        "every processor",
        "the same, where the one above is not set",
    ),
    Setting(
        "NUMBA_CPU_NAME", "", "", "this one", "the processor to compile for, as LLVM's"
    ),
    Setting(
        "NUMBA_CPU_FEATURES", "", "", "this one's", "its features, as LLVM names them"
    ),
)


def table() -> Iterator[str]:
    """The lines of the table in docs/settings.md.

    >>> next(table())
    '| variable | in Python | flag | default | sets |'
    """
    yield "| variable | in Python | flag | default | sets |"
    yield "|---|---|---|---|---|"
    for one in SETTINGS:
        code = (f"`{text}`" if text else "" for text in (one.python, one.flag))
        yield f"| `{one.variable}` | {' | '.join(code)} | {one.default} | {one.does} |"
