"""The targets that a test of results runs on: parameters for ``target``.

``sim`` runs the kernels for CUDA as PTX, on the emulated device.
"""

from __future__ import annotations

ALL = ("cpu", "sim")
