"""``python -m gpucodegen``."""

import sys

from gpucodegen.cli import main

sys.exit(main())
