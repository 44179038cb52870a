"""StableHLO as linalg on tensors, a rule for each operation.

- `convert`: StableHLO becomes linalg, tensor, arith, math and scf on tensors
- `elementwise`: Arithmetic, comparisons and conversions, as operations of arith and
  math on tensors
- `expressions`: Formulas in Python's operators, as operations on tensors or numbers
  of one type
- `forms`: The attributes that rules of imported dialects read, or that change no
  result
- `gather_scatter_sort`: What goes where the element lies that each window selects
- `movement`: Operations that only place elements: broadcasts, slices, transposes,
  pads, joins
- `reductions`: Reductions over dimensions and over windows, whatever combines two
  numbers
"""

from __future__ import annotations
