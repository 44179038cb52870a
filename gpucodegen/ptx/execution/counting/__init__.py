"""What a kernel did: instructions, sectors, wavefronts."""

from __future__ import annotations
