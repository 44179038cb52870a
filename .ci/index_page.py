"""The README that an index of packages shows: its links into the repository are text.

A package comes without those files, and the project has no address on the web that
links could begin with.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LOCAL_LINK = re.compile(r"\[([^\]]+)\]\((?!\w+://|#)[^)\s]+\)")


class IndexPage(MetadataHookInterface):
    """Hatchling's hook for the metadata of a package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the README."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        page = LOCAL_LINK.sub(r"\1", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": page}
