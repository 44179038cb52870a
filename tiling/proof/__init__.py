"""Proofs on the polyhedral model: dependences, legality, races, bounds, witnesses."""
