"""Stores every measurement of `turbotui score run`: one line of JSON each, a file for each node.

Directory: $XDG_DATA_HOME/turbotui/scores (XDG Base Directory Specification 0.8). A line is appended and never changed,
so a line that was cut off by a crash or a full disk, or is of a later version, affects only itself. Fleets share homes
over the network, so each node writes its own file.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, replace
from datetime import UTC, datetime
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError
from turbotui.features.score.model import GREATEST, Baseline, Prediction, Run, Throttling
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.machine.own_files import append_lines, data_folder
from turbotui.quantities.documents import parse_json
from turbotui.untrusted import in_cell, json_text, visible

FORMAT: Final = 1
_SUFFIX: Final = ".jsonl"
_LARGEST: Final = 1 << 26  # most bytes of a file, for an hourly run over ten years
_FIRST_YEAR: Final = 1970  # clocks without a battery begin there, and a hundred years earlier is still a valid date


@dataclass(frozen=True, slots=True)
class KeptRun:
    """One measurement of the history file."""

    when: datetime  # its end, UTC
    node: str  # the host name, or the simulated machine's name
    simulated: str  # the label of a simulated or recorded machine, "" for a real one
    configuration: Mapping[str, str]  # of the hardware, as for baselines
    load: str  # name of the command; "" if everything that ran on the machine was measured
    seconds: float  # the length
    ratio: float | None  # the lowest ratio of a busy CPU; None if no CPU was busy
    lowest_cpu: int | None
    busy_cpus: int  # the number of busy CPUs
    busy: float | None  # mean share of the interval for which they were busy, 0 to 1
    state: str  # as `score.Run.state`
    throttling: Throttling  # what held the CPUs back
    # baseline, unit: name and unit of the baseline, "" without one
    baseline: str = ""
    unit: str = ""
    # predicted, error: the score, and half the width of its error bar
    predicted: float | None = None
    error: float | None = None
    measured: float | None = None  # the score that the load itself printed
    warnings: tuple[str, ...] = ()  # why the ratio may not be that of the load
    key: str = field(default="", compare=False)  # the key for `store_measured`


@dataclass(frozen=True, slots=True)
class RunHistory:
    """The measurements in a file of one node."""

    runs: tuple[KeptRun, ...] = ()  # by time, the newest last
    damaged: tuple[int, ...] = ()  # numbers of the lines that cannot be read, from 1
    later: int = 0  # the number of lines of a later version of turbotui


def kept_run(run: Run, when: datetime, *, node: str, simulated: str, configuration: Mapping[str, str], load: str,
             baseline: Baseline | None, prediction: Prediction | None, measured: float | None) -> KeptRun:
    """Make a measurement for the history file, with a unique key."""
    return KeptRun(
        when=when.astimezone(UTC).replace(microsecond=0), node=node, simulated=simulated, configuration=configuration,
        load=load, seconds=run.seconds, ratio=run.ratio,
        lowest_cpu=None if run.lowest is None else run.lowest.cpu, busy_cpus=run.busy_cpus, busy=run.load,
        state=run.state, throttling=run.throttling, baseline="" if baseline is None else baseline.name,
        unit="" if baseline is None else baseline.unit, predicted=None if prediction is None else prediction.value,
        error=None if prediction is None else prediction.error, measured=measured, warnings=run.warnings,
        key=secrets.token_hex(6),
    )


def folder(environment: Mapping[str, str]) -> str:
    """Return the directory with the files of all nodes, beside the baselines."""
    return os.path.join(data_folder(environment), "scores")


def path_of(environment: Mapping[str, str], node: str, simulated: str = "") -> str:
    """Return the path of one node's file; simulated machines never share one with real ones."""
    word = re.sub(r"[^A-Za-z0-9._-]+", "-", node).lstrip(".-") or "node"
    kind = f".{simulated.partition(' ')[0].lower()}" if simulated else ""
    return os.path.join(folder(environment), f"{word}{kind}{_SUFFIX}")


def paths(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the files of all nodes."""
    where = folder(environment)
    try:
        names = sorted(in_cell(visible(name)) for name in os.listdir(where) if name.endswith(_SUFFIX))
        return tuple(os.path.join(where, name) for name in names)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise TurbotuiError(f"the kept scores in {where} cannot be listed: {error.strerror}") from error


def store(path: str, runs: Sequence[KeptRun]) -> None:
    """Append measurements. Raises TurbotuiError if the file cannot be written."""
    _append(path, [run_json(run) for run in runs])


def store_measured(path: str, key: str, value: float) -> None:
    """Append the measured score of a kept measurement; of several, the last one counts.

    Raises:
        TurbotuiError: the file cannot be written.
    """
    _append(path, [{"measured": value, "of": key}])


def _append(path: str, items: Sequence[Mapping[str, object]]) -> None:
    lines = "".join(json_text({"format": FORMAT, **item}) + "\n" for item in items).encode()
    try:
        append_lines(path, lines)
    except OSError as error:
        raise TurbotuiError(f"the scores cannot be kept in {path}: {error.strerror}; set XDG_DATA_HOME") from error


def load(path: str) -> RunHistory:
    """Read the measurements in a file; none if there is no file.

    Raises:
        TurbotuiError: the file cannot be read at all.
    """
    try:
        lines = read_given(path, _LARGEST).data.split(b"\n")
    except GivenFileError as error:
        if error.missing:
            return RunHistory()
        raise TurbotuiError(f"the kept scores in {path} cannot be read: {error.why}") from error
    runs: list[KeptRun] = []
    measured: dict[str, float] = {}
    damaged: list[int] = []
    later = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            data = parse_json(line)
            if not isinstance(data, dict):
                raise TypeError  # noqa: TRY301 - one handler for every kind of damage
            if _number(data, "format") > FORMAT:
                later += 1
            elif "of" in data:
                measured[str(data["of"])] = _positive(data, "measured")
            else:
                runs.append(_run(data))
        except (ValueError, KeyError, TypeError):
            damaged.append(number)
    loaded = [replace(run, measured=measured.get(run.key, run.measured)) for run in runs]
    return RunHistory(tuple(sorted(loaded, key=lambda run: run.when)), tuple(damaged), later)


def run_json(run: KeptRun) -> dict[str, object]:
    """Convert a measurement to JSON, with keys named after attributes; scores are in `unit`."""
    throttling = {"active": run.throttling.active, **asdict(run.throttling)}
    return {**asdict(run), "when": f"{run.when:%Y-%m-%dT%H:%M:%SZ}", "throttling": throttling}


def _run(data: Mapping[str, object]) -> KeptRun:
    """Restore a kept measurement. Raises ValueError, KeyError or TypeError if the data is damaged."""
    configuration, throttling, warnings = data["configuration"], data["throttling"], data.get("warnings", [])
    if not isinstance(configuration, dict) or not isinstance(throttling, dict) or not isinstance(warnings, list):
        raise TypeError
    reasons = throttling.get("reasons")
    cpu, heat = _optional(data, "lowest_cpu"), _optional(throttling, "heat")
    when = datetime.strptime(str(data["when"]), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    if when.year < _FIRST_YEAR:
        raise ValueError("when")
    return KeptRun(
        when=when,
        node=str(data["node"]), simulated=str(data["simulated"]),
        configuration={str(key): str(value) for key, value in configuration.items()}, load=str(data["load"]),
        seconds=_number(data, "seconds"), ratio=_score(data, "ratio"), lowest_cpu=None if cpu is None else int(cpu),
        busy_cpus=int(_number(data, "busy_cpus")), busy=_optional(data, "busy"), state=str(data["state"]),
        throttling=Throttling(None if heat is None else int(heat), _optional(throttling, "limited"),
                              tuple(map(str, reasons)) if isinstance(reasons, list) else None),
        baseline=str(data.get("baseline", "")), unit=str(data.get("unit", "")), predicted=_score(data, "predicted"),
        error=_optional(data, "error"), measured=_score(data, "measured"),
        warnings=tuple(map(str, warnings)), key=str(data["key"]),
    )


def _number(data: Mapping[str, object], key: str) -> float:
    number = data[key]
    if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) <= GREATEST:
        raise ValueError(key)
    return number


def _positive(data: Mapping[str, object], key: str) -> float:
    """Return a number that must be above 0, because it is a divisor."""
    number = _number(data, key)
    if number < 1 / GREATEST:
        raise ValueError(key)
    return number


def _score(data: Mapping[str, object], key: str) -> float | None:
    return None if data.get(key) is None else _positive(data, key)


def _optional(data: Mapping[str, object], key: str) -> float | None:
    return None if data.get(key) is None else _number(data, key)
