"""Recording and alerting rules for Prometheus, generated from the table of metrics.

Rates are divided by the rate of the time that the collector counted, not by wall time. So numerator and denominator
cover the same intervals, whatever the phase of scrapes and samples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.dataclass import dataclass

WINDOW: Final = "2m"
"""The window of rates: eight scrapes at 15 s, two at a minute."""
METRIC: Final = re.compile(r"\b(turbotui_[a-z0-9_]+)(?:\{([^}]*)\})?")
"""A metric in PromQL with its selector."""
_TIME: Final = "turbotui_sampled_seconds_total"


@dataclass(frozen=True, slots=True)
class RecordingRule:
    """A rule that records a value."""

    name: str  # level:metric:operation (https://prometheus.io/docs/practices/rules/)
    expression: str  # PromQL
    text: str  # a description


@dataclass(frozen=True, slots=True)
class PromAlertRule:
    """A rule that alerts."""

    name: str
    expression: str  # PromQL
    lasting: str  # the time for which the expression must hold
    severity: str  # its label: "critical", "warning" or "info"
    summary: str  # one line for people
    description: str  # the meaning, and what to do


def counter_rate(metric: str, window: str = WINDOW) -> str:
    """Return the rate of a counter in PromQL."""
    return f"rate({metric}[{window}])"


def busy_ratio(level: str = "machine", window: str = WINDOW) -> str:
    """Return the busy share of CPUs: by MPERF, else by /proc/stat."""
    mperf, tsc = (counter_rate(f"turbotui_{level}_{name}_cycles_total", window) for name in ("mperf", "tsc"))
    kernel = over_time(f"turbotui_{level}_busy_seconds_total", level, window)
    return f"{mperf} / {tsc} or {kernel} / turbotui_{level}_cpus"


def busy_hertz(level: str = "machine", window: str = WINDOW) -> str:
    """Return the mean clock while not idle: by APERF and MPERF, else by perf's cycles."""
    aperf, mperf, cycles = (
        counter_rate(f"turbotui_{level}_{name}_cycles_total", window) for name in ("aperf", "mperf", "core"))
    base = f"{over_time(f'turbotui_{level}_tsc_cycles_total', level, window)} / turbotui_{level}_cpus"
    busy = counter_rate(f"turbotui_{level}_busy_seconds_total", window)
    return f"{aperf} / {mperf} * ({base}) or {cycles} / {busy}"


def over_time(metric: str, level: str = "machine", window: str = WINDOW) -> str:
    """Return a counter's rate over the collector's counted time, which turns joules into watts."""
    matching = "/" if level == "machine" else f"/ ignoring({level}) group_left()"
    return f"{counter_rate(metric, window)} {matching} {counter_rate(_TIME, window)}"


RECORDING: Final = (
    RecordingRule("instance:turbotui_busy:ratio", busy_ratio(), "Busy%, 0 to 1"),
    RecordingRule("instance:turbotui_busy:hertz", busy_hertz(), "Bzy_MHz, in Hz"),
    RecordingRule("instance:turbotui_performance:ratio",
                  f"{counter_rate('turbotui_machine_aperf_cycles_total')} / "
                  f"{counter_rate('turbotui_machine_mperf_cycles_total')}",
                  "Clock while not idle over the base clock: above 1 is turbo"),
    RecordingRule("instance:turbotui_instructions_per_cycle:ratio",
                  f"{counter_rate('turbotui_machine_instructions_total')} / "
                  f"{counter_rate('turbotui_machine_core_cycles_total')}",
                  "Instructions per cycle"),
    RecordingRule("instance:turbotui_package_energy:watts", over_time("turbotui_machine_package_energy_joules_total"),
                  "Watts of all packages"),
    RecordingRule("package:turbotui_package_energy:watts", over_time("turbotui_package_energy_joules_total", "package"),
                  "Watts of each package"),
    RecordingRule("instance:turbotui_dram_energy:watts", over_time("turbotui_machine_dram_energy_joules_total"),
                  "Watts of memory"),
    RecordingRule("instance:turbotui_platform_energy:watts", over_time("turbotui_machine_platform_energy_joules_total"),
                  "Watts of the platform"),
    RecordingRule("instance:turbotui_instruction_energy:joules",
                  f"{counter_rate('turbotui_machine_package_energy_joules_total')} / "
                  f"{counter_rate('turbotui_machine_instructions_total')} unless turbotui_machine_unmeasured_cpus > 0",
                  "Joules of the packages for an instruction, where all of their CPUs are measured"),
    RecordingRule("instance:turbotui_heat_throttled:ratio",
                  f"{over_time('turbotui_machine_heat_throttled_seconds_total')} / turbotui_machine_packages",
                  "Share of the time that packages were throttled for heat"),
    RecordingRule("instance:turbotui_power_throttled:ratio",
                  f"{over_time('turbotui_machine_power_throttled_seconds_total')} / turbotui_machine_packages",
                  "Share of the time that packages were held back by their power limit"),
)

ALERTS: Final = (
    PromAlertRule("TurbotuiThrottledByHeat", "instance:turbotui_heat_throttled:ratio > 0.01", "5m", "warning",
              "{{ $labels.instance }} is throttled for heat",
              "Its packages were throttled for heat in {{ $value | humanizePercentage }} of the time: look at fans, "
              "filters, inlet temperature and heat sinks; turbotui why says what it costs."),
    PromAlertRule("TurbotuiHeldByPowerLimit", "instance:turbotui_power_throttled:ratio > 0.5", "15m", "info",
                  "{{ $labels.instance }} is at its power limit",
                  "Its packages were held back by their power limit in {{ $value | humanizePercentage }} of the time."),
    PromAlertRule("TurbotuiSlowerThanBaseline",
              "turbotui_machine_lowest_performance_ratio < 0.95 * min without (benchmark) "
              "(turbotui_machine_baseline_performance_ratio)", "10m", "warning",
              "{{ $labels.instance }} is slower than its baseline",
              "Its slowest busy CPU runs at {{ $value | humanize }} of the base clock, more than 5 % below the least "
              "that turbotui score baseline kept for it: what waits for all CPUs waits for this one."),
    PromAlertRule("TurbotuiCounterLost",
                  "(turbotui_source_up == 0 and max_over_time(turbotui_source_up[1d]) == 1) "
                  "+ on (job, instance, source) group_left (reason) turbotui_source_reason_info", "10m", "warning",
                  "{{ $labels.instance }} gives no more of {{ $labels.source }}",
                  "It did within the last day: {{ $labels.reason }}. turbotui doctor says what to do."),
    PromAlertRule("TurbotuiCollectorStalled",
                  "time() - turbotui_snapshot_timestamp_seconds > 60 + 4 * turbotui_snapshot_interval_seconds", "2m",
                  "warning",
                  "The collector of {{ $labels.instance }} reads nothing any more",
                  "Its scrapes are answered with a snapshot of {{ $value | humanizeDuration }} ago."),
)


def recording_lines() -> Iterator[str]:
    """Return the file of recording rules as YAML."""
    yield from _head("recording")
    for rule in RECORDING:
        yield f"      # {rule.text}"
        yield f"      - record: {rule.name}"
        yield f"        expr: {_quoted(rule.expression)}"


def alert_lines() -> Iterator[str]:
    """Return the file of alerting rules as YAML."""
    yield from _head("alerts")
    for rule in ALERTS:
        yield f"      - alert: {rule.name}"
        yield f"        expr: {_quoted(rule.expression)}"
        yield f"        for: {rule.lasting}"
        yield from ("        labels:", f"          severity: {rule.severity}", "        annotations:")
        yield f"          summary: {_quoted(rule.summary)}"
        yield f"          description: {_quoted(rule.description)}"


def _head(name: str) -> Sequence[str]:
    return ("# Made by: turbotui export --print " + ("rules" if name == "recording" else name),
            "groups:", f"  - name: turbotui-{name}", "    rules:")


def _quoted(text: str) -> str:
    """Return a double-quoted scalar of YAML 1.2; all texts here are printable ASCII."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
