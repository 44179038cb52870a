"""Table of all ready-made operations with the library function each one matches.

Tests compare each with that function, if its library is installed, and the
documentation lists the table.
"""

from __future__ import annotations

from gpucodegen.kernels import indexing, losses, reduction_calls, rows, stencils
from gpucodegen.kernels.calls import Kernel
from gpucodegen.kernels.elementwise import fused, movement
from gpucodegen.kernels.products import attention, einsum, matmul
from gpucodegen.kernels.windows import convolutions, pooling, transposed
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Ready:
    """An operation: its preparation, and the library function that it matches."""

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
    (reduction_calls.SUM, "numpy.sum"),
    (reduction_calls.PROD, "numpy.prod"),
    (reduction_calls.MAX, "numpy.max"),
    (reduction_calls.MIN, "numpy.min"),
    (reduction_calls.ALL, "numpy.all"),
    (reduction_calls.ANY, "numpy.any"),
    (reduction_calls.NONZERO, "numpy.count_nonzero"),
    (reduction_calls.MEAN, "numpy.mean"),
    (reduction_calls.VAR, "numpy.var"),
    (reduction_calls.STD, "numpy.std"),
    (reduction_calls.LOGSUMEXP, "scipy.special.logsumexp"),
    (reduction_calls.ARGMAX, "numpy.argmax"),
    (reduction_calls.ARGMIN, "numpy.argmin"),
    (rows.SOFTMAX, "scipy.special.softmax"),
    (rows.LOG_SOFTMAX, "scipy.special.log_softmax"),
    (rows.CUMSUM, "numpy.cumsum"),
    (rows.CUMPROD, "numpy.cumprod"),
    *((each, f"{_TORCH}.{name}") for name, each in rows.NORMS.items()),
    *((each, f"{_TORCH}.{name}") for name, each in rows.GROUPS.items()),
    (rows.NORMALIZE, f"{_TORCH}.normalize"),
    *(
        (each, "" if name == "hinge_loss" else f"{_TORCH}.{name}")
        for name, each in losses.PAIRS.items()
    ),
    *((each, f"{_TORCH}.{name}") for name, each in losses.CLASSES.items()),
    (losses.TRIPLET, f"{_TORCH}.triplet_margin_loss"),
    (fused.CLIP, "numpy.clip"),
    (movement.TRIL, "numpy.tril"),
    (movement.TRIU, "numpy.triu"),
    *((each, f"{_TORCH}.{each.name}") for each in convolutions.CONVOLUTIONS.values()),
    *((each, f"{_TORCH}.{each.name}") for each in transposed.TRANSPOSED.values()),
    *((each, f"{_TORCH}.{each.name}") for each in pooling.LARGEST.values()),
    *((each, f"{_TORCH}.{each.name}") for each in pooling.MEANS.values()),
    (stencils.STENCIL, "scipy.ndimage.correlate"),
    (indexing.TAKE, "numpy.take"),
    (indexing.SCATTER, "torch.index_add"),
    (indexing.BINCOUNT, "numpy.bincount"),
    (indexing.HISTOGRAM, "numpy.histogram"),
)
KERNELS = {kernel.name: Ready(kernel, like) for kernel, like in _EVERY}
"""Operations by their names."""
