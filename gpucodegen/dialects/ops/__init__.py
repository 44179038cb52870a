"""The operations of each dialect, as tables of ``gpucodegen.dialects.definition.Op``."""
