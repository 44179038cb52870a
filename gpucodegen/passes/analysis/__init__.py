"""Program analyses: the polyhedral model, dependences and expected work."""
