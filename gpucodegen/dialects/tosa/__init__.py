"""TOSA, as far as it means linalg on tensors.

- `names`: operations by what they do
- `operations`: the table
- `syntax`: short forms
"""
