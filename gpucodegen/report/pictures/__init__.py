"""Pictures of iteration spaces, mappings and schedule trees, as SVG."""
