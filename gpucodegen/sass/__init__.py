"""NVIDIA machine code (SASS) as text: instructions and loops."""
