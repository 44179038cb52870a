"""The commands that README promises."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]
MAIN_JOB, TESTS = COMMANDS
INLINE = re.findall(r"`(\.venv/bin/[^`]+)`", TEXT)
