"""The same work by others, on arrays of a GPU; what is missing is left out and named.

Each maker maps the arguments of a call, arrays of CuPy, to the call.  Results exist
before the call where the library allows it.  Products in f32 stay there: TF32 is off,
but for peers that are called so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

Call = Callable[[], object]


@dataclass(frozen=True, slots=True)
class GpuPeer:
    """A library's way; ``package`` must be installed."""

    package: str
    make: Callable[..., Call]

    @property
    def is_installed(self) -> bool:
        """Whether it can take part."""
        return find_spec(self.package) is not None


def _cublas(a: Any, b: Any, c: Any) -> Call:
    cupy: Any = import_module("cupy")
    out = cupy.empty_like(c)
    return lambda: cupy.matmul(a, b, out=out)


def _torch() -> Any:
    torch: Any = import_module("torch")
    torch.backends.cudnn.benchmark = True
    return torch


def _rounded(torch: Any, call: Call, *, tf32: bool) -> Call:
    """A call in f32 or in TF32: contenders take turns, so each call says it anew."""

    def run() -> object:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
        return call()

    return run


def _torch_peer(work: Callable[..., Any], *, tf32: bool = False) -> GpuPeer:
    """``work(torch)`` is a function of the arguments as tensors of their memory."""

    def make(*arguments: Any) -> Call:
        torch = _torch()
        tensors = [torch.from_dlpack(array) for array in arguments]
        return _rounded(torch, partial(work(torch), *tensors), tf32=tf32)

    return GpuPeer("torch", make)


def _cudnn(layout: str) -> GpuPeer:
    def make(image: Any, filter_: Any, _: Any) -> Call:
        torch = _torch()
        x, w = torch.from_dlpack(image), torch.from_dlpack(filter_)
        if layout == "nhwc":
            x, w = x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)
            w = w.contiguous(memory_format=torch.channels_last)
        convolution = partial(torch.nn.functional.conv2d, x, w)
        return _rounded(torch, convolution, tf32=False)

    return GpuPeer("torch", make)


def _cupy_peer(work: Callable[..., Callable[..., object]]) -> GpuPeer:
    """``work(cupy)`` is a function of the arguments."""

    def make(*arguments: Any) -> Call:
        function = work(import_module("cupy"))
        return lambda: function(*arguments)

    return GpuPeer("cupy", make)


def _attention(torch: Any) -> Callable[..., object]:
    attend = torch.nn.functional.scaled_dot_product_attention
    return lambda q, k, v, _: attend(q[None], k[None], v[None])


def _bf16(torch: Any) -> Callable[..., object]:
    def product(a: Any, b: Any, _: Any) -> object:
        return torch.matmul(a.view(torch.bfloat16), b.view(torch.bfloat16))

    return product


def _bytes(torch: Any) -> Callable[..., object]:
    product = getattr(torch, "_int_mm")  # noqa: B009 - it has no public name

    def work(a: Any, b: Any, _: Any) -> object:
        return product(a, b)

    return work


def _triton_peer(name: str, **options: object) -> GpuPeer:
    def make(*arguments: Any) -> Call:
        torch, kernels = _torch(), import_module("bench.gpu.triton_kernels")
        tensors = [torch.from_dlpack(array) for array in arguments]
        return getattr(kernels, name)(*tensors, **options)

    return GpuPeer("triton", make)


def _copy(*arguments: Any) -> Call:
    """The largest input to new memory: what memory takes at least."""
    cupy: Any = import_module("cupy")
    source = max((a for a in arguments if hasattr(a, "nbytes")), key=lambda a: a.nbytes)
    target = cupy.empty_like(source)
    return lambda: cupy.copyto(target, source)


PEERS: Mapping[str, GpuPeer] = {
    "cuBLAS": GpuPeer("cupy", _cublas),
    "torch matmul": _torch_peer(lambda torch: lambda a, b, _: torch.matmul(a, b)),
    "torch attention": _torch_peer(_attention),
    "torch tf32": _torch_peer(
        lambda torch: lambda a, b, _: torch.matmul(a, b), tf32=True
    ),
    "torch bf16": _torch_peer(_bf16),
    "torch i8": _torch_peer(_bytes),
    "Triton matmul": _triton_peer("matmul"),
    "Triton tf32": _triton_peer("matmul", precision="tf32"),
    "Triton bf16": _triton_peer("bf16_matmul"),
    "cuDNN nhwc": _cudnn("nhwc"),
    "cuDNN nchw": _cudnn("nchw"),
    "CuPy relu": _cupy_peer(lambda cp: lambda x, y: cp.maximum(x, 0, out=y)),
    "CuPy copy": _cupy_peer(lambda cp: lambda x, y: cp.copyto(y, x)),
    "CuPy transpose": _cupy_peer(lambda cp: lambda x, y: cp.copyto(y, x.T)),
    "CuPy axpy": _cupy_peer(
        lambda cp: cp.ElementwiseKernel("T x, T y", "T r", "r = 2 * x + y", "axpy")
    ),
    "CuPy row sum": _cupy_peer(lambda cp: lambda x, s: cp.sum(x, 1, out=s)),
    "CuPy column sum": _cupy_peer(lambda cp: lambda x, s: cp.sum(x, 0, out=s)),
    "CuPy full sum": _cupy_peer(lambda cp: lambda x, s: cp.sum(x, out=s[0])),
    "CuPy bincount": _cupy_peer(
        lambda cp: lambda k, c: cp.bincount(k, minlength=c.size)
    ),
    "CuPy argmax": _cupy_peer(lambda cp: lambda x, _: cp.argmax(x, 1)),
    "torch softmax": _torch_peer(lambda torch: lambda x, y: torch.softmax(x, 1, out=y)),
    "torch layernorm": _torch_peer(
        lambda torch: (
            lambda x, scale, shift, _: torch.nn.functional.layer_norm(
                x, scale.shape, scale, shift
            )
        )
    ),
    "Triton softmax": _triton_peer("softmax"),
    "copy": GpuPeer("cupy", _copy),
}
"""By name."""
