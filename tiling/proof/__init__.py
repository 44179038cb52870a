"""What is proven of a model: dependences, legality, loop kinds, with witnesses."""
