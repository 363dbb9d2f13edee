"""`turbotui score history` and `turbotui score measured`: what was kept of earlier runs, and is the node slower now?"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Sequence
from dataclasses import replace

from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.formats import add_format_arguments, make_writer, print_tables
from turbotui.commands.watching import kind_of, label, open_host
from turbotui.errors import TurbotuiError, UsageError
from turbotui.features.score import history as score_history
from turbotui.features.score.history import Kept, Past
from turbotui.features.score.past_tables import TABLES, history_table, past_tables
from turbotui.features.score.text import against, damage_text, past_lines
from turbotui.features.score.trend import DAYS, Trend, trends
from turbotui.quantities.columns import Value
from turbotui.tables.envelope import Envelope, envelope_now

SLOWER = 5
"""Exit status of a check: the node is slower than its baseline, or than it was, by more than was allowed."""
DOUBTFUL = 6
"""Exit status of a check that has no sure answer."""
_EVERY = "all"


def positive(text: str, what: str) -> float:
    """A number from the command line.

    Raises:
        UsageError: it is not a positive number.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value <= 0:
        raise UsageError(f'{what} "{text}" is not a positive number')
    return value


def add_history_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `score history`."""
    add_machine_arguments(parser)
    parser.add_argument("--node", metavar="NAME", default="",
                        help=f"another node whose runs are kept in this folder, or {_EVERY} (default: this machine)")
    parser.add_argument("--baseline", metavar="NAME", help="runs with this baseline only")
    parser.add_argument("--days", metavar="N", default=f"{DAYS:g}",
                        help=f"what counts as now: so many days before the newest run ({DAYS:g}); before: the 30 days "
                        "before them")
    parser.add_argument("-n", "--last", metavar="N", type=int, default=20, help="runs in the text (20)")
    parser.add_argument("--slower", metavar="PERCENT",
                        help=f"check: exit status {SLOWER} when a median is lower than before by more than this, "
                        f"{DOUBTFUL} when there is nothing to compare with")
    add_format_arguments(parser, TABLES)


def add_measured_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `score measured`."""
    add_machine_arguments(parser)
    parser.add_argument("value", metavar="X", help="the score, in the baseline's unit")
    add_format_arguments(parser)


def history(arguments: argparse.Namespace) -> int:
    """Print what was kept, and what became of it."""
    days = positive(arguments.days, "--days")
    allowed = None if arguments.slower is None else positive(arguments.slower, "--slower")
    if arguments.last < 1:
        raise UsageError(f"-n {arguments.last}: at least one")
    found = []
    for path in _files(arguments):
        past = score_history.load(path)
        runs = tuple(one for one in past.runs if arguments.baseline in {None, one.baseline})
        found.append((path, Past(runs, past.damaged, past.later), trends(runs, days)))
    if not any(past.runs for _path, past, _trends in found):
        of = f" with the baseline {arguments.baseline}" if arguments.baseline else ""
        for _path, past, _trends in found:
            print("\n".join(damage_text(past)), end="\n" * bool(damage_text(past)))
        others = "; --node all shows the runs of other nodes" if score_history.paths(os.environ) else ""
        raise TurbotuiError(f"no run{of} is kept in {_place(arguments, [path for path, _past, _trends in found])}: "
                            f"turbotui score run keeps one{'' if arguments.node == _EVERY else others}")
    known = [(_envelope(past), past, seen) for _path, past, seen in found if past.runs]
    writer = make_writer(arguments, len(known))
    if writer is None:
        print("\n\n".join("\n".join(past_lines(*one, arguments.last)) for one in known))
    else:
        for envelope, past, seen in known:
            writer.write(envelope, past_tables(past.runs, seen))
        writer.end()
    return 0 if allowed is None else _status([trend for _of, _past, seen in known for trend in seen], allowed)


def _envelope(past: Past) -> Envelope:
    """The envelope of the runs of one node."""
    newest = past.runs[-1]
    facts: dict[str, Value] = {}
    if past.damaged or past.later:
        facts = {"damaged lines": " ".join(map(str, past.damaged)), "lines of a later version": past.later}
    return Envelope(newest.node, kind_of(newest.simulated), time.time_ns(), facts=facts, notes=tuple(damage_text(past)))


def _files(arguments: argparse.Namespace) -> Sequence[str]:
    if arguments.node == _EVERY:
        return score_history.paths(os.environ)
    if arguments.node:
        return [score_history.path_of(os.environ, arguments.node)]
    host = open_host(arguments)
    return [score_history.path_of(os.environ, host.name, label(host))]


def _place(arguments: argparse.Namespace, files: Sequence[str]) -> str:
    return files[0] if len(files) == 1 and arguments.node != _EVERY else score_history.folder(os.environ)


def _status(found: Sequence[Trend], allowed: float) -> int:
    """5 when something is slower by more than allowed and more than chance; 6 when nothing could be compared."""
    changes = [change for trend in found for change in trend.changes]
    if any(change.verdict == "slower" and -100.0 * (change.relative or 0.0) > allowed for change in changes):
        return SLOWER
    return 0 if any(change.relative is not None for change in changes) else DOUBTFUL


def measured(arguments: argparse.Namespace) -> int:
    """Note the score that the load of the newest run gave."""
    value = positive(arguments.value, "score")
    host = open_host(arguments)
    path = score_history.path_of(os.environ, host.name, label(host))
    runs = score_history.load(path).runs
    if not runs:
        raise TurbotuiError(f"no run is kept in {path} that {value:g} could be the score of: turbotui score run first")
    newest = runs[-1]
    score_history.store_measured(path, newest.key, value)
    noted = replace(newest, measured=value)
    print_tables(arguments, envelope_now(host), (history_table([noted]),), lambda: [_noted(noted, value)])
    return 0


def _noted(one: Kept, value: float) -> str:
    words = f"run of {one.when:%Y-%m-%d %H:%M:%S} UTC: measured {value:g} {one.unit}".rstrip()
    if one.predicted is None or one.error is None:
        return words
    return f"{words}, {against(value, one.predicted, one.error)}"
