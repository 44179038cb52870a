"""GPU data sheets, kernel plans for GPUs and their cost models."""
