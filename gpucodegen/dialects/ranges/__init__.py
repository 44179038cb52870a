"""How large integers may be.

- `arithmetic`: what sums, quotients and affine expressions of ranges are
- `index_ranges`: the ranges of index values, and which of them are data
"""
