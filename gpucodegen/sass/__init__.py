"""Machine code of NVIDIA's GPUs (SASS) as text: instructions, loops, what they do."""
