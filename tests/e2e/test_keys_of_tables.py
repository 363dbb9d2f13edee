"""The counter tables: their rows of the key table are pressed in a real terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from key_places import CPUS, TOPOLOGY
from key_promises import Place
from pressed_keys import NEEDS_TMUX, press_rows

pytestmark = NEEDS_TMUX


@pytest.mark.parametrize("place", [CPUS, TOPOLOGY], ids=lambda place: f"{place.number}-{place.machine[0]}")
def test_rows_of_the_key_table_show_what_they_say(tmp_path: Path, place: Place) -> None:
    press_rows(tmp_path, place)
