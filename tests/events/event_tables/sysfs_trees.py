"""Fake trees of sysfs: the PMUs of some CPUs with the format fields that their drivers have.

Fields: Linux 7.2, arch/x86/events/intel/core.c, uncore_snbep.c and uncore_discovery.c, arch/x86/events/amd/core.c and
uncore.c, drivers/perf/arm_pmuv3.c. Two instances of each uncore PMU stand for however many a machine has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_X86 = {"event": "config:0-7", "umask": "config:8-15", "edge": "config:18", "inv": "config:23"}
_INTEL = {
    **_X86, "pc": "config:19", "cmask": "config:24-31", "in_tx": "config:32", "in_tx_cp": "config:33",
    "offcore_rsp": "config1:0-63", "ldlat": "config1:0-15", "frontend": "config1:0-23",
}  # fmt: skip
_FOREST = {
    **_X86, "pc": "config:19", "cmask": "config:24-31", "offcore_rsp": "config1:0-63", "ldlat": "config1:0-15",
}
_GENERIC = {**_X86, "thresh": "config:24-31"}
_RAW = {**_GENERIC, "umask": "config:8-15,32-55"}
_CHA = {**_GENERIC, "umask": "config:8-15,32-63", "tid_en": "config:16", "filter_tid": "config1:0-9"}
_MONT = {**_FOREST, "umask": "config:8-15,40-47", "eq": "config:36", "acr_mask": "config2:0-63"}
_IIO = {**_X86, "thresh": "config:24-35", "ch_mask": "config:36-47", "fc_mask": "config:48-50"}
_FREE = {"event": "config:0-7", "umask": "config:8-15"}
_ARM = {
    "event": "config:0-15", "long": "config1:0", "rdpmc": "config1:1", "threshold_count": "config1:2",
    "threshold_compare": "config1:3-4", "threshold": "config1:5-16",
}  # fmt: skip
_INTEL_UNCORE = {
    "cha": _CHA, "iio": _IIO, "irp": _RAW, "pcu": _GENERIC, "ubox": _GENERIC, "imc": _RAW, "upi": _RAW,
    "cxlcm": _RAW, "cxldp": _RAW, "iio_free_running": _FREE, "imc_free_running": _FREE,
}  # fmt: skip
_AMD = {**_X86, "event": "config:0-7,32-35", "cmask": "config:24-31"}
_AMD_UNCORE = {
    "amd_l3!": {"event": "config:0-7", "umask": "config:8-15", "coreid": "config:42-44", "enallcores": "config:47",
                "enallslices": "config:46", "sliceid": "config:48-50", "threadmask": "config:56-57"},
    "amd_df!": {"event": "config:0-7,32-37", "umask": "config:8-15,24-27"},
    "amd_umc": {"event": "config:0-7", "rdwrmask": "config:8-9"},
}  # fmt: skip
_GRANITE = {**_INTEL_UNCORE, "b2cmi": _RAW, "b2cxl": _RAW, "b2hot": _GENERIC, "b2upi": _RAW, "mdf_sbo": _GENERIC}
ARM_CPUS = {
    "cortex-a53": 0x410FD030, "cortex-a55": 0x410FD050, "cortex-a65": 0x410FD060, "cortex-a72": 0x410FD080,
    "cortex-a73": 0x410FD090, "cortex-a75": 0x410FD0A0, "cortex-a76": 0x410FD0B0, "cortex-a77": 0x410FD0D0,
    "cortex-a78": 0x410FD410, "cortex-x1": 0x410FD440, "cortex-x2": 0x410FD480, "cortex-a510": 0x410FD460,
    "cortex-a710": 0x410FD470, "neoverse-n1": 0x410FD0C0, "neoverse-n2": 0x410FD490, "neoverse-n3": 0x410FD8E0,
    "neoverse-v1": 0x410FD400, "neoverse-v2": 0x410FD4F0, "neoverse-v3": 0x410FD830, "t410": 0x4E0F0100,
    "thunderx2": 0x420F5160, "a64fx": 0x460F0010, "monaka": 0x460F0030, "hip08": 0x480FD010, "emag": 0x500F0000,
    "ampereone": 0xC00FAC30, "ampereonex": 0xC00FAC40,
}  # fmt: skip
"""MIDR_EL1 by the table of tools/perf/pmu-events/arch/arm64/mapfile.csv that it means, whose last word names it."""
_ARM_PMU = "armv8_pmuv3_0"


@dataclass(frozen=True)
class SysfsTree:
    """The PMUs of one CPU.

    Attributes:
        cpuid: as perf writes it.
        table: folder below pmu-events/arch.
        core: formats of core PMUs by name.
        uncore: formats of uncore PMUs by name, without the number of an instance; a name ending in "!" has none.
        others: texts of further files by their path below the root.
    """

    cpuid: str
    table: str
    core: Mapping[str, Mapping[str, str]]
    uncore: Mapping[str, Mapping[str, str]]
    others: Mapping[str, str] = field(default_factory=dict)

    def pmus(self) -> dict[str, tuple[Mapping[str, str], bool]]:
        """Formats of every PMU by its name in sysfs, and whether it is of a core."""
        result = {name: (formats, True) for name, formats in self.core.items()}
        for name, formats in self.uncore.items():
            names = (name[:-1],) if name.endswith("!") else (f"{name}_0", f"{name}_1")
            result |= dict.fromkeys(names, (formats, False))
        return result

    def files(self) -> dict[str, str]:
        """Texts of files by their path below the root."""
        result = {"sys/devices/system/cpu/online": "0\n", "sys/devices/system/cpu/possible": "0\n",
                  "sys/devices/system/cpu/present": "0\n"}
        for number, (name, (formats, core)) in enumerate(self.pmus().items()):
            base = f"sys/bus/event_source/devices/{name}"
            result[f"{base}/type"] = f"{4 if name == 'cpu' else number + 8}\n"
            if not core:
                result[f"{base}/cpumask"] = "0\n"
            elif name != "cpu":
                result[f"{base}/cpus"] = "0\n"
            result |= {f"{base}/format/{term}": f"{where}\n" for term, where in formats.items()}
        return {**result, **self.others}

    def write(self, root: Path) -> None:
        """Write the files below a folder."""
        for path, text in self.files().items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)


def _uncore(pmus: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    return {f"uncore_{name}": formats for name, formats in pmus.items()}


def arm_tree(name: str, table: str = "") -> SysfsTree:
    """The tree of one of `ARM_CPUS`, which knows what it is and has eight slots a cycle."""
    midr = f"{ARM_CPUS[name]:#018x}"
    return SysfsTree(midr, f"arm64/{table}", {_ARM_PMU: _ARM}, {}, {
        f"sys/bus/event_source/devices/{_ARM_PMU}/caps/slots": "0x00000008\n",
        "sys/devices/system/cpu/cpu0/regs/identification/midr_el1": f"{midr}\n",
        "proc/cpuinfo": f"processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x{midr[-8:-6]}\n"
                        f"CPU architecture: 8\nCPU part\t: 0x{midr[-4:-1]}\n"})


TREES = {
    "sapphirerapids": SysfsTree("GenuineIntel-6-8F-8", "x86/sapphirerapids", {"cpu": _INTEL}, _uncore({
        **_INTEL_UNCORE, "m2pcie": _RAW, "m2m": _RAW, "m3upi": _RAW, "mdf": _RAW, "hbm": _RAW, "m2hbm": _RAW,
        "mchbm": _RAW})),
    "graniterapids": SysfsTree("GenuineIntel-6-AD-0", "x86/graniterapids", {"cpu": {
        **_INTEL, "umask": "config:8-15,40-47", "eq": "config:36"}}, _uncore(_GRANITE)),
    "sierraforest": SysfsTree("GenuineIntel-6-AF-3", "x86/sierraforest", {"cpu": {
        **_FOREST, "umask": "config:8-15,40-47", "eq": "config:36"}}, _uncore(_GRANITE)),
    **{table: SysfsTree(f"AuthenticAMD-26-{model}-0", f"x86/{table}", {"cpu": _AMD}, _AMD_UNCORE)
       for table, model in (("amdzen5", "2"), ("amdzen6", "50"))},
    "clearwaterforest": SysfsTree("GenuineIntel-6-DD-0", "x86/clearwaterforest", {"cpu": _MONT}, _uncore(_GRANITE)),
    **{name: arm_tree(name, table) for name, table in (("neoverse-v2", "arm/neoverse-n2-v2"), ("t410", "nvidia/t410"))},
}  # fmt: skip
