"""The targets that a test of results runs on: parameters for ``target``.

Kernels for CUDA run as PTX, on the emulated device.
"""

from __future__ import annotations

ALL = ("cpu", "sim", "cuda")
