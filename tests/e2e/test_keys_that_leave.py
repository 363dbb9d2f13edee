"""The keys that quit work on every screen, in a real terminal."""

from __future__ import annotations

import re
from functools import partial
from itertools import cycle
from pathlib import Path

import pytest
from key_promises import LEAVING, MARKS
from pressed_keys import NEEDS_TMUX, dashboard, named

from turbotui.app.actions import ACTIONS
from turbotui.app.screen_table import SCREENS
from turbotui.feature import Action

pytestmark = NEEDS_TMUX


@pytest.mark.parametrize("row", [action for action in ACTIONS if action.id in LEAVING], ids=lambda row: row.id)
def test_each_row_that_leaves_does_so_from_every_screen(tmp_path: Path, row: Action) -> None:
    with dashboard(tmp_path, ("guest",), (120, 24), forked=True) as terminal:
        for spec, key in zip(SCREENS, cycle(row.keys), strict=False):
            terminal.press(spec.number)
            assert terminal.until(partial(re.search, MARKS[spec.number])), terminal.picture
            terminal.press(named(key))
            assert terminal.until(lambda text: text.rstrip().endswith("shell:")), terminal.picture
            if spec is not SCREENS[-1]:
                terminal.start()
