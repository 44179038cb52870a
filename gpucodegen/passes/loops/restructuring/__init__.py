"""New orders for whole nests: taken apart, scheduled by `tiling`, and rebuilt.

- `pieces`: a nest taken apart
- `rebuild`: a schedule back to loops
- `apply`: every nest of a module
- `restructure`: the order of isl's scheduler
"""
