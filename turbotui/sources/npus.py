"""Neural processors from the kernel's accel class: busy time and clock.

Files: kernel drivers/accel/ivpu/ivpu_sysfs.c (npu_busy_time_us since Linux 6.11, npu_current_frequency_mhz since 6.14:
    0 while the device sleeps). The driver answers both from its own counts, without waking the device.
"""

from __future__ import annotations

from typing import Final

from turbotui.machine.kernel_build import is_loaded
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import names_in
from turbotui.quantities.meters import meter_signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.meter_devices import MeterDevice, MeterFile
from turbotui.sources.meter_source import FoundDevices, MeterSource

CLASS: Final = "/sys/class/accel"
_FILES: Final = (("busy", "npu_busy_time_us"), ("clock", "npu_current_frequency_mhz"))


class Npus(MeterSource):
    """The `Source` of neural processors."""

    id = "accel"

    def find(self, machine: Machine) -> FoundDevices:
        host = machine.host
        names = names_in(host, CLASS)
        devices = []
        for name in names:
            files = tuple(MeterFile(quantity, path) for quantity, file in _FILES
                          if host.exists(path := f"{CLASS}/{name}/device/{file}"))
            if files:
                devices.append(MeterDevice("npu", name, files))
        if names and not devices:
            why = Unavailable(Reason.NO_DRIVER, f"{CLASS}: no driver there tells the time that its device works",
                              "use Linux 6.11 or later for Intel's NPU")
        elif machine.model.hypervisor or not is_loaded(host, "intel_vpu"):
            why = Unavailable(Reason.NO_HARDWARE, f"{CLASS}: there is no neural processor with a driver")
        else:
            why = Unavailable(Reason.NO_HARDWARE, f"{CLASS}: the driver intel_vpu is loaded and found no device")
        return FoundDevices(tuple(devices), {meter_signal("npu", 0, "busy"): why})
