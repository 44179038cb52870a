"""Why the compiler does what it does with a nest, as text, pictures and one page.

Comes in: MLIR. Goes out: an `Explanation`. The modules, in the order of processing:

* `sizes`: the sizes a reader asks for; `subjects`: functions and nests with verdicts
* `strides`, `schedule_tree`, `kernels`: memory walked, order drawn, mapping chosen
* `planes`: the iterations and dependences that one picture shows
* `text`, `bands`: all of that in words
* `svg`, `space_picture`, `tree_picture`, `share_picture`: the same drawn
* `page`: one self-contained HTML page; `explanation`: the face of this package
"""
