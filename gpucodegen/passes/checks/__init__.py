"""What is wrong with a program, or with a mapping of it: errors and warnings."""
