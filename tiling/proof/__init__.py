"""What is proven of a model: dependences, legality, loop kinds, with witnesses."""

from __future__ import annotations
