"""Rectangular tiles of bands, and wavefronts of tiles over time.

- `tiled_nest`: tiles of a perfect nest
- `tile`: one band
- `tile_bands`: all bands
- `asked_tiles`: what a caller asks of time loops
- `wavefront`: a time loop and the space in it
"""

from __future__ import annotations
