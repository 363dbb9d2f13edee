"""`turbotui export` of a live machine: for Prometheus, for node_exporter's textfiles, or once."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Final

from turbotui.commands.addresses import parse_address
from turbotui.commands.arguments import add_machine_arguments
from turbotui.errors import TurbotuiError, UsageError, nearest_or_all
from turbotui.machine.host import HostKind
from turbotui.machine.own_program import needing_packages
from turbotui.quantities.plain_numbers import whole_number
from turbotui.sampling.limits import INTERVAL_BOUNDS
from turbotui.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turbotui.features.export.live.exporter import Exporter
    from turbotui.features.export.live.machine_metrics import RequestedPart
    from turbotui.machine.host import Host
    from turbotui.machine.machine import Machine
    from turbotui.quantities.columns import CounterColumn
    from turbotui.sampling.row_tables import KindDefinition
    from turbotui.sampling.session import Session

PRINTED: Final = ("rules", "alerts", "dashboard", "unit", "pcp")
"""The files of --print."""
_INTERVAL: Final = "15"
"""Prometheus's default scrape interval in seconds (its documentation recommends 10 to 60)."""
_ONCE: Final = "1"
_MOST, _SERIES, _SIZE = "100", "300", "30000"
_TEXTFILE: Final = "turbotui.prom"
"""The suffix of files that node_exporter reads (--collector.textfile.directory)."""
_PACKAGES: Final = {"prometheus_client": "prometheus-client", "bcrypt": "bcrypt", "yaml": "pyyaml"}


def add_live_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    live = parser.add_argument_group("metrics of a machine")
    add_machine_arguments(live)
    live.add_argument("-i", "--interval", metavar="SECONDS", default="",
                      help=f"seconds between two readings, {INTERVAL_BOUNDS}: what Prometheus scrapes at "
                      f"(default {_INTERVAL}; with --once {_ONCE})")
    live.add_argument("-c", "--cpu", metavar="SET", help="only these CPUs: 0-3,8 or 0..3,8")
    live.add_argument("--per", choices=("core", "cpu"), default="",
                      help="series of every core, or of every core and CPU, too: thousands on a large machine")
    live.add_argument("--groups", nargs="?", const="/", default="", metavar="GROUP",
                      help="series of control groups too: of all, or of GROUP and those in it, and of resctrl's groups")
    live.add_argument("--tasks", default="", metavar="GROUP",
                      help="series of the processes of this control group too: those that have used most CPU time")
    live.add_argument("--waits", action="store_true",
                      help="histograms of how long threads waited for a CPU, too: of the machine, of each CPU with "
                      "--per cpu, of each container, job or unit; this costs a record for each switch of the machine")
    live.add_argument("--rows", default="", metavar="KINDS",
                      help="series of rows of these kinds, too, comma separated, by the names of their verbs, such as "
                           "interrupts (by source) or memory")
    live.add_argument("--most", default=_MOST, metavar="N",
                      help=f"the greatest number of groups and of processes (default {_MOST}); a metric says how many "
                           "were "
                      "left out")
    live.add_argument("--series", default=_SERIES, metavar="N",
                      help=f"the greatest number of series, without those of --per, --columns, --groups and --tasks "
                      f"(default {_SERIES}): L3 caches are left out first, then dies, core types, packages; a metric "
                      "says so")
    live.add_argument("--size", default=_SIZE, metavar="BYTES",
                      help=f"the greatest size of a scrape, limited in the same way (default {_SIZE})")
    live.add_argument("--web-config", metavar="FILE", default="",
                      help="TLS and passwords by Prometheus' own web configuration file; SIGHUP makes turbotui read it "
                           "again")
    live.add_argument("--allow-host", metavar="NAME", action="append", default=[],
                      help="a name by which clients may address this machine, beside its own name and its addresses")


def print_file(name: str) -> int:
    """Print one of the files for setting up other programs."""
    from turbotui.features.export.live.files import FILES  # noqa: PLC0415 - --help stays fast

    sys.stdout.write(FILES[name].text())
    return 0


def run_live(arguments: argparse.Namespace) -> int:
    """Export until a signal, or once.

    Raises:
        UsageError: the address is invalid, or would offer a machine that is not this one to other machines.
        TurbotuiError: a package is missing, the address cannot be listened at, or sampling failed.
    """
    with needing_packages("turbotui export", _PACKAGES, *_PACKAGES.values()):
        if arguments.textfile:
            return _write(arguments)
        return _listen(arguments) if arguments.listen else _once(arguments)


def _exporter(arguments: argparse.Namespace, interval: str) -> tuple[Exporter, Machine]:
    from turbotui.commands.sessions import open_host, parse_interval  # noqa: PLC0415 - --help stays fast
    from turbotui.features.export.live.about import known_facts  # noqa: PLC0415 - as above
    from turbotui.features.export.live.exporter import Exporter  # noqa: PLC0415 - as above
    from turbotui.features.export.live.machine_metrics import ExportRequest  # noqa: PLC0415 - as above
    from turbotui.machine.cpulist import parse_cpu_set  # noqa: PLC0415 - as above
    from turbotui.machine.linux import LinuxHost  # noqa: PLC0415 - as above
    from turbotui.machine.machine import read_machine  # noqa: PLC0415 - as above
    from turbotui.sampling.session import Session  # noqa: PLC0415 - as above
    from turbotui.sources import SOURCES  # noqa: PLC0415 - as above

    seconds = parse_interval(arguments.interval or interval)
    cpus = None if arguments.cpu is None else parse_cpu_set(arguments.cpu)
    machine = read_machine(open_host(arguments), cpus)
    try:
        facts = tuple(known_facts(machine, os.environ))
    except TurbotuiError as error:  # the machine's present activity is exported all the same
        print(f"turbotui: no baseline is exported: {one_line(str(error))}", file=sys.stderr, flush=True)
        facts = ()
    session = Session(machine, SOURCES, seconds, LinuxHost(), cpus)
    columns = _columns(session, arguments.columns)
    request = ExportRequest(arguments.per, _number(arguments, "series"), _number(arguments, "size"), facts, columns,
                            _parts(arguments, machine.host, tuple(machine.topology.cpus)))
    return Exporter(session, request), machine


def _columns(session: Session, text: str) -> Sequence[CounterColumn]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    columns = session.catalog.select(words) if words else ()
    known = session.capabilities.signals.keys()
    return [column for column in columns if set(column.needs) <= known]


def _parts(arguments: argparse.Namespace, host: Host, cpus: Sequence[int]) -> Sequence[RequestedPart]:
    from turbotui.features.export.live.group_metrics import GroupMetrics  # noqa: PLC0415 - seldom asked for
    from turbotui.features.export.live.row_metrics import RowMetrics  # noqa: PLC0415 - as above
    from turbotui.features.export.live.task_metrics import TaskMetrics  # noqa: PLC0415 - as above
    from turbotui.features.export.live.wait_metrics import open_wait_metrics  # noqa: PLC0415 - as above

    most = _number(arguments, "most")
    groups = [GroupMetrics(host, arguments.groups, most)] if arguments.groups else []
    rows = [RowMetrics(_kind(name), most) for name in arguments.rows.split(",") if name.strip()]
    waits = [open_wait_metrics(host, cpus, most, per_cpu=arguments.per == "cpu")] if arguments.waits else []
    return (*groups, *([TaskMetrics(host, arguments.tasks, most)] if arguments.tasks else []), *rows, *waits)


def _kind(text: str) -> KindDefinition:
    from turbotui.sampling.row_tables import known_kinds  # noqa: PLC0415 - seldom asked for

    name, kinds = text.strip(), known_kinds()
    if (definition := kinds.get(name)) is None:
        raise UsageError(f'--rows: no kind of row is called "{name}"{nearest_or_all(name, kinds)}')
    return definition


def _number(arguments: argparse.Namespace, name: str) -> int:
    text = str(getattr(arguments, name))
    if not (number := whole_number(text)):
        raise UsageError(f'--{name} "{text}" is no whole number from 1 on')
    return number


def _listen(arguments: argparse.Namespace) -> int:
    from turbotui.features.export.live.scrape_server import Access, listening_socket  # noqa: PLC0415 - as above
    from turbotui.features.export.live.service import own_names, serve_until_signal  # noqa: PLC0415 - as above

    def access() -> Access:
        if not arguments.web_config:
            return Access()
        from turbotui.features.export.live.web_config import read_access  # noqa: PLC0415 - seldom used

        return read_access(arguments.web_config)

    address, port = parse_address(arguments.listen)
    exporter, machine = _exporter(arguments, _INTERVAL)
    kind = machine.host.kind
    if kind is not HostKind.REAL and not address.is_loopback:
        raise UsageError(f"{machine.host.name} is a {kind.value} machine, and others reach {address}: its numbers must "
                         "not be taken for measured ones; listen at 127.0.0.1")
    who = access()
    try:
        listener = listening_socket(str(address), port)
    except OSError as error:
        raise TurbotuiError(f"{address}, port {port} cannot be listened at: {os.strerror(error.errno or 0)}") from error
    with listener:
        scheme, place = "http" if who.tls is None else "https", f"[{address}]" if address.version == 6 else address
        url = f"{scheme}://{place}:{listener.getsockname()[1]}/metrics"

        def announce() -> None:
            every = arguments.interval or _INTERVAL
            print(f"{_named(machine)}: {url}, read every {every} s; SIGTERM or Ctrl+C ends it", flush=True)
            if who.admits_all and (arguments.web_config or not address.is_loopback):
                why = (f"the web config {arguments.web_config} asks for no password, and needs no certificate of a "
                       "client" if arguments.web_config else "--web-config asks for passwords")
                print(f"turbotui: everybody who reaches {address} can read these metrics: {why}", file=sys.stderr,
                      flush=True)

        return serve_until_signal(exporter, listener, own_names(tuple(arguments.allow_host)), who, access,
                                  announce=announce)


def _named(machine: Machine) -> str:
    kind = machine.host.kind
    return f"{'' if kind is HostKind.REAL else f'{kind.value} '}machine {machine.host.name}"


def _write(arguments: argparse.Namespace) -> int:
    """Write a file for node_exporter after each interval; remove it at the end, as its age would not be seen."""
    from turbotui.features.export.live.rendering import PLAIN  # noqa: PLC0415 - --help stays fast
    from turbotui.features.export.live.textfile import TextFile  # noqa: PLC0415 - as above
    from turbotui.machine.signal_guard import ending_signals  # noqa: PLC0415 - as above

    exporter, _machine = _exporter(arguments, _ONCE if arguments.once else _INTERVAL)
    file = TextFile(os.path.join(arguments.textfile, _TEXTFILE))
    with ending_signals(exporter.interrupt) as ended:
        exporter.start()
        try:
            scrape = exporter.wait()
            while scrape is not None:
                file.publish(scrape.body(PLAIN, packed=False), again=not arguments.once)
                if arguments.once:
                    return 0
                scrape = exporter.wait(scrape)
        finally:
            exporter.stop()
            if not arguments.once:
                file.withdraw()
    return ended.status


def _once(arguments: argparse.Namespace) -> int:
    exporter, _machine = _exporter(arguments, _ONCE)
    exporter.start()
    try:
        scrape = exporter.wait()
    finally:
        exporter.stop()
    if scrape is not None:
        sys.stdout.write(scrape.text())
        sys.stdout.flush()
    return 0
