"""/proc/loadavg: tasks that run, want to run, or wait without being interruptible, on average over 1, 5 and 15 minutes.

Format: proc_loadavg(5). The kernel prints two decimals; raw readings are hundredths.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from turbotui.quantities.plain_numbers import integer
from turbotui.quantities.signals import Behavior
from turbotui.quantities.units import Unit
from turbotui.sources.system_files import SystemFact, SystemFiles

PATH: Final = "/proc/loadavg"
_DOCUMENT: Final = "proc_loadavg(5)"
_MINUTES: Final = ("1", "5", "15")
_WORD: Final = re.compile(r"([0-9]{1,9})\.([0-9]{2})")


class ProcLoadavg(SystemFiles):
    """The `Source` of /proc/loadavg."""

    id = "proc-loadavg"
    facts = tuple(SystemFact(f"load.{minutes}", PATH, minutes, Unit.COUNT, Behavior.GAUGE, _DOCUMENT, 0.01)
                  for minutes in _MINUTES)

    @staticmethod
    def parse(text: str) -> Mapping[str, int]:
        """Return hundredths by the averages' minutes."""
        averages = zip(_MINUTES, (_WORD.fullmatch(word) for word in text.split()[:3]), strict=False)
        return {minutes: integer(word[1]) * 100 + integer(word[2]) for minutes, word in averages if word is not None}
