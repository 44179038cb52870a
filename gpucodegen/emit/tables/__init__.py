"""One entry per operation: the line of Python that it becomes."""
