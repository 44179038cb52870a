"""Facts of GPUs, plans for them, and what a plan or a kernel costs there."""
