"""Functions of programs in other frameworks; none of these is imported before use."""
