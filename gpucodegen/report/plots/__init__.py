"""Pictures of a search, PNG or SVG by matplotlib.

Comes in: tunings by title.  Goes out: a file, with a part for each title, or parts of
a page.

- `marks`: what pictures of trials ask of one
- `trials`: their times in order, with the best so far
- `heatmap`: times over two knobs
- `parallel`: parallel coordinates of all knobs
- `roofline`: default and winner under the roof of the machine
- `roof`: that roof, measured
- `picture`: a file of any of them
- `embedded`: those of what is stored, for a page of HTML
"""

from __future__ import annotations

KINDS = "trials", "heatmap", "parallel", "roofline"
"""Pictures; each is drawn by the module of its name."""
