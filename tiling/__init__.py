"""Decides what may be done to a loop nest, and which of it is fast.

Comes in: a `Scop`.  Goes out: verdicts, each refusal with a witness, and plans.  This
package knows nothing of MLIR or of Numba.

- `model`: a nest as integer relations
- `proof`: what must keep its order, and what need not
- `schedule`: new orders, and the loops that run them
- `machine`: which of them is fast
- `tuning`: which of them is fastest here
"""
