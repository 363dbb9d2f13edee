"""The output of `turbotui export --print pcp` with Debian's pmdaopenmetrics, queried by dbpmda as by pmcd."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from patience import PATIENCE
from serving import exported

from turbotui.features.export.live.files import FILES

AGENT = Path("/usr/lib/pcp/pmdas/openmetrics/pmdaopenmetrics.python")
DOMAIN = 144
SYSTEMS = "/usr/bin/python3"
QUESTIONS = """\
open pipe {python} {agent} -n -c {folder} -d 144 -l {folder}/../log
children openmetrics.turbotui
children openmetrics.turbotui
quit
"""


def test_pcp_reads_the_metrics(tmp_path: Path) -> None:
    if not AGENT.exists() or not shutil.which("dbpmda"):
        pytest.skip("package pcp is missing")
    modules = subprocess.run([SYSTEMS, "-c", "import pcp, requests"], capture_output=True, check=False)  # noqa: S603
    if modules.returncode:
        pytest.skip("package python3-pcp or python3-requests is missing")
    folder = tmp_path / "config.d"
    folder.mkdir()
    (tmp_path / "names").write_text("root {\n  openmetrics 144:*:*\n}\n")
    with exported("--machine", "laptop-old", "-i", "1") as server:
        server.until_counted()
        text = FILES["pcp"].text().replace("localhost:9177", f"localhost:{server.port}")
        (folder / "turbotui.url").write_text(text)
        said = subprocess.run(["dbpmda", "-ie", "-n", "names"], cwd=tmp_path, timeout=PATIENCE,  # noqa: S607
                              input=QUESTIONS.format(python=SYSTEMS, agent=AGENT, folder=folder), text=True,
                              capture_output=True, check=False)
    leaves = set(re.findall(r"leaf (\w+)", said.stdout))
    assert {"turbotui_machine_cpus", "turbotui_package_energy_joules_total", "turbotui_machine_info"} <= leaves, said
    assert "Error" not in (tmp_path / "log").read_text()
