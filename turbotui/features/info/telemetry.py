"""Header lines about firmware's telemetry: regions of Intel PMT by layout, and AMD sockets' answers by HSMP.

Files: kernel Documentation/ABI/testing/sysfs-class-intel_pmt; Documentation/arch/x86/amd_hsmp.rst, "HSMP telemetry
sysfs files". A guid names a layout; the known ones are Intel's published descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from turbotui.features.info.machine_facts import HeaderLine, MachineFacts
from turbotui.machine.hsmp_metrics import find_tables, metric_fields, read_table
from turbotui.quantities.facts import FactFile
from turbotui.quantities.plain_numbers import hexadecimal
from turbotui.quantities.unavailable import Unavailable
from turbotui.sources.pmt import find_regions
from turbotui.untrusted import one_line

LAYOUTS: Final = FactFile("machine/data/telemetry_layouts.toml")
_PLATFORM: Final = "/sys/devices/platform"
_SOCKET: Final = r"(?a)AMDI0097:([0-9a-fA-F]{2})\Z"
_ANSWERS: Final = (
    # file, and the words around its content: amd_hsmp.rst
    ("protocol_version", "protocol {}"),
    ("smu_fw_version", "firmware {}"),
    ("c0_residency_input", "{} % of cores in C0"),
    ("ddr_max_bw", "DRAM at most {} GB/s"),
    ("ddr_utilised_bw_input", "now {} GB/s"),
    ("mclk_input", "memory clock {} MHz"),
    ("fclk_input", "fabric clock {} MHz"),
    ("clk_fmin", "core clock from {} MHz"),
    ("clk_fmax", "to {} MHz"),
    ("cclk_freq_limit_input", "limited to {} MHz"),
    ("pwr_current_active_freq_limit_source", "by {}"),
    ("prochot_status", "thermal threshold: {}"),
)
_REACHED: Final = {"0": "not reached", "1": "reached"}


def _regions(facts: MachineFacts) -> Iterable[HeaderLine]:
    known = {hexadecimal(name): row for name, row in LAYOUTS.tables()}
    for region in find_regions(facts.machine.host):
        name = region.directory.rpartition("/")[2]
        row = known.get(region.guid)
        if row is None:
            what = "of a layout that Intel has not described"
        elif row["size"] != region.size:
            what = f"{row['name']}, but of {row['size']} bytes as Intel describes it"
        else:
            what = str(row["name"])
        yield HeaderLine(f"Telemetry region {one_line(name)}: guid {region.guid:#010x}, {region.size} bytes, {what}",
                         region.directory)


def _sockets(facts: MachineFacts) -> Iterable[HeaderLine]:
    for name in facts.names(_PLATFORM):
        match = re.match(_SOCKET, name)
        folder = f"{_PLATFORM}/{name}"
        read = [(file, words, facts.text(f"{folder}/{file}")) for file, words in _ANSWERS] if match else []
        parts = [words.format(_REACHED.get(text, text) if file == "prochot_status" else one_line(text).strip())
                 for file, words, text in read if text]
        if match and parts:
            yield HeaderLine(f"HSMP of socket {hexadecimal(match[1])}: {', '.join(parts)}", folder)


def _tables(facts: MachineFacts) -> Iterable[HeaderLine]:
    """Return the present content of the sockets' metrics tables."""
    host = facts.machine.host
    for socket, path in find_tables(host):
        table = read_table(host, path)
        if isinstance(table, Unavailable):
            yield HeaderLine(f"HSMP metrics table of socket {socket}: {one_line(table.sentence())}", path)
            continue
        values = (field.words.format(f"{field.value(table):.{field.decimals}f}") for field in metric_fields().values())
        yield HeaderLine(f"HSMP metrics table of socket {socket}: {', '.join(values)}", path)


FACTS = (_regions, _sockets, _tables)
