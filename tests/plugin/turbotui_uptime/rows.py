"""A kind of row that turbotui does not have."""

from typing import NamedTuple

from turbotui.machine.host import Host
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import RowTable


class Clock(NamedTuple):
    """A number of /proc/uptime."""

    name: str
    seconds: float


def uptime_table(host: Host, per: float = 1.0) -> RowTable[Clock]:
    words = host.read_text("/proc/uptime").split()
    columns = (
        Column[Clock]("clock", "", -1, (), lambda row: row.name, help="which clock", identity=True),
        Column[Clock]("time", "s" if per == 1 else "d", 2, (), lambda row: row.seconds / per, help="its time"),
    )
    return RowTable("uptime", "clock", columns, [Clock("up", float(words[0])), Clock("idle", float(words[1]))])
