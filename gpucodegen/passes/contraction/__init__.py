"""Contractions: recognised from access relations, lowered by target."""
