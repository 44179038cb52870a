"""``python -m tests.dtypes`` runs every program, and writes the page."""

from __future__ import annotations

from tests.dtypes.page import OUTCOMES, PAGE, measured, outcomes, page

OUTCOMES.write_text(measured(), encoding="utf-8")
outcomes.cache_clear()
PAGE.write_text(page(), encoding="utf-8")
