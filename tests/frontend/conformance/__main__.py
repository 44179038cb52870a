"""``python -m conformance`` writes the page."""

from __future__ import annotations

from conformance.page import PAGE, page

PAGE.write_text(page(), encoding="utf-8")
