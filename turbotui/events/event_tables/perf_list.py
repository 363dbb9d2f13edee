"""The tables that are built into perf, read with `perf list -j` (perf-list(1); JSON since Linux 6.2).

perf lists the events of the CPU that it runs on and of the PMUs that it finds. For another machine, PERF_CPUID tells
perf the CPU, and SYSFS_PATH a copy of that machine's PMUs.
"""

from __future__ import annotations

import os
import re
import shutil
from typing import Final

from turbotui.events.errors import NoTablesError
from turbotui.events.event_tables.cpuid import cpuid_of
from turbotui.events.event_tables.json_rows import scale_of
from turbotui.events.event_tables.model import DEFAULT_CORE, VendorEvent, VendorMetric, VendorRows, VendorTables
from turbotui.events.kinds_of_core import X86_KIND
from turbotui.machine.host import Host, HostKind
from turbotui.machine.own_files import passing_files
from turbotui.machine.own_program import environment_of_children
from turbotui.machine.perf_errors import is_core_pmu
from turbotui.machine.pmus import DEVICES, list_pmus
from turbotui.machine.small_files import names_in, text_of
from turbotui.machine.uname import own_uname
from turbotui.quantities.documents import DocumentError, parse_json
from turbotui.untrusted import decoded, one_line

_PATIENCE: Final = 10.0  # seconds; perf takes 0.3 s with every PMU of a server
_WHAT: Final = ("list", "-j", "pmu", "metric")  # which excludes the kernel's tracepoints
_IN_TEXT: Final = ("list", "--details", "pmu")
_NAME_LINE: Final = re.compile(r"  (\S+) *")
_TERMS_LINE: Final = re.compile(r" {8}([\w-]+)/([^/\s]+)/ *")
_PER_PMU: Final = ("type", "cpumask", "cpus", "identifier", "alias")
_ONLINE: Final = "/sys/devices/system/cpu/online"
_WRAPPED: Final = ("/usr/lib/linux-tools/{0}/perf", "/usr/lib/linux-tools-{0}/perf")
"""The program that Ubuntu's script /usr/bin/perf runs, by the kernel's release (package linux-tools-common)."""
_NOT_VENDORS: Final = frozenset({"tool", "software", "tracepoint"})
_NEWER: Final = "package linux-perf (Debian 12: from bookworm-backports)"
_TEXT_EVENTS: Final = ("perf before 6.2 lists no units of events, so those of uncore PMUs are left out: a newer "
                       f"{_NEWER} has them.")
_TEXT_METRICS: Final = ("perf before 6.2 lists no units of metrics, so none is taken from it: a newer "
                        f"{_NEWER} has them.")
_REMEDY: Final = "name a folder of pmu-events JSON with --event-tables"

_HIDDEN: Final = ("perf lists no event that its vendor calls deprecated; a folder of pmu-events JSON has those "
                  "(--event-tables).")
"""Deprecated events, which `perf list -j` hides even with --deprecated (perf 7.2)."""
_FIRST_OF_A_NAME: Final = ("perf lists one metric of each name: of those that cpu_core and cpu_atom have both, such as "
                           "tma_backend_bound, that of cpu_core; a folder of pmu-events JSON has them all "
                           "(--event-tables).")
"""Metrics that `perf list -j` lists for one core type only: 16 names of Meteor Lake and Arrow Lake (perf 7.2)."""

_NONE: Final = "No event tables of the vendor"

_Object = dict[str, str]


class OldPerfError(NoTablesError):
    """perf lists no JSON, because it is older than Linux 6.2."""


class PerfTables:
    """perf's own tables for a machine, which may be another one than perf runs on."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._cpuid = cpuid_of(host)

    def key(self) -> str:
        """Return a key of everything that perf's answer depends on: its file, the CPU, and the PMUs.

        Raises:
            NoTablesError: perf is not installed, or the CPU does not tell its identifier.
            OSError: perf's file cannot be examined.
        """
        path = self._perf()
        parts = [self._cpuid, " ".join(list_pmus(self._host))]
        for name in (path, *(form.format(own_uname().release) for form in _WRAPPED)):
            if name == path or os.path.exists(name):
                status = os.stat(name)
                parts.append(f"{os.path.realpath(name)} {status.st_size} {status.st_mtime_ns}")
        return "\n".join(parts)

    def _perf(self) -> str:
        if (path := shutil.which("perf", path=environment_of_children(os.environ).get("PATH", ""))) is None:
            raise NoTablesError(f"{_NONE}: perf is not installed (package linux-perf); {_REMEDY}.")
        if not self._cpuid:
            raise NoTablesError(f"{_NONE}: the machine does not say what its CPU is; {_REMEDY}.")
        return path

    def read(self) -> VendorTables:
        """Run perf, and read its tables.

        Raises:
            NoTablesError: perf is not installed, fails, or does not know the CPU.
        """
        path = self._perf()
        release = decoded(_run(path, ("version",), {})).strip().removeprefix("perf version ")
        kinds = [name for name in list_pmus(self._host) if name.startswith(X86_KIND)]
        remedy = _REMEDY
        try:
            tables = parse_list(self._listed(path, _WHAT), f"perf {one_line(release)} list -j",
                                _FIRST_OF_A_NAME if len(kinds) > 1 else "")
        except OldPerfError:
            tables = parse_text(self._listed(path, _IN_TEXT), f"perf {one_line(release)} list")
            remedy = f"install a newer {_NEWER}, or {_REMEDY}"
        if not len(tables.events()):
            raise NoTablesError(f"{_NONE}: perf {one_line(release)} lists none for the CPU {self._cpuid} and the PMUs "
                                f"that this machine has; {remedy}.")
        return tables


    def _listed(self, path: str, words: tuple[str, ...]) -> bytes:
        if self._host.kind is HostKind.REAL:
            return _run(path, words, {})
        with passing_files(_pmu_files(self._host)) as folder:
            return _run(path, words, {"PERF_CPUID": self._cpuid, "SYSFS_PATH": f"{folder}/sys"})


def parse_text(answer: bytes, source: str) -> VendorTables:
    """Parse the output of `perf list --details pmu`, as perf has printed it before it knew JSON.

    It prints no factors and units, so only events of cores, which have none, are taken, and no metrics.

    Args:
        source: the origin of the output, for people to read.
    """
    events: dict[str, list[VendorEvent]] = {}
    topic, name, brief = "", "", ""
    for line in decoded(answer).splitlines():
        if line.endswith(":") and not line.startswith(" "):
            topic, name = line[:-1], ""
        elif match := _NAME_LINE.fullmatch(line):
            name, brief = match[1].lower(), ""
        elif (match := _TERMS_LINE.fullmatch(line)) and name and topic:
            if is_core_pmu(match[1]):
                events.setdefault(name, []).append(
                    VendorEvent(name=name, pmu=match[1], terms=match[2], brief=brief.strip("[]"), topic=topic))
            name = ""
        elif name:
            brief = f"{brief} {line.strip()}".lstrip()
    return VendorTables(source, VendorRows(events, lambda event: event), VendorRows({}, _metric),
                        lacks_events=_TEXT_EVENTS, lacks_metrics=_TEXT_METRICS)


def parse_list(answer: bytes, source: str, lacks_metrics: str = "") -> VendorTables:
    """Parse the output of `perf list -j`.

    Args:
        source: the origin of the output, for people to read.

    Raises:
        NoTablesError: the output has another form.
    """
    try:
        document = parse_json(answer)
    except DocumentError as error:
        raise NoTablesError(f"{_NONE}: what {source} prints cannot be read: {error}.") from error
    events: dict[str, list[_Object]] = {}
    metrics: dict[str, list[_Object]] = {}
    groups: dict[str, list[str]] = {}
    for row in document if isinstance(document, list) else ():
        if not isinstance(row, dict) or not all(isinstance(value, str) for value in row.values()):
            continue
        if "MetricName" in row and "MetricExpr" in row:
            key = row["MetricName"].lower()
            of = f"{key} {row.get('Unit', '')}"  # perf lists a metric once for each of its groups
            if of not in groups:
                metrics.setdefault(key, []).append(row)
            groups.setdefault(of, []).extend(row.get("MetricGroup", "").split(";"))
        elif row.get("Topic") and "/" in row.get("Encoding", "") and "EventName" in row and (
                row.get("Unit", "") not in _NOT_VENDORS):  # events of sysfs alone have no topic
            same = events.setdefault(_bare(row["EventName"]).lower(), [])
            if all(same_row["Encoding"] != row["Encoding"] for same_row in same):
                same.append(row)

    def metric(row: _Object) -> VendorMetric:
        of = f"{row['MetricName'].lower()} {row.get('Unit', '')}"
        return _metric(row, tuple(dict.fromkeys(group for group in groups[of] if group and group != "No_group")))

    return VendorTables(source, VendorRows(events, _event), VendorRows(metrics, metric), lacks_events=_HIDDEN,
                        lacks_metrics=lacks_metrics)


def _bare(name: str) -> str:
    """Return an event's name without the PMU that it may be written with, as in "amd_df/NAME/"."""
    return name.strip("/").rpartition("/")[2]


def _event(row: _Object) -> VendorEvent:
    pmu, _, terms = row["Encoding"].partition("/")
    scale, unit = scale_of(row.get("ScaleUnit", ""))
    return VendorEvent(name=_bare(row["EventName"]).lower(), pmu=pmu, terms=terms.rstrip("/"),
        brief=row.get("BriefDescription", ""), description=row.get("PublicDescription", ""), unit=unit, scale=scale,
        topic=row["Topic"], deprecated=row.get("Deprecated", "0") == "1")


def _metric(row: _Object, groups: tuple[str, ...]) -> VendorMetric:
    return VendorMetric(
        name=row["MetricName"], expression=row["MetricExpr"], groups=groups, brief=row.get("BriefDescription", ""),
        description=row.get("PublicDescription", ""), scale_unit=row.get("ScaleUnit", ""),
        threshold=row.get("MetricThreshold", ""), constraint=None,
        default_group=row.get("DefaultMetricgroupName", ""), pmu=row.get("Unit", "") or DEFAULT_CORE, topic="metrics",
    )


def _run(path: str, words: tuple[str, ...], environment: dict[str, str]) -> bytes:
    """Run perf, and return its output. Raises NoTablesError if perf cannot be run, fails, or takes too long."""
    import subprocess  # noqa: PLC0415 - only where the answer is not in the cache

    failure = f"{_NONE}: {path} {' '.join(words)}"
    try:
        done = subprocess.run([path, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE,  # noqa: S603 - no shell
                              check=False, env={**environment_of_children(os.environ), "LC_ALL": "C", **environment})
    except subprocess.TimeoutExpired as error:
        raise NoTablesError(f"{failure} does not answer within {_PATIENCE:g} s; {_REMEDY}.") from error
    except OSError as error:
        raise NoTablesError(f"{failure} cannot be run: {error.strerror}; {_REMEDY}.") from error
    if done.returncode != 0 or not done.stdout.strip():
        lines = [one_line(line) for line in decoded(done.stderr).splitlines() if line.strip()]
        words_of_perf = lines[0].removeprefix("Error:").strip() if lines else f"status {done.returncode}, and no output"
        kind = OldPerfError if "unknown switch" in words_of_perf else NoTablesError
        raise kind(f"{failure} fails: {words_of_perf}; {_REMEDY}.")
    return done.stdout


def _pmu_files(host: Host) -> dict[str, str]:
    """Return the files by which perf finds the PMUs of another machine."""
    files = {_ONLINE: text_of(host, _ONLINE)}
    for name in list_pmus(host):
        base = f"{DEVICES}/{name}"
        files |= {f"{base}/{file}": text for file in _PER_PMU if (text := text_of(host, f"{base}/{file}"))}
        files |= {f"{base}/format/{term}": text_of(host, f"{base}/format/{term}")
                  for term in names_in(host, f"{base}/format")}
    return {path.lstrip("/"): text for path, text in files.items() if text}
