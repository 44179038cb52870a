"""What is proven of a model: dependences, legality, loop kinds, with witnesses.

- `dependences`: what must keep its order
- `witness`: executions that show it
- `distances`: how far dependences reach
- `reach`: how far values travel per step of a time loop
- `loops`: parallel, reduction or sequential
- `bands`: loops that permute
- `legality`: legal rewrites
- `deals`: dependences within what one member of a team runs
- `values`: which values reach which reads
- `bounds`: accesses outside their array
- `kernels`: races of mapped kernels
- `depcheck`: the rows of ``gpucodegen deps``
"""

from __future__ import annotations
