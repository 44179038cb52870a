"""``python -m gpucodegen``."""

from __future__ import annotations

import sys

from gpucodegen.cli import main

sys.exit(main())
