"""A source, its signal, and the column that people see."""

from collections.abc import Collection, Mapping

from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import Category, CounterColumn
from turbotui.quantities.plain_numbers import integer
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior
from turbotui.quantities.units import Unit
from turbotui.sources.system_files import SystemFact, SystemFiles

PATH, DOCUMENT = "/proc/uptime", "proc_uptime(5)"


class ProcUptime(SystemFiles):
    """Hundredths of a second since the boot."""

    id = "proc-uptime"
    title = PATH
    gives = "time since the boot"
    facts = (SystemFact("uptime", PATH, "up", Unit.SECOND, Behavior.GAUGE, DOCUMENT, 0.01),)

    @staticmethod
    def parse(text: str) -> Mapping[str, int]:
        whole, _, part = text.split(maxsplit=1)[0].partition(".")
        return {"up": integer(whole) * 100 + integer(part)}


SOURCES = (ProcUptime(),)
COLUMNS = (CounterColumn(
    id="Uptime", category=Category.OTHER, scope=Scope.SYSTEM, unit="s", decimals=0, needs=("uptime",),
    compute=lambda row: row.value("uptime"), help="time since the boot", document=DOCUMENT, default=False, extra=True),)


def kept(catalog: Catalog, has: Collection[CounterColumn]) -> list[CounterColumn]:
    """What every recording holds."""
    return [column for column in has if column.id == "Uptime"]
