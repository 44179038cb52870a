"""Values in the shape of arrays: tensor and shape."""

from __future__ import annotations
