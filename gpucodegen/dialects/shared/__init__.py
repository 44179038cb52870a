"""What operations of several dialects have in common."""
