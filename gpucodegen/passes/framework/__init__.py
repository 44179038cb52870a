"""What every pass needs: the base class, the registry, builders, index arithmetic."""
