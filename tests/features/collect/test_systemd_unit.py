"""The systemd unit of the collector: its rights line by line, and as systemd judges them."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest
from patience import PATIENCE

from turbotui.commands.parser import Parser
from turbotui.features.collect import verb
from turbotui.remote.links import LinkError, SocketConnector, SocketLink

ROOT = Path(__file__).parents[3]
UNIT = ROOT / "share/systemd/turbotui-collect.service"
RIGHTS = "CAP_PERFMON CAP_SYS_RAWIO CAP_DAC_READ_SEARCH"
LINES = {
    "DynamicUser": ["yes"], "AmbientCapabilities": [RIGHTS], "CapabilityBoundingSet": [RIGHTS],
    "NoNewPrivileges": ["yes"],
    "DevicePolicy": ["closed"], "DeviceAllow": ["char-cpu/msr r"], "ProtectSystem": ["strict"], "ProtectHome": ["yes"],
    "PrivateTmp": ["yes"], "ProtectKernelTunables": ["yes"], "ProtectKernelModules": ["yes"],
    "ProtectKernelLogs": ["yes"],
    "ProtectControlGroups": ["yes"], "PrivateNetwork": ["yes"], "RestrictAddressFamilies": ["AF_UNIX"],
    "IPAddressDeny": ["any"], "RestrictNamespaces": ["yes"], "RestrictSUIDSGID": ["yes"], "LockPersonality": ["yes"],
    "SystemCallArchitectures": ["native"], "UMask": ["0077"],
}


def settings() -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for line in UNIT.read_text().splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            result.setdefault(name, []).append(value)
    return result


def test_its_rights_are_these_and_no_more() -> None:
    result = settings()
    assert {name: result.get(name) for name in LINES} == LINES
    assert not {"User", "ReadWritePaths", "PermissionsStartOnly", "ExecStartPre", "StateDirectory"} & result.keys()
    calls = result["SystemCallFilter"]
    assert calls[:2] == ["@system-service perf_event_open", "~@privileged @resources"]
    assert not {"ptrace", "execveat", "bpf", "setuid", "mount"} & set(calls[2].split())


def test_its_command_is_one_of_ours() -> None:
    program, name, *words = settings()["ExecStart"][0].split()
    assert (program, name) == ("turbotui", "collect")
    parser = Parser()
    verb.add_arguments(parser)
    arguments = parser.parse_args(words)
    (folder,) = settings()["RuntimeDirectory"]
    assert arguments.socket == f"/run/{folder}/collect"
    assert [arguments.group] == settings()["SupplementaryGroups"]
    assert f"g {arguments.group} -" in (ROOT / "share/sysusers.d/turbotui.conf").read_text()


def test_it_is_installed_where_systemd_looks() -> None:
    files = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["data-files"]
    assert "share/systemd/turbotui-collect.service" in files["lib/systemd/system"]
    assert files["lib/sysusers.d"] == ["share/sysusers.d/turbotui.conf"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not there (package systemd)")
def test_systemd_finds_it_hardened() -> None:
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", str(UNIT)],  # noqa: S603, S607 - ours
                          check=False, capture_output=True, text=True, timeout=PATIENCE)
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze cannot look at files (systemd 250 can)")
    assert done.returncode == 0, done.stdout[-200:] + done.stderr  # an exposure of 2.0 of 10 at most


def connection(path: Path, process: subprocess.Popen[bytes]) -> SocketLink:
    while process.poll() is None:
        try:
            return SocketConnector(str(path)).open()
        except LinkError:
            continue
    raise AssertionError(process.communicate()[1])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not there (package util-linux)")
def test_a_collector_serves_a_group_with_these_rights_alone() -> None:
    caps = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in RIGHTS.split())
    with tempfile.TemporaryDirectory(prefix="turbotui-unit-") as name:
        path = Path(name) / "collect"
        os.chown(name, 64001, 64001)
        command = ["setpriv", "--reuid=64001", "--regid=64001", "--groups=64002", f"--inh-caps=-all,{caps}",
                   f"--ambient-caps=-all,{caps}", f"--bounding-set=-all,{caps}", "--no-new-privs",
                   sys.executable, "-m", "turbotui", "collect", "--socket", str(path), "--group", "64002"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}) as process:  # noqa: S603 - ours
            try:
                link = connection(path, process)
                assert link.read(PATIENCE)
                link.close()
                result = path.stat()
                assert (stat.S_IMODE(result.st_mode), result.st_uid, result.st_gid) == (0o660, 64001, 64002)
            finally:
                process.kill()
