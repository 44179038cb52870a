"""Decides what may be done to a loop nest, and which of it is fast.

Comes in: a `Scop`. Goes out: verdicts, each refusal with a witness, and plans. This
package knows nothing of MLIR or of Numba. The modules, in the order of processing:

* `scop`: the data model, a tree of loops, conditions and statements
* `isl`: the only door to islpy; `model`: a `Scop` as integer relations
* `dependences`, `witness`: what must keep its order, and executions that show it
* `loops`, `bands`, `legality`: parallel loops, permutable bands, legal rewrites
* `points`, `fronts`: executions at given sizes, one by one; those that may run at once
* `depcheck`: the dependence table of ``gpucodegen deps``
* `bounds`, `footprint`: cells outside their array, cells that a tile touches
* `contraction`: matrix products and convolutions, recognised from their accesses
* `ordering`, `races`: what orders threads, and the race proof of a mapped kernel
* `machine`: the model of a machine, and plans made for it
* `space`, `search`, `store`: tuning among legal tiles, and the memory of it
"""
