"""Copies between the memories of a GPU.

- `promote`: tiles copied to fast memory
- `overlap`: transfers during computation
- `join`: groups of transfers that start together, waits that follow each other
- `keep_in_flight`: waits that leave younger transfers alone
- `least_barriers`: barriers that waits make needless
"""

from __future__ import annotations
