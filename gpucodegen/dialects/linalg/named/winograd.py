"""The matrices of Winograd's convolutions, by the sizes of output and filter.

``Y = A' [(G g G') * (B' d B)] A`` for a tile d of the image and a filter g.  A tile of
the result has ``m`` points, a filter ``r`` taps, both on each side, and ``G``, ``B'``
and ``A'`` have ``m + r - 1`` points between them.
"""

from __future__ import annotations

from fractions import Fraction

Matrix = tuple[tuple[Fraction, ...], ...]


def _matrix(text: str, times: Fraction | int = 1) -> Matrix:
    return tuple(
        tuple(int(word) * Fraction(times) for word in row.split())
        for row in text.strip().splitlines()
    )


_G_2_3 = """
-2 0 0
1 -1 1
1 1 1
0 0 2
"""
_B_2_3 = """
-1 0 1 0
0 -1 1 0
0 1 1 0
0 -1 0 1
"""
_A_2_3 = """
1 1 1 0
0 -1 1 1
"""
_G_4_3 = """
12 0 0
-4 4 -4
-4 -4 -4
1 -2 4
1 2 4
0 0 12
"""
_B_4_3 = """
4 0 -5 0 1 0
0 4 -4 -1 1 0
0 -4 -4 1 1 0
0 4 -2 -4 2 0
0 -4 -2 4 2 0
0 4 0 -5 0 1
"""
_A_4_3 = """
1 2 2 1 1 0
0 -2 2 -2 2 0
0 2 2 4 4 0
0 -2 2 -8 8 4
"""
_G_2_5 = """
60 0 0 0 0
10 -10 10 -10 10
-10 -10 -10 -10 -10
-16 8 -4 2 -1
1 2 4 8 16
0 0 0 0 60
"""
_B_2_5 = """
2 3 -4 -3 2 0
0 2 1 -5 2 0
0 -2 -5 -1 2 0
0 4 -2 -4 2 0
0 -2 -4 2 4 0
0 2 3 -4 -3 2
"""
_A_2_5 = """
1 2 2 4 2 0
0 -2 2 -2 4 1
"""

MATRICES: dict[tuple[int, int], dict[str, Matrix]] = {
    (2, 3): {
        "filter": _matrix(_G_2_3, Fraction(1, 2)),
        "input": _matrix(_B_2_3),
        "output": _matrix(_A_2_3),
    },
    (4, 3): {
        "filter": _matrix(_G_4_3, Fraction(1, 12)),
        "input": _matrix(_B_4_3, Fraction(1, 16)),
        "output": _matrix(_A_4_3, 4),
    },
    (2, 5): {
        "filter": _matrix(_G_2_5, Fraction(1, 60)),
        "input": _matrix(_B_2_5, Fraction(1, 16)),
        "output": _matrix(_A_2_5, 8),
    },
}
"""``G``, ``B'`` and ``A'``."""
