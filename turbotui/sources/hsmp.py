"""What the firmware of AMD sockets says by the amd_hsmp driver: the power limit, and the metrics of MI300A.

The limit is in the driver's hwmon chips from Linux 6.16 on (kernel Documentation/arch/x86/amd_hsmp.rst, "HSMP HWMON
interface"): one chip a socket, power1_cap in microwatts. The firmware answers a mailbox message for each reading. Chips
are registered socket by socket (drivers/platform/x86/amd/hsmp/plat.c); where ACPI describes the sockets, each chip's
device has its number (acpi.c, the _UID "ID00").
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.hsmp_metrics import PAGE, MetricField, checked, find_tables, metric_fields, read_table
from turbotui.machine.kernel_build import no_driver
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import numbered_in
from turbotui.quantities.plain_numbers import hexadecimal
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import PerCpuSource
from turbotui.sources.located_files import LocatedFiles, LocatedSignal, LocatedSignals
from turbotui.sources.source import CpuGone, Probe, Reader
from turbotui.sources.sysfs_files import is_offline, read_line

CLASS = "/sys/class/hwmon"
LIMIT: SignalId = "limit.pkg.pl1"
_DRIVER = "amd_hsmp_hwmon"
_LIMIT_DOCUMENT = "kernel Documentation/arch/x86/amd_hsmp.rst"
_UID = r"ID([0-9A-Fa-f]{2})"
_MICRO = 1e-6  # hwmon gives microwatts (Documentation/hwmon/sysfs-interface.rst)
_SINCE_FAMILY = 0x19  # amd_hsmp.rst: "Newer Fam19h EPYC server line of processors from AMD support HSMP"
_REMEDY = "modprobe amd_hsmp (Linux 6.16 or later, HSMP enabled in the firmware setup)"


class Hsmp(LocatedFiles):
    """The `Source` of the sockets' power limits by HSMP."""

    id = "hsmp"

    def _find(self, machine: Machine) -> LocatedSignals:
        packages = [instance.row for instance in machine.topology.instances(Scope.PACKAGE)]
        host = machine.host
        # by number, which is the order in which the driver registered them
        chips = [chip for chip in numbered_in(host, CLASS, "hwmon") if read_line(host, f"{chip}/name") == _DRIVER]
        if not chips:
            return LocatedSignals({LIMIT: _no_limit(machine)})
        if len(chips) != len(packages):
            detail = f"{CLASS}: {len(chips)} {_DRIVER} chips for {len(packages)} packages: which is whose is not known"
            return LocatedSignals({LIMIT: Unavailable(Reason.FAILED, detail)})
        paths = _by_package(machine.host, chips, packages)
        signal = Signal(LIMIT, Scope.PACKAGE, Unit.WATT, Behavior.GAUGE, Reduce.SUM, origin=f"{chips[0]}/power1_cap",
                        document=_LIMIT_DOCUMENT, scale=_MICRO)
        return LocatedSignals({LIMIT: LocatedSignal.at(signal, lambda cpu: paths.get(machine.topology.row(Scope.PACKAGE,
                                                                                                          cpu)))})


def _by_package(host: Host, chips: list[str], packages: list[RowId]) -> Mapping[RowId, str]:
    """The file of each package, by the sockets' ACPI numbers where all have one, else by the chips' order."""
    uids = [re.fullmatch(_UID, read_line(host, f"{chip}/device/firmware_node/uid") or "") for chip in chips]
    numbers = [hexadecimal(uid[1]) for uid in uids if uid is not None]
    if sorted(numbers) == list(range(len(chips))):
        chips = [chip for _, chip in sorted(zip(numbers, chips, strict=True))]
    return {row: f"{chip}/power1_cap" for row, chip in zip(packages, chips, strict=True)}


def _no_limit(machine: Machine) -> Unavailable:
    detail = f"{CLASS}: no chip is called {_DRIVER}"
    if machine.model.x86_guest:
        return Unavailable(Reason.VIRTUALISED, f"{detail}: the firmware's mailbox is not given to guests")
    model = machine.model
    if model.vendor == "AuthenticAMD" and "EPYC" in model.name and (model.family or 0) >= _SINCE_FAMILY:
        return no_driver(machine.host, "amd_hsmp", "AMD_HSMP", detail, remedy=_REMEDY)
    return Unavailable(Reason.NO_HARDWARE, f"{detail}; AMD EPYC has the firmware behind it, from family 0x19 on")


_DOCUMENT: Final = ("kernel Documentation/arch/x86/amd_hsmp.rst; AMD E-SMI library, tools/e_smi_tool.c: units and "
                    "fractions")
_FAMILY, _MODELS = 0x19, range(0x90, 0xA0)  # MI300A, by the tool


@dataclass(frozen=True, slots=True)
class _Metric:
    """A signal of the table."""

    signal: SignalId
    field: str  # its name in the kernel's header
    unit: Unit
    reduce: Reduce
    scale: float = 1.0  # from the field's unit to the signal's


_METRICS: Final = (
    _Metric("hsmp.power", "socket_power", Unit.WATT, Reduce.SUM),
    _Metric("hsmp.temp.vr", "max_vr_temperature", Unit.CELSIUS, Reduce.MAX),
    _Metric("hsmp.temp.hbm", "max_hbm_temperature", Unit.CELSIUS, Reduce.MAX),
    _Metric("hsmp.c0", "socket_c0_residency", Unit.RATIO, Reduce.MEAN, 0.01),
    _Metric("hsmp.gfx", "socket_gfx_busy", Unit.RATIO, Reduce.MEAN, 0.01),
    _Metric("hsmp.hbm", "dram_bandwidth_utilization", Unit.RATIO, Reduce.MEAN, 0.01),
    _Metric("hsmp.fclk", "fclk_frequency", Unit.HERTZ, Reduce.MEAN, 1e6),
    _Metric("hsmp.uclk", "uclk_frequency", Unit.HERTZ, Reduce.MEAN, 1e6),
)


class HsmpMetricsReader:
    """The open table of one socket.

    Raises:
        HostError: EMFILE or ENFILE, or it does not open any more.
    """

    def __init__(self, host: Host, cpu: int, path: str, fields: Sequence[tuple[SignalId, MetricField]]) -> None:
        self._host = host
        self._cpu = cpu
        self._path = path
        self._fields = tuple(field for _, field in fields)
        self.signals = tuple(signal for signal, _ in fields)
        self._descriptor = host.open_file(path) if path else -1

    def read(self) -> Sequence[Raw]:
        """An integer each; None for all if the firmware did not answer.

        Raises:
            CpuGone: nothing could be read and the CPU is offline.
        """
        nothing: list[Raw] = [None] * len(self._fields)
        if self._descriptor < 0:
            return nothing
        try:
            table = checked(self._host.read_at(self._descriptor, PAGE, 0), self._path)
        except HostError as error:
            if is_offline(self._host, self._cpu):
                raise CpuGone(f"CPU {self._cpu} went offline") from error
            return nothing
        return nothing if isinstance(table, Unavailable) else [field.raw(table) for field in self._fields]

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            self._host.close(self._descriptor)
            self._descriptor = -1


class HsmpMetrics(PerCpuSource):
    """The `Source` of what the metrics table holds: power, temperatures, residencies and clocks of MI300A.

    Each read is a message to the firmware, and the table belongs to one moment. turbotui/machine/hsmp_metrics.py says
    where it is and what it contains.
    """

    id = "hsmp-metrics"

    def probe(self, machine: Machine) -> Probe:
        """Read the first socket's table once."""
        paths = _paths(machine)
        table = read_table(machine.host, paths[0]) if isinstance(paths, list) else paths
        if isinstance(table, Unavailable):
            return Probe(dict.fromkeys((metric.signal for metric in _METRICS), table))
        path = paths[0] if isinstance(paths, list) else ""
        return Probe({metric.signal: _signal(metric, path) for metric in _METRICS})

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """One on each reading CPU where anything of the table is wanted."""
        return readers * any(metric.signal in wanted for metric in _METRICS)

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        """Open the table of the socket around a CPU. Raises HostError if it does not open any more."""
        paths, fields = _paths(machine), metric_fields()
        path = paths[machine.topology.index(Scope.PACKAGE, cpu)] if isinstance(paths, list) else ""
        return HsmpMetricsReader(machine.host, cpu, path, [
            (metric.signal, fields[metric.field]) for metric in _METRICS if metric.signal in wanted])


def _signal(metric: _Metric, path: str) -> Signal:
    field = metric_fields()[metric.field]
    return Signal(metric.signal, Scope.PACKAGE, metric.unit, Behavior.GAUGE, metric.reduce,
                  origin=f"{path} at byte {field.offset} ({metric.field})", document=_DOCUMENT,
                  scale=metric.scale / (1 << field.fraction))


def _paths(machine: Machine) -> list[str] | Unavailable:
    """The table of each package, by the sockets' numbers."""
    tables, packages = find_tables(machine.host), machine.topology.instances(Scope.PACKAGE)
    if not tables:
        return _absent(machine)
    if [socket for socket, _ in tables] != list(range(len(packages))):
        numbers = ", ".join(str(socket) for socket, _ in tables)
        return Unavailable(Reason.FAILED, f"{tables[0][1]}: tables of sockets {numbers} for {len(packages)} packages: "
                           "which is whose is not known")
    return [path for _, path in tables]


def _absent(machine: Machine) -> Unavailable:
    detail = "/sys/devices/platform: amd_hsmp shows no metrics_bin"
    model = machine.model
    if model.vendor == "AuthenticAMD" and model.family == _FAMILY and model.model in _MODELS and not model.x86_guest:
        return Unavailable(Reason.NO_DRIVER, detail, "enable HSMP in the firmware setup and modprobe amd_hsmp")
    return Unavailable(Reason.NO_HARDWARE, f"{detail}; the firmware of MI300A alone fills such a table (protocol 6)")
