"""The operations of each dialect, as tables of definitions."""
