"""The files of `turbotui export --print`, for setting up Prometheus, Grafana, systemd and PCP."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from turbotui.dataclass import dataclass
from turbotui.features.export.live import rules
from turbotui.features.export.live.rules import alert_lines, recording_lines
from turbotui.untrusted import json_text

_WINDOW: Final = "$__rate_interval"
_OF: Final = 'instance=~"$instance"'
_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_WIDE, _HIGH = 24, 8  # Grafana's grid: a row has 24 columns
_SCHEMA: Final = 39  # Grafana 11; later ones migrate it


@dataclass(frozen=True, slots=True)
class DashboardPanel:
    """A panel."""

    title: str
    unit: str  # Grafana's name of the unit
    queries: Sequence[tuple[str, str]]  # PromQL and the legend of each curve
    text: str = ""  # the description
    width: int = 12  # width in 24ths of the row
    kind: str = "timeseries"  # "timeseries", "stat" or "table"
    limits: tuple[float, float] | None = None  # amber and red, for a "stat"
    most: float | None = None  # the axis's upper end; None for automatic


def _rate(metric: str) -> str:
    return rules.counter_rate(f"turbotui_{metric}_total", _WINDOW)


def _over_time(metric: str, level: str = "machine") -> str:
    return rules.over_time(f"turbotui_{level}_{metric}_seconds_total", level, _WINDOW)


def _watts(metric: str, level: str = "machine") -> str:
    return rules.over_time(f"turbotui_{level}_{metric}_joules_total", level, _WINDOW)


_BUSY: Final = rules.busy_ratio("machine", _WINDOW)
_CLOCK: Final = rules.busy_hertz("machine", _WINDOW)
_HEAT: Final = f"{_over_time('heat_throttled')} / turbotui_machine_packages"
_HOTTEST: Final = 'turbotui_machine_temperature_celsius{stat="max"}'
_NAME: Final = "{{instance}}"

PANELS: Final = (
    DashboardPanel("Busy", "percentunit", [(_BUSY, _NAME)], width=5, kind="stat"),
    DashboardPanel("Clock while busy", "hertz", [(_CLOCK, _NAME)], width=5, kind="stat"),
    DashboardPanel("Packages", "watt", [(_watts("package_energy"), _NAME)], width=4, kind="stat"),
    DashboardPanel("Hottest", "celsius", [(_HOTTEST, _NAME)], width=5, kind="stat", limits=(85.0, 95.0)),
    DashboardPanel("Throttled for heat", "percentunit", [(_HEAT, _NAME)], width=5, kind="stat", limits=(0.001, 0.01)),
    DashboardPanel("Busy share of CPUs", "percentunit", [
        (_BUSY, "{{instance}} mean"),
        ("turbotui_machine_busy_ratio", "{{instance}} {{stat}}"),
    ], "Mean of all CPUs, and the idlest, the busiest and the 95th percentile of them.", most=1.0),
    DashboardPanel("Clock while busy", "hertz", [
        (_CLOCK, "{{instance}} mean"),
        ("turbotui_machine_busy_hertz", "{{instance}} {{stat}}"),
        ("turbotui_machine_base_hertz", "{{instance}} base clock"),
        ("turbotui_machine_moment_hertz", "{{instance}} {{stat}} at a moment"),
    ], "By APERF and MPERF, of CPUs that did something; of virtual machines, which count no cycles, timed at moments."),
    DashboardPanel("Power", "watt", [
        (_watts("energy", "package"), "{{instance}} package {{package}}"),
        (_watts("dram_energy"), "{{instance}} memory"),
        (_watts("platform_energy"), "{{instance}} platform"),
        ("turbotui_package_pl1_watts", "{{instance}} PL1 of {{package}}"),
        (_watts("energy", "meter"), "{{instance}} {{meter}}"),
        ("turbotui_meter_watts", "{{instance}} {{meter}}"),
    ], "Joules over the time that the collector counted."),
    DashboardPanel("Temperature", "celsius", [
        ("turbotui_machine_temperature_celsius", "{{instance}} {{stat}}"),
        ("turbotui_machine_temperature_limit_celsius", "{{instance}} limit"),
    ], "Of cores; of core dies or packages where cores have no sensor."),
    DashboardPanel("Held back", "percentunit", [
        (_over_time("heat_throttled", "package"), "{{instance}} heat, package {{package}}"),
        (_over_time("power_throttled", "package"), "{{instance}} power limit, package {{package}}"),
    ], "Share of the time.", most=1.0),
    DashboardPanel("Performance ratio", "none", [
        ("turbotui_machine_lowest_performance_ratio", "{{instance}} slowest busy CPU"),
        ("turbotui_machine_baseline_performance_ratio", "{{instance}} baseline {{benchmark}}"),
    ], "Clock of the slowest busy CPU over the base clock, and what it was when turbotui score stored a baseline."),
    DashboardPanel("Instructions per cycle", "none", [
        (f"{_rate('package_instructions')} / {_rate('package_core_cycles')}", "{{instance}} package {{package}}"),
    ], "Retired, by cycles while not idle."),
    DashboardPanel("Busy share of L3 caches", "percentunit", [
        (f"{_rate('l3_mperf_cycles')} / {_rate('l3_tsc_cycles')}", "{{instance}} L3 {{l3}}"),
    ], "Machines with several L3 caches in a package have it.", most=1.0),
    DashboardPanel("Interrupts and context switches", "ops", [
        (_rate("machine_interrupts"), "{{instance}} interrupts"),
        (_rate("machine_context_switches"), "{{instance}} context switches"),
    ]),
    DashboardPanel("Waiting for a CPU", "percentunit", [
        (_over_time("cpu_pressure"), "{{instance}} some task waits"),
        (f"{_over_time('steal')} / turbotui_machine_cpus", "{{instance}} stolen by the hypervisor"),
    ], "The kernel's pressure stall information, and the steal time of /proc/stat.", most=1.0),
    DashboardPanel("Sources that give nothing", "none", [("turbotui_source_reason_info", "")],
                   "What the hardware has and is not read, and why: turbotui doctor.", kind="table"),
    DashboardPanel("The collector's own CPU time", "percentunit", [(_rate("collector_cpu_seconds"), _NAME)],
                   "Of one CPU."),
)


def dashboard_text() -> str:
    """Return the dashboard as Grafana imports it."""
    return json_text({
        "title": "turbotui", "uid": "turbotui", "tags": ["turbotui", "cpu"], "schemaVersion": _SCHEMA, "version": 1,
        "editable": True, "graphTooltip": 1, "refresh": "30s", "timezone": "browser",
        "time": {"from": "now-1h", "to": "now"}, "annotations": {"list": []}, "links": [],
        "templating": {"list": [
            {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "current": {},
             "hide": 0, "includeAll": False, "multi": False, "options": [], "refresh": 1, "regex": ""}, _instances()]},
        "panels": _panels(),
    }, indent=2) + "\n"


def _instances() -> dict[str, Any]:
    query = "label_values(turbotui_machine_info, instance)"
    return {"name": "instance", "label": "Machine", "type": "query", "datasource": _SOURCE, "definition": query,
            "query": {"query": query, "refId": "instances"}, "current": {}, "hide": 0, "includeAll": True,
            "multi": True, "options": [], "refresh": 2, "regex": "", "sort": 1}


def _panels() -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = []
    across, down, high = 0, 0, 0
    for number, panel in enumerate(PANELS, 1):
        height = _HIGH // 2 if panel.kind == "stat" else _HIGH
        if across + panel.width > _WIDE:
            across, down, high = 0, down + high, 0
        panels.append(_panel(number, panel, {"h": height, "w": panel.width, "x": across, "y": down}))
        across, high = across + panel.width, max(high, height)
    return panels


def _panel(number: int, panel: DashboardPanel, place: dict[str, int]) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit, "min": 0}
    if panel.most is not None:
        defaults["max"] = panel.most
    if panel.limits is not None:
        colours = zip((None, *panel.limits), ("green", "orange", "red"), strict=True)
        defaults["thresholds"] = {"mode": "absolute",
                                  "steps": [{"value": value, "color": colour} for value, colour in colours]}
    return {
        "id": number, "title": panel.title, "description": panel.text, "type": panel.kind, "datasource": _SOURCE,
        "gridPos": place, "fieldConfig": {"defaults": defaults, "overrides": []}, "options": {},
        "targets": [_target(at, query, legend, table=panel.kind == "table")
                    for at, (query, legend) in enumerate(panel.queries)],
    }


def _target(at: int, query: str, legend: str, *, table: bool) -> dict[str, Any]:
    return {"refId": chr(ord("A") + at), "datasource": _SOURCE, "expr": of_instances(query), "legendFormat": legend,
            "instant": table, "range": not table, "format": "table" if table else "time_series"}


def of_instances(query: str) -> str:
    """Restrict a query to the machines chosen on the dashboard."""
    return rules.METRIC.sub(lambda match: f"{match[1]}{{{_OF}{',' + match[2] if match[2] else ''}}}", query)


_UNIT: Final = """\
# Counters of all CPUs for Prometheus: http://127.0.0.1:9177/metrics. Printed by: turbotui export --print unit
#
# Another address, TLS and passwords: systemctl edit turbotui-export, with ExecStart= empty and then anew,
# IPAddressAllow= for the servers that scrape, LoadCredential=web.yml:/etc/turbotui/web.yml and
# --web-config ${CREDENTIALS_DIRECTORY}/web.yml. A turbotui below /home or /root is out of sight for it: install it for
# everybody (pipx install --global 'turbotui[export]'). Baselines are those that root stored with
# XDG_DATA_HOME=/var/lib turbotui score baseline; --tasks wants ProtectProc=default.

[Unit]
Description=Counters of all CPUs as metrics for Prometheus
Documentation=man:turbotui-export(1)
After=network.target

[Service]
ExecStart=turbotui export --listen 127.0.0.1:9177
Environment=XDG_DATA_HOME=/var/lib
ExecReload=kill -HUP $MAINPID
SuccessExitStatus=143
Restart=on-failure
RestartSec=5
DynamicUser=yes
Nice=5
LimitNOFILE=524288

# Rights: counters of whole CPUs, reading of model-specific registers, files that only root may read (energy_uj).
AmbientCapabilities=CAP_PERFMON CAP_SYS_RAWIO CAP_DAC_READ_SEARCH
CapabilityBoundingSet=CAP_PERFMON CAP_SYS_RAWIO CAP_DAC_READ_SEARCH
NoNewPrivileges=yes

# Devices: registers, to read.
DevicePolicy=closed
DeviceAllow=char-cpu/msr r

# Files: nothing can be written.
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectClock=yes
UMask=0077

# Network: who is on this machine. No other process, nothing but the system calls of a program that reads.
IPAddressDeny=any
IPAddressAllow=localhost
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
ProtectProc=invisible
PrivateIPC=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RemoveIPC=yes
KeyringMode=private
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service perf_event_open
SystemCallFilter=~@privileged @resources
SystemCallFilter=sched_setaffinity setrlimit prlimit64
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"""
_PCP: Final = """\
http://localhost:9177/metrics
# For pmdaopenmetrics of Performance Co-Pilot, which wants the address in the first line: save this as
# /var/lib/pcp/pmdas/openmetrics/config.d/turbotui.url, and once: cd /var/lib/pcp/pmdas/openmetrics && sudo ./Install
# Then: pminfo -f openmetrics.turbotui. Printed by: turbotui export --print pcp
"""


@dataclass(frozen=True, slots=True)
class PrintedFile:
    """A file of --print."""

    path: str  # below share/
    text: Callable[[], str]  # makes the content


FILES: Final[Mapping[str, PrintedFile]] = {
    "rules": PrintedFile("prometheus/turbotui-rules.yml", lambda: "".join(f"{line}\n" for line in recording_lines())),
    "alerts": PrintedFile("prometheus/turbotui-alerts.yml", lambda: "".join(f"{line}\n" for line in alert_lines())),
    "dashboard": PrintedFile("grafana/turbotui.json", dashboard_text),
    "unit": PrintedFile("systemd/turbotui-export.service", lambda: _UNIT),
    "pcp": PrintedFile("pcp/turbotui.url", lambda: _PCP),
}
