"""Memory cells as values of an iteration, or with a cell for each iteration.

- `privatize`: a copy of a buffer for each iteration
- `scalar_expansion`: a cell for each iteration's value
- `contract_arrays`: cells of one iteration as values
- `updates`: a cell that is loaded, combined and stored
- `kept_cells`: cells that a loop updates, carried by it
- `carries`: which values iterations hand on
- `carried_cells`: cells in place of carried values, while loops change their order
- `carry_stores`: such values carried by the loop
"""

from __future__ import annotations
