"""The dialects: typed views and builders, one file each; definitions in ``ops``."""
