"""Failures of the dashboard itself, identified by their place, each with a report file."""

from __future__ import annotations

import contextlib
import os
import platform
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from types import FrameType, TracebackType
from typing import Final

from turbotui import __version__
from turbotui.dataclass import dataclass
from turbotui.installed_features import package_at
from turbotui.machine.identity import as_invoking_user
from turbotui.machine.own_files import replace_file, state_folder
from turbotui.untrusted import one_line, visible

_KEPT: Final = 10  # reports; older ones are deleted
_LONGEST: Final = 60_000  # characters of a report
_WORDS: Final = 300  # characters of an exception's own text
_PACKAGE: Final = os.path.dirname(os.path.abspath(__file__)).rpartition(os.sep)[0]


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception that was contained, or that ended the program."""

    where: str  # what failed, in words for people: "the window Graph", "screen 3 map"
    place: str  # file and function of the project in which it occurred
    error: BaseException
    report: str  # path of the report; "" if none could be written

    @property
    def sentence(self) -> str:
        """The failure as a sentence: what failed, why, and where the report is."""
        report = f"the report is {self.report}" if self.report else "no report could be written"
        package = package_at(self.error)
        of, to = (f" of the package {package}", " to its makers") if package else ("", "")
        return f"{self.where}{of} failed: {_in_words(self.error)}; {report}, please send it{to}"


class Failures:
    """Every failure of a run, in the order of occurrence."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.seen: list[Failure] = []

    def take(self, error: BaseException, where: str) -> tuple[Failure, bool]:
        """Record a failure; also returns whether the same window or screen has failed before.

        A report is written once for each place: a key that fails can be pressed for ever.
        """
        place = place_of(error)
        before = [failure for failure in self.seen if failure.where == where]
        for failure in before:
            if failure.place == place:
                return failure, True
        report = ""
        with contextlib.suppress(OSError):  # a full disk must not make it worse; the sentence says so
            report = write_report(error, where, self._environment)
        failure = Failure(where, place, error, report)
        self.seen.append(failure)
        return failure, bool(before)


def place_of(error: BaseException) -> str:
    """File and function of the innermost call in this project, or of the innermost call at all."""
    calls = [(frame.f_code.co_filename, frame.f_code.co_qualname) for frame in _frames(error.__traceback__)]
    ours = [call for call in calls if call[0].startswith(_PACKAGE)]
    file, function = (ours or calls or [("", "")])[-1]
    return f"{os.path.relpath(file, _PACKAGE) if ours else file}:{function}"


def _frames(at: TracebackType | None) -> list[FrameType]:
    frames: list[FrameType] = []
    while at is not None:
        frames.append(at.tb_frame)
        at = at.tb_next
    return frames


def write_report(error: BaseException, where: str, environment: Mapping[str, str]) -> str:
    """Write versions and calls, but no values, environment or command line; returns the path.

    Raises:
        OSError: it cannot be written.
    """
    from importlib.metadata import version  # noqa: PLC0415 - hardly ever asked, and 25 modules: mail, ZIP, CSV

    folder = os.path.join(state_folder(environment), "failures")
    now = datetime.now(UTC)
    path = os.path.join(folder, f"{now:%Y%m%dT%H%M%S.%f}Z.txt")
    calls = "".join(traceback.format_tb(error.__traceback__))
    home = os.path.expanduser("~")
    text = (f"turbotui {__version__}, Python {platform.python_version()}, Textual {version('textual')}, "
            f"Linux {platform.release()} {platform.machine()}\n{now:%Y-%m-%d %H:%M:%S}Z: {where} failed\n"
            f"{calls[-_LONGEST:]}{_in_words(error)}\n")
    replace_file(path, visible(text.replace(home, "~") if home != "/" else text))
    with as_invoking_user(environment):  # a link in the user's folder must not lead root to other files
        reports = sorted(name for name in os.listdir(folder) if name.endswith("Z.txt"))
        for name in reports[:-_KEPT]:
            with contextlib.suppress(FileNotFoundError):  # another dashboard was faster
                os.unlink(os.path.join(folder, name))
    return path


def _in_words(error: BaseException) -> str:
    text = one_line(str(error))
    return f"{type(error).__name__}: {text if len(text) <= _WORDS else text[:_WORDS] + '…'}"
