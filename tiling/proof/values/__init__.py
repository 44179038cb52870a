"""Which values reach which reads: flow, live-in and live-out, privatisation."""

from __future__ import annotations
