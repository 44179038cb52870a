"""New orders for whole nests: taken apart, scheduled by `tiling`, and rebuilt."""
