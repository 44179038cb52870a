"""Contractions found among affine nests, whatever operation they came from."""

from __future__ import annotations
