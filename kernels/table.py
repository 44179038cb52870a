"""Every ready-made operation: whose function it is like, and how a call is prepared.

Tests compare each with the function that is named here, where its library is installed,
and the documentation lists what is here.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.kernels.calls import Kernel
from gpucodegen.kernels.elementwise import fused, movement
from gpucodegen.kernels.grids import indexed, stencils
from gpucodegen.kernels.products import attention, einsum, matmul
from gpucodegen.kernels.reductions import places, prepared
from gpucodegen.kernels.rows import norms, softmax
from gpucodegen.kernels.windows import convolutions, pooling, transposed


@dataclass(frozen=True, slots=True)
class Ready:
    """An operation: what prepares its text, and the function that it is like."""

    kernel: Kernel
    like: str


_TORCH = "torch.nn.functional"
_EVERY: tuple[tuple[Kernel, str], ...] = (
    (fused.ELEMENTWISE, ""),
    (movement.TRANSPOSE, "numpy.transpose"),
    (movement.COPY, "numpy.copy"),
    (matmul.MATMUL, "numpy.matmul"),
    (matmul.MATVEC, "numpy.matvec"),
    (matmul.VECDOT, "numpy.vecdot"),
    (einsum.EINSUM, "numpy.einsum"),
    (einsum.TENSORDOT, "numpy.tensordot"),
    (attention.ATTENTION, f"{_TORCH}.scaled_dot_product_attention"),
    (prepared.SUM, "numpy.sum"),
    (prepared.PROD, "numpy.prod"),
    (prepared.MAX, "numpy.max"),
    (prepared.MIN, "numpy.min"),
    (prepared.ALL, "numpy.all"),
    (prepared.ANY, "numpy.any"),
    (prepared.NONZERO, "numpy.count_nonzero"),
    (prepared.MEAN, "numpy.mean"),
    (prepared.VAR, "numpy.var"),
    (prepared.STD, "numpy.std"),
    (prepared.LOGSUMEXP, "scipy.special.logsumexp"),
    (places.ARGMAX, "numpy.argmax"),
    (places.ARGMIN, "numpy.argmin"),
    (softmax.SOFTMAX, "scipy.special.softmax"),
    (softmax.LOG_SOFTMAX, "scipy.special.log_softmax"),
    (softmax.CUMSUM, "numpy.cumsum"),
    (softmax.CUMPROD, "numpy.cumprod"),
    *((each, f"{_TORCH}.{name}") for name, each in norms.NORMS.items()),
    *((each, f"{_TORCH}.{each.name}") for each in convolutions.CONVOLUTIONS.values()),
    *((each, f"{_TORCH}.{each.name}") for each in transposed.TRANSPOSED.values()),
    *((each, f"{_TORCH}.{each.name}") for each in pooling.LARGEST.values()),
    *((each, f"{_TORCH}.{each.name}") for each in pooling.MEANS.values()),
    (stencils.STENCIL, "scipy.ndimage.correlate"),
    (indexed.TAKE, "numpy.take"),
    (indexed.SCATTER, "torch.index_add"),
    (indexed.BINCOUNT, "numpy.bincount"),
    (indexed.HISTOGRAM, "numpy.histogram"),
)
KERNELS = {kernel.name: Ready(kernel, like) for kernel, like in _EVERY}
"""Operations by their names."""
