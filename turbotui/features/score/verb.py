"""`turbotui score`: baselines, the performance ratio under load, the predicted score, and its history."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from turbotui.commands.arguments import add_machine_arguments, whole
from turbotui.commands.formats import add_format_arguments, make_writer, marked, print_lines, print_tables, text_lines
from turbotui.commands.intervals import at_least_one
from turbotui.commands.sessions import kind_of, label, open_host, parse_interval
from turbotui.errors import TurbotuiError, UsageError
from turbotui.features.score import baselines
from turbotui.features.score import history as kept_history
from turbotui.features.score.engine import Load, check, keep
from turbotui.features.score.history import KeptRun, RunHistory
from turbotui.features.score.model import CLOCK, GREATEST, Baseline
from turbotui.features.score.past_tables import TABLES, history_table, past_tables
from turbotui.features.score.pooling import POOLED_TABLES, PooledRuns, pool
from turbotui.features.score.tables import RUN_TABLES, baseline_table, report_tables
from turbotui.features.score.text import against, damage_text, past_lines, report_lines
from turbotui.features.score.trend import DAYS, Trend, trends
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine, read_machine
from turbotui.quantities.columns import Value
from turbotui.quantities.plain_numbers import decimal_number
from turbotui.quantities.sentences import several
from turbotui.tables.envelope import Envelope, envelope_now
from turbotui.tables.formats import TEXT
from turbotui.untrusted import one_line

SLOWER = 5
"""The exit status of a check that found the node slower than its baseline or past, by more than allowed."""
DOUBTFUL = 6
"""The exit status of a check without a sure answer."""
_EVERY = "all"


def positive(text: str, what: str) -> float:
    """Parse a number of the command line that can be kept. Raises UsageError if the text is none."""
    value = decimal_number(text)
    if value is None or not 1 / GREATEST <= value <= GREATEST:
        raise UsageError(f'{what} "{text}" is no number from {1 / GREATEST:g} to {GREATEST:g}')
    return value


def add_history_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `score history`."""
    add_machine_arguments(parser)
    parser.add_argument("--node", metavar="NAME", default="",
                        help=f"another node whose runs are kept in this folder, or {_EVERY} (default: this machine)")
    parser.add_argument("--baseline", metavar="NAME", help="runs with this baseline only")
    parser.add_argument("--days", metavar="N", default=f"{DAYS:g}",
                        help=f"what counts as now: so many days before the newest run ({DAYS:g}); before: the 30 days "
                        "before them")
    parser.add_argument("-n", "--last", metavar="N", type=whole, default=20, help="runs in the text (20)")
    parser.add_argument("--slower", metavar="PERCENT",
                        help=f"check: exit status {SLOWER} when a median is lower than before by more than this, "
                        f"{DOUBTFUL} when there is nothing to compare with")
    add_format_arguments(parser, TABLES)


def add_measured_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `score measured`."""
    add_machine_arguments(parser)
    parser.add_argument("value", metavar="X", help="the score, in the baseline's unit")
    add_format_arguments(parser)


def history(arguments: argparse.Namespace) -> int:
    """Print the kept runs, and the trends."""
    days = positive(arguments.days, "--days")
    allowed = None if arguments.slower is None else positive(arguments.slower, "--slower")
    at_least_one(arguments.last, what="")
    histories = []
    for path in _files(arguments):
        past = kept_history.load(path)
        runs = tuple(run for run in past.runs if arguments.baseline in {None, run.baseline})
        histories.append((path, RunHistory(runs, past.damaged, past.later), trends(runs, days)))
    if not any(past.runs for _path, past, _trends in histories):
        of = f" with the baseline {arguments.baseline}" if arguments.baseline else ""
        for _path, past, _trends in histories:
            print("\n".join(damage_text(past)), end="\n" * bool(damage_text(past)))
        others = "; --node all shows the runs of other nodes" if kept_history.paths(os.environ) else ""
        raise TurbotuiError(f"no run{of} is kept in {_place(arguments, [path for path, _past, _trends in histories])}: "
                            f"turbotui score run keeps one{'' if arguments.node == _EVERY else others}")
    known = [(_envelope(past), past, seen) for _path, past, seen in histories if past.runs]
    if (writer := make_writer(arguments, len(known))) is None:
        print("\n\n".join("\n".join(marked(past[0], past_lines(*past, arguments.last))) for past in known))
    else:
        for envelope, past, seen in known:
            writer.write(envelope, past_tables(past.runs, seen))
        writer.end()
    return 0 if allowed is None else _status([trend for _of, _past, seen in known for trend in seen], allowed)


def _envelope(past: RunHistory) -> Envelope:
    newest = past.runs[-1]
    facts: dict[str, Value] = {}
    if past.damaged or past.later:
        facts = {"damaged lines": " ".join(map(str, past.damaged)), "lines of a later version": past.later}
    return Envelope(newest.node, kind_of(newest.simulated), time.time_ns(), facts=facts, notes=tuple(damage_text(past)))


def _files(arguments: argparse.Namespace) -> Sequence[str]:
    if arguments.node == _EVERY:
        return kept_history.paths(os.environ)
    if arguments.node:
        return [kept_history.path_of(os.environ, arguments.node)]
    host = open_host(arguments)
    return [kept_history.path_of(os.environ, host.name, label(host))]


def _place(arguments: argparse.Namespace, files: Sequence[str]) -> str:
    return files[0] if len(files) == 1 and arguments.node != _EVERY else kept_history.folder(os.environ)


def _status(status_trends: Sequence[Trend], allowed: float) -> int:
    """Return 5 if a load is slower by more than allowed and by chance, 6 if nothing could be compared, else 0."""
    changes = [change for trend in status_trends for change in trend.changes]
    if any(change.verdict == "slower" and -100.0 * (change.relative or 0.0) > allowed for change in changes):
        return SLOWER
    return 0 if any(change.relative is not None for change in changes) else DOUBTFUL


def measured(arguments: argparse.Namespace) -> int:
    """Store the score that the newest run's load printed."""
    value = positive(arguments.value, "score")
    host = open_host(arguments)
    path = kept_history.path_of(os.environ, host.name, label(host))
    if not (runs := kept_history.load(path).runs):
        raise TurbotuiError(f"no run is kept in {path} that {value:g} could be the score of: turbotui score run first")
    newest = runs[-1]
    kept_history.store_measured(path, newest.key, value)
    noted = replace(newest, measured=value)
    print_tables(arguments, envelope_now(host), (history_table([noted]),), lambda: [_noted(noted, value)])
    return 0


def _noted(run: KeptRun, value: float) -> str:
    words = f"run of {run.when:%Y-%m-%d %H:%M:%S} UTC: measured {value:g} {run.unit}".rstrip()
    if run.predicted is None or run.error is None:
        return words
    return f"{words}, {against(value, run.predicted, run.error)}"


_TURBO_SAID = {"on": "on here", "unknown": "perhaps on here, which this machine does not tell"}
_SAME_RATIO = 1e-4  # users give a ratio with four or five digits
_STATUS = {"slower": SLOWER, "doubtful": DOUBTFUL}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs and their options."""
    parser.epilog = (f"Exit status of a check (--slower): 0 not slower, {SLOWER} slower, {DOUBTFUL} no sure answer; 3 "
                     "where the machine has no APERF and MPERF, and no clock at moments.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="baseline|run|measured|history|list")
    store = verbs.add_parser("baseline", help="store a score that was measured, for this hardware configuration")
    add_machine_arguments(store)
    store.add_argument("--name", required=True, help="of the benchmark")
    store.add_argument("--unit", required=True, help="of the score, GFLOPS")
    store.add_argument("--value", metavar="X", help="the score; more is better")
    store.add_argument("--from", dest="runs", metavar="FILE", action="append", default=[],
                       help="instead of --value and --ratio: the medians over the nodes whose runs these files keep "
                       f"($XDG_DATA_HOME/turbotui/scores/NODE.jsonl), with means and outliers; {_EVERY}: all files "
                       "there; may be given several times")
    store.add_argument("--load", metavar="NAME", help="with --from: runs of this command only")
    store.add_argument("--anyway", action="store_true",
                       help="with --from: take nodes whose hardware is configured otherwise, with a warning")
    store.add_argument("--ratio", metavar="R",
                       help="the lowest ratio while it ran (default 1, which is true with turbo off only)")
    store.add_argument("--busy-cpus", metavar="N", type=whole,
                       help="how many CPUs were busy while it ran (default: those of the newest kept run with this "
                            "ratio, else all)")
    store.add_argument("--busy", metavar="PERCENT",
                       help="for how much of the time they were busy (default: as in that run, else not compared)")
    add_format_arguments(store, POOLED_TABLES)
    run_ = verbs.add_parser("run", help="measure the ratio under load, predict the score, and keep both")
    add_machine_arguments(run_)
    run_.add_argument("--baseline", metavar="NAME", help="predict the score of this baseline")
    run_.add_argument("-i", "--interval", metavar="SECONDS", default="5",
                      help="the length of a run without a command (5)")
    run_.add_argument("--runs", metavar="N", type=whole, default=1,
                      help="the number of runs, of which mean and median are taken (1)")
    run_.add_argument("--slower", metavar="PERCENT",
                      help=f"fleet check: exit status {SLOWER} when the predicted score is lower by more than this, "
                      f"{DOUBTFUL} when there are warnings")
    run_.add_argument("--anyway", action="store_true",
                      help="compare with the baseline although this machine's model, CPUs, memory, DIMMs, BIOS, "
                      "microcode or turbo differ from its machine's: warn instead of refusing")
    run_.add_argument("--pattern", metavar="REGEX",
                      help="a pattern that finds the score in the command's output, such as 'GFLOPS: ([0-9.]+)': the "
                           "score is kept")
    add_format_arguments(run_, RUN_TABLES)
    run_.add_argument("command", nargs="*", metavar="-- command", help="the load, run once for each run")
    add_measured_arguments(verbs.add_parser("measured", help="store the score that the newest run's load achieved"))
    add_history_arguments(verbs.add_parser("history", help="the stored runs: is this node slower than before?"))
    add_format_arguments(verbs.add_parser("list", help="the stored baselines"))


def run(arguments: argparse.Namespace) -> int:
    """Store, measure, look back or list."""
    path = baselines.path_of(os.environ)
    match arguments.verb:
        case "baseline":
            return _store(arguments, path)
        case "list":
            known = baselines.load(path)
            if not known and arguments.format == TEXT:
                print(f"no baseline is stored in {path}")
                return 0
            _print_baselines(arguments, list(known.values()))
            return 0
        case "history":
            return history(arguments)
        case "measured":
            return measured(arguments)
        case _:
            return _measure(arguments, path)


def _store(arguments: argparse.Namespace, path: str) -> int:
    for word, text in (("--name", arguments.name), ("--unit", arguments.unit)):
        if not text.strip():
            raise UsageError(f'{word} "{text}": it needs a word that is seen')
    if arguments.runs:
        return _store_pooled(arguments, path)
    if arguments.load is not None or arguments.anyway:
        raise UsageError("--load and --anyway choose among the runs that --from names")
    if arguments.value is None:
        raise UsageError("the score is missing: give --value X, or --from FILE for the runs of several nodes")
    value = positive(arguments.value, "--value")
    ratio = 1.0 if arguments.ratio is None else positive(arguments.ratio, "--ratio")
    machine = read_machine(open_host(arguments))
    configuration = baselines.configuration(machine)
    same = _run_of(arguments, machine, ratio)
    if same is not None and CLOCK in same.configuration:
        configuration[CLOCK] = same.configuration[CLOCK]
    cpus, busy = _busy(arguments, machine, same)
    baseline = Baseline(arguments.name, arguments.unit, value, ratio, configuration, label(machine.host), cpus, busy)
    if arguments.ratio is None and configuration["turbo"] != "off":
        print(f"turbotui: warning: ratio 1 is stored, which is that of a run without turbo, and turbo is "
              f"{_TURBO_SAID[configuration['turbo']]}: measure the ratio while the benchmark runs with turbotui score "
              "run -- COMMAND, and give it as --ratio R", file=sys.stderr)
    baselines.store(path, baseline)
    _print_baselines(arguments, [baseline])
    return 0


def _store_pooled(arguments: argparse.Namespace, path: str) -> int:
    """Store the medians of the kept runs of several nodes."""
    if [option for option in (arguments.value, arguments.ratio, arguments.busy_cpus, arguments.busy)
        if option is not None]:
        raise UsageError("--from takes score, ratio and load from the runs: leave --value, --ratio and --busy out")
    files = [file for run in arguments.runs
             for file in (kept_history.paths(os.environ) if run == _EVERY else (run,))]
    pasts = [(file, kept_history.load(file)) for file in dict.fromkeys(files)]
    for file, past in pasts:
        if not past.runs:
            raise TurbotuiError(f"no run is kept in {file}: turbotui score run keeps one")
        for line in damage_text(past):
            print(f"turbotui: {file}: {line}", file=sys.stderr)
    if not pasts:
        raise TurbotuiError(f"no run is kept in {kept_history.folder(os.environ)}: turbotui score run keeps one")
    runs = pool([run for _file, past in pasts for run in past.runs], arguments.name, arguments.unit,
                load=arguments.load, anyway=arguments.anyway)
    baselines.store(path, runs.baseline)
    _print_baselines(arguments, [runs.baseline], runs)
    return 0


def _run_of(arguments: argparse.Namespace, machine: Machine, ratio: float) -> KeptRun | None:
    """Return the newest kept run with a ratio that was given; None if there is none."""
    if arguments.ratio is None:
        return None
    host = machine.host
    same = [run for run in kept_history.load(kept_history.path_of(os.environ, host.name, label(host))).runs
            if run.ratio is not None and run.busy_cpus and math.isclose(run.ratio, ratio, rel_tol=_SAME_RATIO)]
    return same[-1] if same else None


def _busy(arguments: argparse.Namespace, machine: Machine, same: KeptRun | None) -> tuple[int | None, float | None]:
    """Return the load of a baseline: as given, else as in the newest kept run with its ratio."""
    cpus: int | None = arguments.busy_cpus
    there = len(machine.topology.cpus)
    if cpus is not None and not 1 <= cpus <= there:
        raise UsageError(f"--busy-cpus {cpus}: this machine has {several(there, 'CPU')}")
    busy = None if arguments.busy is None else positive(arguments.busy, "--busy") / 100.0
    if busy is not None and busy > 1.0:
        raise UsageError(f"--busy {arguments.busy}: more than 100 % of the time")
    if cpus is None and busy is None and same is not None:
        return same.busy_cpus, same.busy
    return cpus, busy


def _print_baselines(arguments: argparse.Namespace, known: Sequence[Baseline],
                     pooled: PooledRuns | None = None) -> None:
    """Print each machine's baselines in an envelope of its own, and the runs that one was made of."""
    labels = list(dict.fromkeys(baseline.simulated for baseline in known)) or [""]
    writer = make_writer(arguments, len(labels))
    for about in labels:
        name = about.partition(" machine ")[2] if about else LinuxHost().name
        envelope = Envelope(name, kind_of(about), time.time_ns(), notes=() if pooled is None else pooled.notes)
        table = baseline_table([baseline for baseline in known if baseline.simulated == about])
        if writer is not None:
            writer.write(envelope, (table, *(() if pooled is None else pooled.tables())))
        else:
            print_lines(marked(envelope, (*text_lines(envelope, table),
                                          *(() if pooled is None else pooled.lines(envelope)))))
    if writer is not None:
        writer.end()


def _load(arguments: argparse.Namespace) -> Load:
    """Return the command, and the pattern of its score."""
    if arguments.pattern is None:
        return Load(tuple(arguments.command))
    if not arguments.command:
        raise UsageError("--pattern looks at what a command prints: give one after --")
    try:
        return Load(tuple(arguments.command), re.compile(arguments.pattern))
    except re.error as error:
        raise UsageError(f'--pattern "{arguments.pattern}" is no regular expression: {error}') from error


def _baseline(arguments: argparse.Namespace, path: str) -> Baseline | None:
    if arguments.baseline is None:
        if arguments.slower is not None:
            raise UsageError("--slower compares with a baseline: give --baseline NAME")
        return None
    known = baselines.load(path)
    if arguments.baseline not in known:
        raise UsageError(f'no baseline "{arguments.baseline}"; there are: {", ".join(known) or "none"}')
    return known[arguments.baseline]


def _measure(arguments: argparse.Namespace, path: str) -> int:
    seconds = parse_interval(arguments.interval)
    at_least_one(arguments.runs, "--runs", "")
    allowed = None if arguments.slower is None else positive(arguments.slower, "--slower")
    baseline, load = _baseline(arguments, path), _load(arguments)
    machine = read_machine(open_host(arguments))
    report = check(machine, seconds=seconds, runs=arguments.runs, load=load, baseline=baseline, allowed=allowed,
                   anyway=arguments.anyway)
    report = keep(machine, report, load)
    envelope = envelope_now(machine.host, notes=(*report.warnings, *report.notes))
    print_tables(arguments, envelope, report_tables(report), lambda: marked(envelope, report_lines(envelope, report)))
    for note in report.notes:
        print(f"turbotui: {one_line(note)}", file=sys.stderr)
    return _STATUS.get(report.verdict, 0)
