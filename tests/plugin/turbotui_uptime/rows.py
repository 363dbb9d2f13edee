"""A kind of row that turbotui does not have: the clocks of /proc/uptime."""

from dataclasses import replace

from turbotui.machine.host import Host
from turbotui.machine.machine import Machine
from turbotui.quantities.row_kinds import Quantity, RowKind
from turbotui.quantities.signals import Behavior, Reduce
from turbotui.quantities.units import Unit
from turbotui.sampling.row_tables import KindDefinition, RowColumn
from turbotui.sampling.rows import Columns, Row
from turbotui_uptime.measured import DOCUMENT, PATH


class Clocks:
    """Where the rows come from."""

    kind = RowKind("clocks", "clocks of the kernel")
    quantities = (Quantity("time", "clocks", Unit.SECOND, Behavior.COUNTER, Reduce.NONE, PATH, DOCUMENT, scale=0.01),)

    def open(self, machine: Machine) -> "ClockReader":
        return ClockReader(machine.host)


class ClockReader:
    """Puts both numbers at every tick."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def read(self, into: Columns) -> None:
        at_ns, words = self._host.now_ns(), self._host.read_text(PATH).split()
        slots = list(into.rows) or [slot for name in ("up", "idle") if (slot := into.birth(Row(name))) is not None]
        into.put_all("time", slots, (round(float(word) * 100) for word in words[:2]))
        into.read_at(slots, at_ns)

    def close(self) -> None:
        pass


CLOCKS = KindDefinition(Clocks(), (
    RowColumn("clock", "", -1, (), lambda row: row.row.key, help="which clock", identity=True),
    RowColumn("time", "s", 2, ("time",), lambda row: row.total("time"), help="its time", document=DOCUMENT),
    RowColumn("pace", "s/s", 2, ("time",), lambda row: row.rate("time"), help="how fast it goes", document=DOCUMENT),
), sort="time")
DAYS = replace(CLOCKS, columns=(CLOCKS.columns[0], replace(
    CLOCKS.columns[1], unit="d", compute=lambda row: None if (time := row.total("time")) is None else time / 86400)))
