"""A host that refuses MSR or perf access: --no-msr and --no-perf of `turbotui stat`."""

from __future__ import annotations

import errno
import re

from turbotui.machine.delegating_host import DelegatingHost
from turbotui.machine.host import Host, HostError, PerfAttr

_MSR_DEVICE = r"(?a)/dev/(?:cpu/\d+/msr|msr\d+)\Z"


class RestrictedHost(DelegatingHost):
    """A host that delegates to another one, but never opens MSR devices or perf events.

    Refusals are ECANCELED, which no device returns by itself, so that no reason names a wrong remedy.
    """

    def __init__(self, host: Host, *, msr: bool, perf: bool) -> None:
        super().__init__(host)
        self._msr = msr
        self._perf = perf

    def open_file(self, path: str) -> int:
        """An MSR device fails with ECANCELED under --no-msr."""
        if not self._msr and re.match(_MSR_DEVICE, path):
            raise HostError(errno.ECANCELED, f"{path} (--no-msr)")
        return self._host.open_file(path)

    def open_msr(self, cpu: int) -> int:
        """Fails with ECANCELED under --no-msr."""
        if not self._msr:
            raise HostError(errno.ECANCELED, f"/dev/cpu/{cpu}/msr (--no-msr)")
        return self._host.open_msr(cpu)

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        """Fails with ECANCELED under --no-perf."""
        if not self._perf:
            raise HostError(errno.ECANCELED, "perf_event_open (--no-perf)")
        return self._host.perf_event_open(attr, pid, cpu, group)
