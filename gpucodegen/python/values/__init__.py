"""What a Python function computes with.

- `types`: types of arguments and annotations, promotion after NumPy
- `scalars`: numbers, known or computed, and what converts them
- `elementwise`: operators and functions of numbers, a row each
- `arrays`: views, and whole-array expressions as linalg
- `reductions`: sums, extremes and products of arrays
"""
