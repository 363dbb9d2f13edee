"""Tests whether the kernel reports the counts of a thread at its end.

Events with attr.inherit_stat do so (PERF_RECORD_READ), but from Linux 5.12 to 6.18 the kernel forgot to ("perf/core:
Fix missing read event generation on task exit", c418d8b4d7a4, in Linux 6.19 and in stable kernels from December 2025).
So it is tested with a thread that does nothing.
"""

from __future__ import annotations

import time
from typing import Final

from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.machine.perf_blocks import Decoder
from turbotui.machine.perf_records import SAMPLE_TYPE, LastCounts, ReadFormat
from turbotui.machine.perf_ring import Ring
from turbotui.threads import NamedThread

_FORMAT: Final = int(ReadFormat.GROUP | ReadFormat.ENABLED | ReadFormat.RUNNING)
_TRIED: Final = PerfAttr(
    1, 9,  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY
    flags=1 << 1 | 1 << 5 | 1 << 6 | 1 << 11 | 1 << 18,  # inherit, exclude_kernel and _hv, inherit_stat, sample_id_all
    # PERF_SAMPLE_READ: else a switch may swap the events of the two threads, and those that end are ours, of which
    # nothing is reported (perf_event_context_sched_out(), kernel/events/core.c)
    read_format=_FORMAT, sample_type=int(SAMPLE_TYPE),
)
_PATIENCE: Final = 0.1  # seconds in which a thread that does nothing ends, even on a busy machine
_LOOK: Final = 0.0002  # seconds; short, because the start of `tasks` waits for it


def reports_last_counts(host: Host, cpu: int) -> bool:
    """Test with a thread of this process whether an ending thread's last counts arrive.

    Args:
        host: this machine.
        cpu: any; threads report to the event of each CPU, wherever they end.
    """
    try:
        descriptor = host.perf_event_open(_TRIED, 0, cpu, -1)
    except HostError:
        return False
    try:
        ring = Ring(descriptor, 1)
    except HostError:
        host.close(descriptor)
        return False
    try:
        thread = NamedThread(target=_nothing)
        thread.start()
        number = thread.native_id
        until = time.monotonic() + _PATIENCE
        # the record is written before the thread leaves /proc: perf_event_exit_task() precedes release_task()
        while host.exists(f"/proc/self/task/{number}") and time.monotonic() < until:
            time.sleep(_LOOK)
        records = Decoder(_FORMAT, 1).records(ring.take())
        return any(isinstance(record, LastCounts) and record.tid == number for record in records)
    finally:
        ring.close()
        host.close(descriptor)


def _nothing() -> None:
    """The body of a thread that ends at once."""
