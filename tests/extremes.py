"""``maximumf`` and ``minimumf``: NaN wins, and +0.0 is larger than -0.0.

NumPy takes either zero, and which one depends on the processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def maximumf(a: Any, b: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.where((a == 0) & (b == 0), a + b, np.maximum(a, b))[()]


def minimumf(a: Any, b: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.where((a == 0) & (b == 0), -(-a - b), np.minimum(a, b))[()]
