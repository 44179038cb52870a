"""Why the compiler does what it does with a nest, as text, pictures and one page.

Comes in: MLIR. Goes out: an `explanation.Explanation`. In the order of processing:

* `sizes`: the sizes a reader asks for; `subjects`: functions and nests with verdicts
* `strides`, `schedule_tree`, `kernels`: memory walked, order drawn, mapping chosen
* `planes`, `grids`, `plane_builder`: the iterations and dependences of one picture
* `wording`, `text`, `kernel_text`: all of that in words
* `svg`, `arrows`, `legends`: what pictures are made of; `space_picture`,
  `tree_picture`, `share_picture`: the pictures; `drawing`: which there are
* `page`: one self-contained HTML page; `explanation`: the face of this package
"""

from __future__ import annotations

PICTURES = ("space", "tree", "kernel")
"""Two loops of a nest, its schedule tree, who writes what in a kernel made from it."""
