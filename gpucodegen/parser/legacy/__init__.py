"""Text of earlier years.

- `names`: operations that only changed their name
- `literals`: numbers where only values may stand today
- `generic`: generic forms of 2018 to 2021
- `text_2019`: 2019 to 2021: functions, branches, dims
- `text_2018`: 2018: ``mlfunc``, ``for``, ``if``
- `text_2020`: words that once stood in another order
- `views`: views of 2019 and 2020
- `scf`: ``scf.foreach_thread`` of 2022
- `gpu`: gpu of 2021 to 2024
- `vector`: vectors of 2019 to 2024
- `linalg`: linalg of 2019 to 2025
- `spellings`: asks all of them in turn
"""

from __future__ import annotations
