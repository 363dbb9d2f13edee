"""The columns of nodes: PromQL expressions over plain counters, which need no recording rules.

Names of metrics are those of `turbotui export --listen`. In an expression, {by} stands for the labels that name a node,
{w} for the window of rates, {s} for the user's selector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from turbotui.features.fleet.model import FleetNode
from turbotui.quantities.columns import PERCENT, Column, Scale, Thresholds, Value

FleetColumn: TypeAlias = Column[FleetNode]

_PROMQL: Final = "https://prometheus.io/docs/prometheus/latest/querying/"
AGE: Final = "Age"
CPUS: Final = "CPUs"
"""The column that has a value while the node is scraped; rates outlive the node by their window."""
LOOKBACK: Final = "1h"
"""The time for which the server still knows a node that vanished."""


def _rate(name: str) -> str:
    return f"sum by ({{by}}) (rate(turbotui_{name}{{s}}[{{w}}]))"


_OWN_CLOCK: Final = _rate("sampled_seconds_total")


def _per_second(promql: str) -> str:
    """Return a rate by the clock of the node's own collector.

    PromQL's rate extrapolates to the ends of its window, so that a node that has just come would look slow. The
    collector's clock is extrapolated by the same factor, so the quotient of both is the true rate.
    """
    return f"{promql} / {_OWN_CLOCK}"


_BUSY, _WALL, _CLOCKS = (_rate(f"machine_{name}_cycles_total") for name in ("mperf", "tsc", "aperf"))
_JOULES, _DONE = _rate("machine_package_energy_joules_total"), _rate("machine_instructions_total")
_CYCLES, _WORKED = _rate("machine_core_cycles_total"), _rate("machine_busy_seconds_total")
_LACKS: Final = "unless on ({by}) max by ({by}) (turbotui_machine_unmeasured_%s{s}) > 0"
"""Without the nodes whose exporter may not measure all CPUs, or packages."""
_POWER: Final = "max by ({by}) (rate(turbotui_package_power_throttled_seconds_total{s}[{w}]))"
_HEAT: Final = "max by ({by}) (rate(turbotui_package_heat_throttled_seconds_total{s}[{w}]))"
_CPUS: Final = "max by ({by}) (turbotui_machine_cpus{s})"
INFO: Final = ("turbotui_machine_info{s} or on ({by}) last_over_time(turbotui_machine_info{s}[" + LOOKBACK + "])")
"""One series for each node, with its facts as labels, vanished nodes included."""


def _of(name: str) -> Callable[[FleetNode], Value]:
    return lambda node: node.values.get(name)


def _label(name: str) -> Callable[[FleetNode], Value]:
    return lambda node: node.labels.get(name) or None


EXPRESSIONS: Final[dict[str, str]] = {}
"""PromQL of each column of `MEASURED`, by its id."""
POSSIBLE: Final[dict[str, tuple[float, float]]] = {}
"""The least and the greatest value that a machine can have, by column. An exporter or a rule of the server that gives
another one is wrong: a negative clock would be the oddest of a fleet."""
_SHARE: Final = (0.0, 110.0)


def _measured(title: str, unit: str, promql: str, help_text: str, *, possible: tuple[float, float], decimals: int = 1,
              width: int = 6, priority: int = 3, shown: bool = True, thresholds: Thresholds | None = None,
              scale: Scale | None = None) -> FleetColumn:
    EXPRESSIONS[title], POSSIBLE[title] = promql, possible
    return Column(title, unit, decimals, (title,), _of(title), help=help_text, document=_PROMQL, width=width,
                  priority=priority, default=shown, thresholds=thresholds, scale=scale)


NODE: Final[FleetColumn] = Column(
    "Node", "", -1, (), lambda node: node.name, width=18, priority=0, identity=True,
    help="The node, by the labels of --node; the default is the target that the server scrapes.")
WHY: Final[FleetColumn] = Column(
    "Why", "", -1, (), lambda node: node.why or None, width=48, priority=0,
    help="What is odd about the node, in a sentence: against its own baseline, against the limits of heat, and "
         "against the median of the nodes of its model.")
MODEL: Final[FleetColumn] = Column(
    "Model", "", -1, (), _label("model"), width=20, priority=6, help="The name of the processor.")

MEASURED: Final[tuple[FleetColumn, ...]] = (
    _measured("Busy%", "%", f"100 * {_BUSY} / {_WALL} or 100 * {_per_second(_WORKED)} / {_CPUS}",
              "Share of time in which CPUs did not sleep; of /proc/stat where there is no MPERF.", width=5,
              possible=_SHARE),
    _measured("Bzy_MHz", "MHz",
              f"({_CLOCKS} / {_BUSY} * {_per_second(_WALL)} / {_CPUS} or {_CYCLES} / {_WORKED}) / 1e6",
              "The clock of CPUs while they did not sleep; on Arm while they worked.", decimals=0, priority=1,
              possible=(0.0, 1e5)),
    _measured("NowMHz", "MHz", 'min by ({by}) (avg_over_time(turbotui_machine_moment_hertz{stat="min",s}[{w}])) / 1e6',
              "The clock of the slowest busy CPU of virtual machines, where no cycles are counted: the mean of the "
              "moments in the window.", decimals=0, priority=1, possible=(0.0, 1e5)),
    _measured("NowErr%", "%", '100 * max by ({by}) (turbotui_machine_moment_hertz_error_ratio{stat="max",s})',
              "How far a moment of that clock may be from the mean of its interval (rms).", width=5, priority=1,
              possible=(0.0, 100.0)),
    _measured("Ratio%", "%",
              "100 * max by ({by}) (avg_over_time(turbotui_machine_lowest_performance_ratio{s}[{w}])) / "
              "min by ({by}) (turbotui_machine_baseline_performance_ratio{s})",
              "The performance ratio (APERF to MPERF) of the slowest CPU that works, against the one of the baseline "
              "that turbotui score keeps on the node: below 100 the node is slower than when its score was measured.",
              priority=1, thresholds=Thresholds(95.0, 90.0, low=True), possible=(0.0, 1e4)),
    _measured("CoreTmp", "°C", 'max by ({by}) (turbotui_machine_temperature_celsius{stat="max",s})',
              "The hottest core.", decimals=0, width=5, priority=1, scale=Scale((100.0,), (20.0,)),
              possible=(-128.0, 255.0)),
    _measured("Throttled%", "%",
              f"clamp_max(100 * {_per_second(_HEAT)}, 100)",
              "Share of time in which heat held a package's clock back: the worst package.", width=5, priority=1,
              thresholds=Thresholds(1.0, 10.0), scale=PERCENT, possible=_SHARE),
    _measured("PwrLimit%", "%", f"clamp_max(100 * {_per_second(_POWER)}, 100)",
              "Share of time in which a limit of power held a package's clock back: the worst package. Under load that "
              "is what limits are for.", width=5, shown=False, scale=PERCENT, possible=_SHARE),
    _measured("PkgWatt", "W", f"{_per_second(_JOULES)} {_LACKS % 'packages'}", "Power of all packages.",
              decimals=1, priority=2, possible=(0.0, 1e6)),
    _measured("nJ/instr", "nJ", f"1e9 * {_JOULES} / {_DONE} {_LACKS % 'cpus'}",
              "Energy of the packages for an instruction: what the work costs here.", decimals=2, priority=4,
              possible=(0.0, 1e12)),
    _measured("IPC", "", f"{_DONE} / {_CLOCKS}", "Instructions for a cycle.", decimals=2, width=4, priority=5,
              possible=(0.0, 100.0)),
    _measured(CPUS, "", _CPUS, "CPUs that are online and measured.", decimals=0, width=5, priority=6, shown=False,
              possible=(1.0, 1e6)),
    _measured(AGE, "s", "time() - max by ({by}) (last_over_time(turbotui_snapshot_timestamp_seconds{s}["
              + LOOKBACK + "]))", "Seconds since the node's collector read its counters.", decimals=0, width=5,
              priority=4, thresholds=Thresholds(120.0, 300.0), possible=(-1e10, 1e10)),
)
"""The columns that a server is queried for."""

COLUMNS: Final[tuple[FleetColumn, ...]] = (
    NODE,
    Column("Odd", "", 1, (), lambda node: node.odd, width=4, priority=0, thresholds=Thresholds(1.0, 5.0),
           help="How odd the node is: 0 like the others, 1 worth a look, 10 as odd as one cause makes it."),
    WHY,
    *MEASURED,
    MODEL,
    Column("Job", "", -1, (), _label("job"), width=10, priority=7,
           help="The job of the server's configuration that scrapes the node."),
    Column("Container", "", -1, (), lambda node: node.labels.get("container") or node.labels.get("pod"), width=12,
           priority=8, default=False, help="The label container, or pod, where the node's series have one."),
)
"""All columns, in print order."""

HOUR: Final[FleetColumn] = Column(
    "Hour", "", -1, (), lambda node: node.trend or None, width=24, priority=5, default=False,
    help="The last hour of the column that is sorted by, else of Bzy_MHz, by the server: a full block is the most that "
         "any node in sight had.")
SCREEN_COLUMNS: Final = (*COLUMNS[:3], HOUR, *COLUMNS[3:])
"""All columns of the screen, in order."""


def query_of(column: FleetColumn, by: str, window: str, select: str = "") -> str:
    """Return the PromQL of a column for all nodes.

    Args:
        column: one of `MEASURED`.
        by: the labels that name a node, "instance" or "cluster,instance".
        window: the window of rates, "2m".
        select: the user's matchers, 'rack="r7"'; "" for all nodes.
    """
    return filled(EXPRESSIONS[column.id], by, window, select)


def filled(expression: str, by: str, window: str, select: str) -> str:
    """Fill labels, window and matchers into an expression."""
    text = expression.replace("{by}", by).replace("{w}", window)
    text = text.replace(",s}", f",{select}}}" if select else "}")
    return text.replace("{s}", f"{{{select}}}" if select else "")


def combined(queries: dict[str, str]) -> str:
    """Combine expressions into one query, whose label c tells the expression of each value.

    No two expressions give series with the same labels, so `or` keeps all of them.

    Args:
        queries: PromQL by the value of that label.
    """
    return " or ".join(f'label_replace({query}, "c", "{name}", "", "")' for name, query in queries.items())
