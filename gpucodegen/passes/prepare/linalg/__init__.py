"""linalg operations as affine nests.

- `elementwise`: arithmetic on whole tensors
- `generalize`: named operations as generic ones
- `decompose_softmax`: softmax as passes over a row
- `decompose_windows`: convolutions and poolings of 2020
- `decompose_winograd`: its transforms as products with their matrices
- `contract_vectors`: contractions of whole vectors
- `relayout`: pack and unpack
- `fuse_tensors`: elementwise work moves to where it is read
- `plain_builder`: loops and accesses that need not be affine
- `linalg_to_affine`: all operations on buffers
"""

from __future__ import annotations
