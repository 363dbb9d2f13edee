"""Keys of every screen that save or copy the view, and the sentence about a key that does nothing on a screen."""

from __future__ import annotations

import os
import time
from typing import Final

from textual._context import visible_screen_stack
from textual.screen import Screen

from turbotui.app.actions import actions_of
from turbotui.app.base import WatchScreen
from turbotui.app.copying import copy_text
from turbotui.app.modal import Window
from turbotui.app.screens_app import ScreensApp
from turbotui.app.user_keys import key_word
from turbotui.errors import TurbotuiError
from turbotui.repertoire import Repertoire
from turbotui.tables.saving import write_alike
from turbotui.untrusted import guarded

_SCREENS_TOLD: Final = 4


class SavingApp(ScreensApp):
    """Saves and copies the view, and says where a key works."""

    repertoire: Repertoire | None = None  # replacements for characters that the terminal lacks; None for none

    def action_save_screen(self) -> None:
        """Save the view as a drawing and as text in the current folder."""
        self._say(self._saved())

    def _saved(self) -> str:
        base = self._base
        name = next((spec.id for spec in self.screens if base is not None and spec.number == base.number), "screen")
        stem = f"turbotui-{name}-{time.strftime('%Y%m%d-%H%M%S')}"
        drawing, text = self.pictures(stem)
        try:
            folder = os.getcwd()
            path = write_alike(folder, stem, {"svg": drawing, "txt": text})
        except OSError as error:
            return f"Not saved (start turbotui in another folder): the current one is gone, {error.strerror}"
        except TurbotuiError as error:
            return f"Not saved (start turbotui in a folder of yours): {error}"
        return f"Saved {os.path.basename(path)}.svg and .txt in {guarded(folder)}"

    def pictures(self, title: str) -> tuple[str, str]:
        """The terminal's current picture, windows included, as a drawing (SVG) with this title, and as text."""
        from turbotui.widgets.drawn_screen import drawn_screen  # noqa: PLC0415 - few save a picture

        visible_screen_stack.set(self._background_screens)  # the screen behind a window
        shown: Screen[object] = self.screen
        shown_as = str if self.repertoire is None else self.repertoire.shown
        lines = [[segment._replace(text=shown_as(segment.text)) for segment in strip if not segment.control]
                 for strip in shown._compositor.render_strips()]  # noqa: SLF001 - as Textual's own screenshot does
        texts = ["".join(segment.text for segment in line).rstrip() for line in lines]
        ground = self.screen_stack[0].styles.background.rich_color.get_truecolor(self.ansi_theme, foreground=False)
        drawing = drawn_screen(lines, self.size.width, self.ansi_theme, ground.hex, title)
        return drawing, "\n".join([*texts, ""])

    # Copying

    def action_copy(self) -> None:
        """Copy what is under the screen's cursor, or the text of the window over it."""
        shown = self.screen
        if not isinstance(shown, WatchScreen | Window):
            return
        text = shown.copied()
        if not text:
            self._say("Nothing is under the cursor to copy: the arrows choose a number")
            return
        first, *others = text.splitlines()
        more = f" … and {len(others)} more line{'s' if len(others) > 1 else ''}" if others else ""
        self._say(copy_text(self, f"{first}{self._origin()}{text[len(first):]}", f"{first}{more}"))

    def _origin(self) -> str:
        """A word for numbers of another machine or of the past; "" for numbers of this machine now."""
        from turbotui.app.command_lines_window import other_machine, past_moment  # noqa: PLC0415 - only this key needs them

        watch = self.watched
        words = ", ".join(filter(None, (other_machine(watch), past_moment(watch))))
        return f" ({words})" if words else ""

    # Keys that do nothing

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        """Run a key's binding; if the key does nothing here, say where it does something."""
        found = await super()._check_bindings(key, priority)
        base = self._base
        if not found and not priority and base is not None and self.screen is base:
            base.notice(self._where_it_works(key, base.where), quiet=True)
        return found

    def _where_it_works(self, key: str, here: str) -> str:
        others = [action for action in actions_of(self) if key in action.keys and here not in action.where]
        places = {where for action in others for where in action.where}
        screens = [f"{spec.word} ({spec.number})" for spec in self.screens if spec.place in places]
        if screens:
            shown = _shown(others[0].keys, others[0].shown, key)
            return f"{shown} works on {_listed(screens)}, and does nothing here"
        lists = next(action.shown for action in actions_of(self) if action.id == "help").split()[0]
        return f"{key_word(key)} does nothing: {lists} lists the keys"


def _shown(keys: tuple[str, ...], shown: str, key: str) -> str:
    """A key's name for people; for an action with several shown keys, the pressed one."""
    words = shown.split(" ")
    at = keys.index(key)
    return words[at] if len(words) == len(keys) else words[0]


def _listed(words: list[str]) -> str:
    """Words as a list in a sentence: "a", "a and b", "a, b and c"; more than a few are counted."""
    more = len(words) - _SCREENS_TOLD
    if more > 0:
        words = [*words[:_SCREENS_TOLD], f"{more} more"]
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
