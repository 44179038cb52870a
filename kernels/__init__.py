"""Ready-made operations: generated MLIR with thin typed wrappers.

Operands are arrays of NumPy, CuPy, PyTorch or JAX, and results are arrays of the same
library.
"""

from __future__ import annotations

from gpucodegen.kernels.elementwise.fused import clip, elementwise
from gpucodegen.kernels.elementwise.movement import copy, transpose, tril, triu
from gpucodegen.kernels.indexing import bincount, histogram, scatter_add, take
from gpucodegen.kernels.losses import (
    cross_entropy,
    hinge_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
    triplet_margin_loss,
)
from gpucodegen.kernels.products.attention import scaled_dot_product_attention
from gpucodegen.kernels.products.einsum import einsum, tensordot
from gpucodegen.kernels.products.matmul import matmul, matvec, vecdot
from gpucodegen.kernels.reductions import (
    all,  # noqa: A004 - the names that NumPy has
    any,  # noqa: A004
    argmax,
    argmin,
    count_nonzero,
    logsumexp,
    max,  # noqa: A004
    mean,
    min,  # noqa: A004
    prod,
    std,
    sum,  # noqa: A004
    var,
)
from gpucodegen.kernels.rows import (
    batch_norm,
    cumprod,
    cumsum,
    group_norm,
    instance_norm,
    layer_norm,
    log_softmax,
    normalize,
    rms_norm,
    softmax,
)
from gpucodegen.kernels.stencils import stencil
from gpucodegen.kernels.windows.convolutions import conv1d, conv2d, conv3d
from gpucodegen.kernels.windows.pooling import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from gpucodegen.kernels.windows.transposed import (
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bincount",
    "clip",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "copy",
    "count_nonzero",
    "cross_entropy",
    "cumprod",
    "cumsum",
    "einsum",
    "elementwise",
    "group_norm",
    "hinge_loss",
    "histogram",
    "huber_loss",
    "instance_norm",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "log_softmax",
    "logsumexp",
    "matmul",
    "matvec",
    "max",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mean",
    "min",
    "mse_loss",
    "nll_loss",
    "normalize",
    "prod",
    "rms_norm",
    "scaled_dot_product_attention",
    "scatter_add",
    "smooth_l1_loss",
    "softmax",
    "std",
    "stencil",
    "sum",
    "take",
    "tensordot",
    "transpose",
    "tril",
    "triplet_margin_loss",
    "triu",
    "var",
    "vecdot",
]
