"""The traffic of a simulated Intel server, from its packages' integrals; every uncore counter counts a part.

Every flow has a fixed path, so that all counters agree: the bytes that a package reads from another package's memory
are also those that the links carry and the memory controllers there read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.simulated import basis as b
from turbotui.simulated.model import Model

Parts: TypeAlias = tuple[tuple[int, b.Form], ...]
"""Packages, and the forms over their integrals that are counted."""
Events: TypeAlias = Mapping[int, Parts]
"""The counts of a PMU by an event's config."""

LINE: Final = 64.0
REMOTE: Final = 0.2
"""The share of a package's memory traffic that serves other packages, if there are any."""
LLC_MISSES: Final = 0.4
"""The share of the cores' requests that miss the last-level cache."""
DEMAND, PREFETCH = 0.5, 0.3
"""Shares of demand reads and of L2 prefetches in the reads of memory; the rest are other requests."""
LOCAL_CYCLES, REMOTE_CYCLES = 190.0, 320.0
"""Cycles of the CHA's clock for which a memory read stays in a CHA."""
OTHER_FLITS: Final = 0.25
"""Flits of headers and credits for each one of data."""
WHOLE_LINES: Final = 0.9
"""The share of whole lines (ItoM) in the writes of devices; the rest are partial lines (ItoMCacheNear)."""
READ_MISSES, WRITE_MISSES = 0.3, 0.2
"""The shares of devices' reads and writes that miss the last-level cache."""
ACTIVATIONS, CONFLICTS = 0.35, 0.15
"""Row activations and precharges for other rows, for each transfer of a line."""
READ_QUEUE, WRITE_QUEUE = 36.0, 90.0
"""Cycles of DCLK that a request for a line waits for DRAM in the memory controllers' queues."""
PERSISTENT, PERSISTENT_QUEUE, PERSISTENT_CYCLES = 0.02, 400.0, 560.0
"""Lines of persistent memory for each line of DRAM, cycles of DCLK that a read waits, and of a CHA that it stays."""
FAR: Final = 0.25
"""The share of requests for lines that miss a memory which caches other memory."""
CXL, CXL_CYCLES = 0.01, 420.0
"""Bytes of CXL memory read and written for each byte of DRAM; CHA cycles for which a read stays in a CHA."""
MMIO_READ, MMIO_WRITTEN = 0.02, 0.03
"""Bytes that cores read from and write to devices, for each byte that devices read and write of memory."""
MMIO_BYTES: Final = 8.0
"""Bytes of one such access."""
IOTLB_MISSES, CONTEXT_HITS, WALK_READS = 0.04, 0.95, 3.0
"""The share of devices' requests that miss the IOTLB; of these, context hits; memory reads for each."""
PAGES: Final = (0.2, 0.7, 0.1)
"""The distribution of IOTLB hits over pages of 4 KiB, 2 MiB and 1 GiB."""
SNOOPED, UPDATED = 0.05, 0.1
"""The share of directory lookups in state A (any package may have the line), and updates per written line."""


@dataclass(frozen=True, slots=True)
class Flows:
    """The flows at one package, in bytes; `Parts` may refer to other packages' integrals.

    Attributes:
        read, written: of the package's memory, by anyone.
        served_reads, served_writes: the part of these for other packages.
        own_reads, remote_reads: by the package's cores, from its own memory and from other packages'.
        own_writes: by the package's cores, to its own memory.
        io_read, io_written: of memory by its devices.
        seconds, cha_cycles: time, and cycles of the CHAs' clock.
        sent, heard: by each link; the link's other end hears and sends the same.
    """

    read: Parts
    written: Parts
    served_reads: Parts
    served_writes: Parts
    own_reads: Parts
    own_writes: Parts
    remote_reads: Parts
    io_read: Parts
    io_written: Parts
    seconds: Parts
    cha_cycles: Parts
    sent: tuple[Parts, ...]
    heard: tuple[Parts, ...]


def far_end(package: int, link: int, packages: int) -> int:
    """Return the package at a link's other end; with four or more packages, each link goes to another one."""
    return package ^ (link % (packages - 1) + 1) if packages > 2 else 1 - package


def flows_of(model: Model, package: int, links: Sequence[float] = (1.0,)) -> Flows:
    """Return the flows at a package."""
    count = model.shape.packages
    remote = REMOTE if count > 1 else 0.0
    ends = [(far_end(package, link, count), remote * share) for link, share in enumerate(links)] if remote else []

    def own(index: int, weight: float = 1.0) -> Parts:
        return ((package, ((index, weight),)),)

    def of_others(index: int) -> Parts:
        return tuple((node, ((index, weight),)) for node, weight in ends)

    reads, writes = b.PKG_READ_BYTES, b.PKG_WRITTEN_BYTES
    return Flows(
        own(reads), own(writes), own(reads, remote), own(writes, remote), own(reads, 1 - remote),
        own(writes, 1 - remote), of_others(reads), own(b.PKG_IO_READ_BYTES),
        own(b.PKG_IO_WRITTEN_BYTES), own(b.PKG_SECONDS), own(b.PKG_UNCORE_CYCLES),
        tuple((*own(reads, weight), (node, ((writes, weight),))) for node, weight in ends),
        tuple((*own(writes, weight), (node, ((reads, weight),))) for node, weight in ends),
    )


def times(parts: Parts, factor: float) -> Parts:
    """Multiply a flow by a number."""
    return tuple((package, b.scaled(form, factor)) for package, form in parts)


def cha_events(flows: Flows, persistent: float) -> Mapping[str, Parts]:
    """Return the counts of all CHAs of a package, by the vendor's names (Intel perfmon).

    Args:
        persistent: lines read of persistent memory for each line read of DRAM.
    """
    own, remote = times(flows.own_reads, 1 / LINE), times(flows.remote_reads, 1 / LINE)
    missed = own + remote
    events: dict[str, Parts] = {
        "REQUESTS.READS_LOCAL": own, "REQUESTS.READS_REMOTE": times(flows.served_reads, 1 / LINE),
        "REQUESTS.WRITES_LOCAL": times(flows.own_writes, 1 / LINE),
        "REQUESTS.WRITES_REMOTE": times(flows.served_writes, 1 / LINE),
        "REQUESTS.READS": own + times(flows.served_reads, 1 / LINE),
        "REQUESTS.WRITES": times(flows.own_writes + flows.served_writes, 1 / LINE),
        "IA_MISS": missed, "IA_HIT": times(missed, 1 / LLC_MISSES - 1),
    }
    for word, share in (("DRD", DEMAND), ("DRD_PREF", PREFETCH)):
        events[f"IA_MISS_{word}_LOCAL"], events[f"IA_MISS_{word}_REMOTE"] = times(own, share), times(remote, share)
    events["IA_MISS_DRD_PREF"] = times(missed, PREFETCH)
    events["IA_MISS_DRD"], events["IA_HIT_DRD"] = times(missed, DEMAND), times(missed, DEMAND * (1 / LLC_MISSES - 1))
    near, far = times(own, DEMAND * LOCAL_CYCLES), times(remote, DEMAND * REMOTE_CYCLES)
    events |= {"OCCUPANCY.IA_MISS_DRD_LOCAL": near, "OCCUPANCY.IA_MISS_DRD_REMOTE": far,
               "OCCUPANCY.IA_MISS_DRD": near + far}
    lines, stores = times(flows.io_read, 1 / LINE), times(flows.io_written, 1 / LINE)
    events |= {"IO_PCIRDCUR": lines, "IO_MISS_PCIRDCUR": times(lines, READ_MISSES),
               "IO_HIT_PCIRDCUR": times(lines, 1 - READ_MISSES)}
    for word, share in (("ITOM", WHOLE_LINES), ("ITOMCACHENEAR", 1 - WHOLE_LINES)):
        events[f"IO_{word}"] = times(stores, share)
        events[f"IO_MISS_{word}"] = times(stores, share * WRITE_MISSES)
        events[f"IO_HIT_{word}"] = times(stores, share * (1 - WRITE_MISSES))
    events |= {"IA_MISS_UCRDF": times(flows.io_read, MMIO_READ / MMIO_BYTES),
               "IA_MISS_WIL": times(flows.io_written, MMIO_WRITTEN / MMIO_BYTES)}
    cxl = times(flows.read, CXL / LINE)
    events |= {"IA_MISS_DRD_CXL_ACC": times(cxl, DEMAND), "IA_MISS_DRD_PREF_CXL_ACC": times(cxl, PREFETCH),
               "OCCUPANCY.IA_MISS_DRD_CXL_ACC": times(cxl, DEMAND * CXL_CYCLES)}
    lines = times(flows.read, DEMAND * persistent / LINE) if persistent else ()
    events |= {"IA_MISS_DRD_PMM": lines, "OCCUPANCY.IA_MISS_DRD_PMM": times(lines, PERSISTENT_CYCLES)}
    for name in ("IO_RFO", "IO_MISS_RFO", "IO_HIT_RFO", "IA_MISS_WCIL", "IA_MISS_WCILF"):
        events[name] = ()
    return events


def requests(flows: Flows) -> Parts:
    """Return the devices' requests to memory, in lines."""
    return times(flows.io_read + flows.io_written, 1 / LINE)


def upi_events(flows: Flows, link: int) -> Mapping[str, Parts]:
    """Return the counts of a package's link: nine flits of data for each line."""
    flits = 9 / LINE
    sent, heard = times(flows.sent[link], flits), times(flows.heard[link], flits)
    return {"TxL_FLITS.ALL_DATA": sent, "TxL_FLITS.NON_DATA": times(sent, OTHER_FLITS),
            "RxL_FLITS.ALL_DATA": heard, "RxL_FLITS.NON_DATA": times(heard, OTHER_FLITS)}
