"""Every example program on a GPU, checked and timed against cuBLAS, cuDNN or a copy.

Times come from CUDA events around a round of calls, each on a set of arguments of its
own, so that together they do not fit into the L2 cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import gpucodegen as gcg
from bench.harness import race
from bench.row import OURS, Limit, Row, Settings, Work
from examples.catalogue import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from examples.catalogue import Program
    from examples.problems import Arguments, Size

cupy: Any = import_module("cupy")

SIZES: dict[str, Size] = {
    "matmul": {"M": 4096, "N": 4096, "K": 4096},
    "linalg_matmul_f32": {"M": 4096, "N": 4096, "K": 4096},
    "linalg_matmul_f64": {"M": 2048, "N": 2048, "K": 2048},
    "linalg_matmul_tensor": {"M": 2048, "N": 2048, "K": 2048},
    "jacobi_2d": {"T": 10, "H": 4096, "W": 4096},
    "row_sum": {"M": 8192, "N": 8192},
    "dma_matmul": {"M": 2048, "N": 2048, "K": 2048},
}
SETS_AT_MOST = 64


def on_device(arguments: Arguments) -> Arguments:
    """The same arguments with their arrays on the GPU."""
    return tuple(cupy.asarray(a) if hasattr(a, "shape") else a for a in arguments)


def on_host(value: Any) -> Any:
    """A value with its array, if it is one, on the CPU."""
    return cupy.asnumpy(value) if isinstance(value, cupy.ndarray) else value


def event_clock(call: Callable[[], object]) -> float:
    """Seconds of one call on the current stream."""
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    call()
    end.record()
    end.synchronize()
    return cupy.cuda.get_elapsed_time(start, end) / 1e3


@dataclass(frozen=True, slots=True)
class Round:
    """One call after the other, each on arguments of its own."""

    calls: tuple[Callable[[], object], ...]

    def __call__(self) -> None:
        """Launch them all."""
        for call in self.calls:
            call()


def sets_beyond_cache(arguments: Arguments) -> int:
    """How many sets of arguments it takes to fill the L2 cache twice."""
    size = sum(getattr(a, "nbytes", 0) for a in arguments)
    cache = cupy.cuda.Device().attributes["L2CacheSize"]
    return min(max(2 * cache // max(size, 1) + 1, 2), SETS_AT_MOST)


def cublas(arguments: Arguments) -> Callable[[], object]:
    """``cupy.matmul`` into a result that exists; fp32 stays fp32."""
    a, b = arguments[:2]
    c = cupy.empty((a.shape[0], b.shape[1]), a.dtype)
    product: Callable[..., object] = cupy.matmul
    return lambda: product(a, b, out=c)


def copy(arguments: Arguments) -> Callable[[], object]:
    """A copy of the first array: the time that memory takes at least."""
    source = next(a for a in arguments if hasattr(a, "shape"))
    target = cupy.empty_like(source)
    copyto: Callable[..., object] = cupy.copyto
    return lambda: copyto(target, source)


def cudnn(program: Program) -> Callable[[Arguments], Callable[[], object]]:
    """The convolution of PyTorch in the layout of the program, TF32 off."""
    torch: Any = import_module("torch")
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    problem: Any = program.problem
    conv: Callable[..., object] = torch.nn.functional.conv2d

    def peer(arguments: Arguments) -> Callable[[], object]:
        x, w = (torch.from_dlpack(array) for array in arguments[:2])
        if problem.layout == "nhwc":
            x, w = x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)
            w = w.contiguous(memory_format=torch.channels_last)
        return lambda: conv(x, w, stride=problem.strides, dilation=problem.dilations)

    return peer


def peer_of(program: Program) -> tuple[str, Callable[[Arguments], Any]]:
    """Name and maker of the peer's call."""
    if "mat" in program.name or program.name == "multiply_2019":
        return "cuBLAS", cublas
    if program.name.startswith("conv_2d") and find_spec("torch"):
        return "cuDNN", cudnn(program)
    return "copy of one input", copy


@dataclass(frozen=True, slots=True)
class OnGpu:
    """One program at the size that fills a GPU."""

    program: Program

    @property
    def size(self) -> Size:
        """Extents by name."""
        return SIZES.get(self.program.name, self.program.large)

    @property
    def name(self) -> str:
        """Program and extents."""
        return f"{self.program.name} {'x'.join(map(str, self.size.values()))}"

    def measure(self, settings: Settings) -> Row:
        """Compile, check and race."""
        program = self.program
        host = program.arguments(self.size)
        answer = program.problem.answer(*host)
        compiled = gcg.compile(program.path, target="cuda")[program.entry]
        device = on_device(host)
        result = compiled(*device)
        program.check(answer, tuple(map(on_host, device)), on_host(result))

        sets = [on_device(host) for _ in range(sets_beyond_cache(host))]
        peer, make_call = peer_of(program)
        ours, theirs = race(
            Round(tuple(compiled.bind(*arguments) for arguments in sets)),
            Round(tuple(make_call(arguments) for arguments in sets)),
            clock=event_clock,
            budget=settings.budget,
        )
        work = Work(program.problem.work(self.size) * len(sets))
        return Row(self.name, {OURS: ours, peer: theirs}, work, Limit.FMA)


LINES = tuple(map(OnGpu, PROGRAMS.values()))
