"""`turbotui stat`, turbostat's drop-in replacement: a text table for each interval, or for a command's run.

Options are parsed before modules that read a machine are imported, which cuts --version to a third of the time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from turbotui import __version__
from turbotui.features.stat.options import StatTask, parse_options
from turbotui.features.stat.streams import Streams


def main(words: Sequence[str]) -> int:
    """Run a command line of `turbotui stat`, given without the verb.

    Returns:
        The exit status: turbostat's (docs/specs/turbostat.md 1.12), and in command mode that of the command.

    Raises:
        TurbotuiError: the task failed, with this exit status.
    """
    options = parse_options(words)
    if options.task is StatTask.HELP:
        from turbotui.features.stat.help_text import help_text  # noqa: PLC0415 - most runs need none

        print(help_text())
        return 0
    with contextlib.closing(Streams(options)) as streams:
        if options.task is StatTask.VERSION:
            streams.notes([f"turbotui version {__version__}"])
            return 0
        if options.replay:
            from turbotui.features.stat.replaying import replay  # noqa: PLC0415 - most runs watch a machine

            return replay(options, streams)
        if options.host or options.connect:
            from turbotui.features.stat.remote import watch_remote  # noqa: PLC0415 - as above

            return watch_remote(options, streams)
        from turbotui.features.stat.running import run  # noqa: PLC0415 - see above

        return run(options, streams)
