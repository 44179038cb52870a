"""Polyphase decomposition of convolutions of dilated images.

Along one side, ``out[o] = sum over t of w[t] * x[(o * stride + t * dilation - low) /
spacing]`` over the taps for which the division leaves no remainder: the others meet the
zeros between the image's elements.  Outputs ``first + period * u`` meet the same taps,
and are an ordinary convolution of the image with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Phase:
    """Outputs ``first + period * u``, u below ``count``, and their taps.

    ``out[first + period * u] = sum over k of w[tap + tap_step * k] *
    x[u * stride + k * dilation - low]``, k below ``taps``.  ``high``: the elements
    behind the image that the last output reaches; negative where some are not reached.
    """

    first: int
    period: int
    count: int
    tap: int
    tap_step: int
    taps: int
    stride: int
    dilation: int
    low: int
    high: int


def phases(
    extent: int,
    window: int,
    outputs: int,
    *,
    stride: int,
    dilation: int,
    spacing: int,
    low: int,
) -> Iterator[Phase]:
    """The phases of ``outputs`` along a side of an image with ``extent`` elements.

    >>> for p in phases(4, 3, 8, stride=1, dilation=1, spacing=2, low=1):
    ...     print(p.first, p.tap, p.taps, p.low, p.high)
    0 1 1 0 0
    1 0 2 0 1
    """
    period, tap_step = (spacing // gcd(spacing, by) for by in (stride, dilation))
    for first in range(min(period, outputs)):
        count = len(range(first, outputs, period))
        places = (first * stride + t * dilation - low for t in range(tap_step))
        tap = next((t for t, at in enumerate(places) if at % spacing == 0), window)
        taps = len(range(tap, window, tap_step))
        steps = period * stride // spacing, tap_step * dilation // spacing
        before = -((first * stride + tap * dilation - low) // spacing)
        reach = (count - 1) * steps[0] + (taps - 1) * steps[1] + 1
        high = reach - extent - before
        yield Phase(first, period, count, tap, tap_step, taps, *steps, before, high)
