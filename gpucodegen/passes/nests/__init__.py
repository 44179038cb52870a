"""Loop infrastructure: names, ranges, distribution and replacement of loops."""
