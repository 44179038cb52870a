"""What was tuned, in one SQLite file.

- `store`: all trials, and the winner of each key
- `lookup`: that winner, found while a call waits
- `database`: the file, opened and checked
- `rows`: what is written there
- `claims`: which process measures what
- `lessons`: what trials teach the model
- `exchange`: the store as JSON
"""

from __future__ import annotations
