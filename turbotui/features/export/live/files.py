"""The files that `turbotui export --print` gives: what Prometheus, Grafana, systemd and PCP are set up with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.export.live.dashboard import dashboard_text
from turbotui.features.export.live.rules import alert_lines, recording_lines

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
    """A file that --print gives.

    Attributes:
        path: below share/.
        text: makes it.
    """

    path: str
    text: Callable[[], str]


FILES: Final[Mapping[str, PrintedFile]] = {
    "rules": PrintedFile("prometheus/turbotui-rules.yml", lambda: "".join(f"{line}\n" for line in recording_lines())),
    "alerts": PrintedFile("prometheus/turbotui-alerts.yml", lambda: "".join(f"{line}\n" for line in alert_lines())),
    "dashboard": PrintedFile("grafana/turbotui.json", dashboard_text),
    "unit": PrintedFile("systemd/turbotui-export.service", lambda: _UNIT),
    "pcp": PrintedFile("pcp/turbotui.url", lambda: _PCP),
}
