"""What is fast: facts of processors and devices, plans and their costs."""
