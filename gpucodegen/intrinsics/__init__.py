"""What generated code calls: one name, two faces (``cpu`` and ``cuda``)."""
