"""Pictures of iteration spaces, mappings and schedule trees, as SVG.

- `svg`: elements and colours
- `arrows`: arrows and what their colours mean
- `legends`: signs and their meaning
- `planes`: two loops at small sizes
- `grids`: values of loops as rows and columns
- `plane_builder`: executions and dependences on a plane
- `space_picture`: iterations
- `share_picture`: who writes what
- `tree_picture`: schedule trees
- `plots`: trials of a tuning, by matplotlib
- `drawing`: which pictures there are
"""

from __future__ import annotations
