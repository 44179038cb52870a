"""Programs of this package against their peers: ``python -m bench``."""
