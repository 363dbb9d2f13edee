"""Servers for tests of the fleet: a stub of Prometheus' API, exporters of nodes that never were, and real servers."""

from __future__ import annotations

import gzip
import json
import shutil
import ssl
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from free_ports import free_port
from patience import PATIENCE

CPUS = 8
TSC_HZ = 2.0e9


@dataclass
class Asked:
    """A request that the stub got."""

    method: str
    path: str
    words: Mapping[str, str]
    headers: Mapping[str, str]


@dataclass
class Reply:
    """An answer of the stub."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Stub:
    """A server that answers what a test says.

    Args:
        answer: given the request, the reply.
        tls: certificate and key; None for plain HTTP.
    """

    def __init__(self, answer: Callable[[Asked], Reply], tls: ssl.SSLContext | None = None) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                self._reply(urllib.parse.urlsplit(self.path).path, self.rfile.read(size).decode())

            def do_GET(self) -> None:
                parts = urllib.parse.urlsplit(self.path)
                self._reply(parts.path, parts.query)

            def _reply(self, path: str, form: str) -> None:
                asked = Asked(self.command, path, dict(urllib.parse.parse_qsl(form)), dict(self.headers))
                stub.asked.append(asked)
                reply = stub.answer(asked)
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in reply.headers:
                    self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as above
                del format, args

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True, do_handshake_on_connect=False)
            self._http.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that do not trust it
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http{'' if tls is None else 's'}://127.0.0.1:{self._http.server_port}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@contextmanager
def stub(answer: Callable[[Asked], Reply], tls: ssl.SSLContext | None = None) -> Iterator[Stub]:
    """A stub that ends with the test."""
    server = Stub(answer, tls)
    try:
        yield server
    finally:
        server.close()


def success(result: Sequence[object], *, kind: str = "vector", packed: bool = False, **more: object) -> Reply:
    """An answer with these series."""
    body = json.dumps({"status": "success", "data": {"resultType": kind, "result": result}, **more}).encode()
    return Reply(body=gzip.compress(body), headers={"Content-Encoding": "gzip"}) if packed else Reply(body=body)


def series(name: str, column: str, value: float) -> dict[str, object]:
    """A series of the combined query."""
    return {"metric": {"instance": name, "c": column}, "value": [1_763_856_000.123, f"{value:g}"]}


def info(name: str, **labels: str) -> dict[str, object]:
    """A series of labels."""
    return {"metric": {"__name__": "turbotui_machine_info", "instance": name, "job": "turbotui", "model": "EPYC 9754",
                       **labels}, "value": [1_763_856_000.123, "1"]}


Values = Mapping[str, Mapping[str, float]]
NORMAL: Mapping[str, float] = {"Busy%": 80.0, "Bzy_MHz": 3000.0, "CoreTmp": 60.0, "Throttled%": 0.0, "PkgWatt": 250.0,
                               "CPUs": 256.0, "Age": 5.0, "Ratio%": 100.0, "nJ/instr": 0.5, "IPC": 1.2}
"""A node like all others."""


def nodes(many: int, **odd: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Return nodes n0, n1, … that hardly differ, and some changed ones."""
    result = {f"n{at}": {**NORMAL, "Bzy_MHz": NORMAL["Bzy_MHz"] + at % 5} for at in range(many)}
    for name, values in odd.items():
        result[name].update(values)
    return result


def fleet_answer(values: Values, labels: Mapping[str, Mapping[str, str]] | None = None) -> Callable[[Asked], Reply]:
    """Return answers to all queries of a reading, made from these values."""
    def answer(asked: Asked) -> Reply:
        if asked.path.endswith("query_range"):
            return success([], kind="matrix")
        if "label_replace" in asked.words["query"]:
            return success([series(name, column, value) for name, selected in values.items()
                            for column, value in selected.items()], packed=True)
        return success([info(name, **(labels or {}).get(name, {})) for name in values])

    return answer


# Exporters of nodes that never were

@dataclass
class Node:
    """A node whose counters are functions of time.

    Attributes:
        hertz: clock of its CPUs while they are busy.
        busy: share of time in which they are.
        celsius: hottest core.
        throttled: share of time.
        watts: of its package.
        model: its processor.
    """

    hertz: float = 3.0e9
    busy: float = 0.8
    celsius: float = 60.0
    throttled: float = 0.0
    watts: float = 250.0
    model: str = "EPYC 9754"
    unmeasured_cpus: int = 0
    unmeasured_packages: int = 0

    def exposition(self, seconds: float, wall: float, instance: str = "") -> str:
        """Return the text of a scrape, at a number of seconds after the counters' start.

        Args:
            seconds: since then.
            wall: seconds since 1970.
            instance: label of every series; "" where the server adds it.
        """
        tsc = TSC_HZ * CPUS * seconds
        mperf = tsc * self.busy
        aperf = mperf * self.hertz / TSC_HZ
        lines = {
            f'turbotui_machine_info{{model="{self.model}",kind="REAL"}}': 1,
            "turbotui_machine_cpus": CPUS,
            "turbotui_machine_unmeasured_cpus": self.unmeasured_cpus,
            "turbotui_machine_unmeasured_packages": self.unmeasured_packages,
            "turbotui_machine_tsc_cycles_total": tsc,
            "turbotui_machine_mperf_cycles_total": mperf,
            "turbotui_machine_aperf_cycles_total": aperf,
            "turbotui_machine_instructions_total": aperf * 1.5,
            "turbotui_machine_package_energy_joules_total": self.watts * seconds,
            'turbotui_package_heat_throttled_seconds_total{package="0"}': self.throttled * seconds,
            'turbotui_package_power_throttled_seconds_total{package="0"}': 0.0,
            "turbotui_sampled_seconds_total": seconds,
            "turbotui_machine_lowest_performance_ratio": self.hertz / TSC_HZ,
            'turbotui_machine_temperature_celsius{stat="max"}': self.celsius,
            'turbotui_machine_baseline_performance_ratio{benchmark="linpack"}': 3.0e9 / TSC_HZ,
            "turbotui_snapshot_timestamp_seconds": wall,
        }
        return "".join(f"{_labelled(name, instance)} {value}\n" for name, value in lines.items())


def _labelled(name: str, instance: str) -> str:
    if not instance:
        return name
    metric, _, labels = name.partition("{")
    return f'{metric}{{instance="{instance}"{"," if labels else ""}{labels or "}"}'


@contextmanager
def exporters(fleet: Mapping[str, Node]) -> Iterator[int]:
    """Serve the exposition of each node at /NAME, and of all nodes at /all, and yield the port."""
    began = time.time() - 1000.0

    def answer(asked: Asked) -> Reply:
        node = fleet.get(asked.path.strip("/"))
        now = time.time()
        if asked.path == "/all":
            text = "".join(item.exposition(now - began, now, name) for name, item in fleet.items())
            return Reply(body=text.encode(), headers={"Content-Type": "text/plain"})
        if node is None:
            return Reply(404)
        return Reply(body=node.exposition(now - began, now).encode(), headers={"Content-Type": "text/plain"})

    with stub(answer) as server:
        yield int(server.url.rpartition(":")[2])


# Real servers

def until(holds: Callable[[], object], what: str) -> None:
    """Ask repeatedly until a condition holds."""
    pause, end = threading.Event(), time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"it never came to be that {what}"
        pause.wait(0.05)


def missing(program: str) -> str:
    """Why a test cannot run a program; "" where it can."""
    package = {"prometheus": "prometheus", "promtool": "prometheus", "victoria-metrics": "victoria-metrics"}[program]
    return "" if shutil.which(program) else f"{program} is missing: apt-get install {package}"


class Started:
    """A real server: Prometheus, or VictoriaMetrics.

    Args:
        words: of its command line.
        port: on which it listens.
        ready: path that answers 200 when it is.
    """

    def __init__(self, words: Sequence[str], port: int, ready: str, log: Path) -> None:
        self._words, self._port, self._ready, self._log = words, port, ready, log
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._words, stdout=log, stderr=log)  # noqa: S603 - our own words
        until(self._answers, f"{self._words[0]} answers; see {self._log}")

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}{self._ready}", timeout=5) as response:  # noqa: S310 - http
                return bool(response.status == 200)
        except OSError:
            return False

    def kill(self) -> None:
        """End it at once, as a power cut does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def scrape_targets(folder: Path, port: int, names: Sequence[str], rate: str) -> Path:
    """A configuration that scrapes one HTTP server as many nodes: instance is the node's name."""
    jobs = "\n".join(
        f"  - targets: ['{name}']\n    labels: {{rack: 'r{at // 4}'}}" for at, name in enumerate(names))
    targets = folder / "targets.yml"
    targets.write_text(jobs.replace("  - ", "- ").replace("\n    labels", "\n  labels"), encoding="utf-8")
    path = folder / "prometheus.yml"
    path.write_text(f"""global: {{scrape_interval: {rate}, scrape_timeout: {rate}}}
scrape_configs:
- job_name: turbotui
  file_sd_configs: [{{files: ['{targets}']}}]
  relabel_configs:
  - {{source_labels: [__address__], target_label: instance}}
  - {{source_labels: [__address__], target_label: __metrics_path__, replacement: '/$1'}}
  - {{target_label: __address__, replacement: '127.0.0.1:{port}'}}
""", encoding="utf-8")
    return path


def prometheus(folder: Path, config: Path) -> Started:
    """Prometheus over a configuration, not started yet."""
    port = free_port()
    return Started(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}",
                    f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"], port, "/-/ready",
                   folder / "prometheus.log")


def victoria_metrics(folder: Path, config: Path) -> Started:
    """VictoriaMetrics over a configuration of Prometheus, not started yet."""
    port = free_port()
    return Started(["victoria-metrics", f"-promscrape.config={config}", f"-storageDataPath={folder / 'vm'}",
                    f"-httpListenAddr=127.0.0.1:{port}", "-search.latencyOffset=0s", "-loggerLevel=WARN"], port,
                   "/health", folder / "victoria.log")
