"""Loop transformations of ``affine.for`` nests."""
