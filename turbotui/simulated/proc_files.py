"""/proc of simulated machines: stat, interrupts, softirqs, cpuinfo, smaller files, and `strain_files`."""

from __future__ import annotations

from collections.abc import Mapping

from turbotui.machine.cpulist import format_cpulist
from turbotui.simulated import basis as b
from turbotui.simulated.kernel_counts import (
    DEVICE,
    FORKS,
    INTERRUPT_TEXTS,
    INTERRUPTS,
    SOFTIRQS,
    SWITCHES,
    soft_interrupts,
    stat_forms,
    timer_interrupts,
)
from turbotui.simulated.layout import SimulatedCpu
from turbotui.simulated.model import Model
from turbotui.simulated.shapes import Isa
from turbotui.simulated.strain_files import StrainFiles, running
from turbotui.simulated.task_files import TaskWaits, task_files
from turbotui.simulated.tree import File, Folder, Node, fixed, fixed_files, folder

_JIFFIES = 100
"""USER_HZ: jiffies per second in /proc/stat (man 5 proc_stat)."""
_DEVICE_ROWS = 48
"""Queues of storage and network adapters; all interrupts of one CPU are on one row."""
_FIRST_NUMBER = 24
"""The first queue's interrupt."""
_ZERO = " " * 10 + "0"
_ARM_ROWS = (
    ("11", "LOC", "GICv3  30 Level     arch_timer"),
    ("12", "PMI", "GICv3  23 Level     arm-pmu"),
    ("IPI0", "RES", "Rescheduling interrupts"),
    ("IPI1", "CAL", "Function call interrupts"),
    ("IPI2", "", "CPU stop interrupts"),
    ("IPI3", "", "CPU stop (for crash dump) interrupts"),
    ("IPI4", "", "Timer broadcast interrupts"),
    ("IPI5", "IWI", "IRQ work interrupts"),
)
"""The architected timer and the inter-processor interrupts of arm64, with the x86 row that has the same counts."""


class ProcFiles:
    """Contents of /proc."""

    def __init__(self, model: Model, paranoid: Mapping[str, int]) -> None:
        self._model = model
        self._shape = model.shape
        self._stat = stat_forms(model.shape.steal, model.shape.soft_storm)
        self._soft = {name: soft_interrupts(name, model.shape.soft_storm) for name in SOFTIRQS}
        self._paranoid = paranoid
        self._rows = min(_DEVICE_ROWS, max(2, len(model.layout.places) // 4))

    def children(self) -> dict[str, Node]:
        """Everything below /proc."""
        shape = self._shape
        return {
            **task_files(self._ran, TaskWaits(self._model)),
            "stat": File(self._stat_text),
            "interrupts": File(self._interrupts),
            "irq": folder({str(_FIRST_NUMBER + row): self._affinity(row) for row in range(self._rows)}),
            "softirqs": File(self._softirqs),
            "cpuinfo": File(self._cpuinfo),
            **StrainFiles(self._model).proc(),
            "uptime": File(self._uptime),
            "version": fixed(f"Linux version {shape.kernel} (turbotui@simulated) #1 SMP PREEMPT_DYNAMIC"),
            "cmdline": fixed("BOOT_IMAGE=/vmlinuz root=/dev/nvme0n1p2 ro quiet"),
            "sys": folder({
                "kernel": folder({
                    "hostname": fixed(shape.name),
                    "osrelease": fixed(shape.kernel),
                    "perf_event_paranoid": File(lambda _now: f"{self._paranoid['level']}\n"),
                    **fixed_files("kernel-settings"),
                })
            }),
        }

    def _up(self) -> list[int]:
        return [cpu for cpu, online in enumerate(self._model.online) if online]

    def _stat_text(self, now: float) -> str:
        """Man 5 proc_stat. The totals include CPUs that are away, as the kernel's do."""
        model = self._model
        totals = [0] * len(self._stat)
        lines = [""]
        switches = forks = interrupts = 0.0
        for cpu, basis in enumerate(model.cpu):
            fields = [int(basis.value(form, now) * _JIFFIES) for form in self._stat]
            totals = [total + field for total, field in zip(totals, fields, strict=True)]
            switches += basis.value(SWITCHES, now)
            forks += basis.value(FORKS, now)
            interrupts += basis.value(DEVICE, now) + basis.value(INTERRUPTS["LOC"], now)
            if model.online[cpu]:
                lines.append(f"cpu{cpu} {' '.join(map(str, fields))}")
        lines[0] = f"cpu  {' '.join(map(str, totals))}"
        softirqs = dict.fromkeys(SOFTIRQS, 0)
        for basis in model.cpu:
            for name, form in self._soft.items():
                if form:
                    softirqs[name] += int(basis.value(form, now))
        lines.append(f"intr {int(interrupts)}")
        lines.append(f"ctxt {int(switches)}")
        lines.append(f"btime {model.boot_ns // 10**9}")
        lines.append(f"processes {int(forks) + 4096}")
        runnable = round(running(model) + model.strain.waiting * len(model.cpu))
        lines.append(f"procs_running {runnable + 1}")  # the reading process itself is running
        lines.append(f"procs_blocked {model.strain.blocked}")
        lines.append(f"softirq {sum(softirqs.values())} {' '.join(map(str, softirqs.values()))}")
        return "\n".join(lines) + "\n"

    def _ran(self, kind: int, now: float) -> list[float]:
        """Seconds for which the process of a kind of work ran on each CPU."""
        return [basis.value(((b.CPU_BUSY + kind, 1.0),), now) for basis in self._model.cpu]

    def _interrupts(self, now: float) -> str:
        """Kernel Documentation/filesystems/proc.rst; columns of width 10 behind a label as the kernel pads them."""
        model, shape = self._model, self._shape
        up = self._up()
        width = max(3, len(str(_FIRST_NUMBER + self._rows)))
        lines = [" " * (width + 8) + "".join(f"CPU{cpu:<8d}" for cpu in up)]
        served = [int(model.cpu[cpu].value(DEVICE, now)) for cpu in up]
        for row in range(self._rows):
            cells = [f"{served[n]:>11d}" if cpu % self._rows == row else _ZERO for n, cpu in enumerate(up)]
            lines.append(f"{_FIRST_NUMBER + row:>{width}d}:{''.join(cells)}  {self._device(row)}")
        if shape.isa is Isa.ARM:
            lines += [f"{label:>{width}s}:{self._cells(name, up, now)}   {words}" for label, name, words in _ARM_ROWS]
            lines.append(f"{'Err':>{width}s}:          0")
            return "\n".join(lines) + "\n"
        for name, words in INTERRUPT_TEXTS.items():
            if name == "TRM" and shape.isa is Isa.INTEL and not shape.hypervisor:
                counts = [int(model.core[model.layout.places[cpu].core].at(b.CORE_THROTTLES, now)) for cpu in up]
                text = "".join([f"{count:>11d}" for count in counts])
            else:
                text = self._cells("" if shape.hypervisor and name in ("NMI", "PMI") else name, up, now)
            lines.append(f"{name:>{width}s}:{text}   {words}")
        for name in ("ERR", "MIS"):
            lines.insert(-3, f"{name:>{width}s}: {0:>10d}")
        return "\n".join(lines) + "\n"

    def _affinity(self, row: int) -> Folder:
        """Kernel Documentation/core-api/irq/irq-affinity.rst; every CPU that a queue may use also serves it here."""
        cpus = format_cpulist(cpu for cpu in range(len(self._model.cpu)) if cpu % self._rows == row)
        return folder({"smp_affinity_list": fixed(cpus), "effective_affinity_list": fixed(cpus)})

    def _device(self, row: int) -> str:
        if self._shape.hypervisor:
            return f"PCI-MSIX-0000:00:02.0   {row}-edge      virtio1-req.{row}"
        if row % 2:
            return f"PCI-MSIX-0000:3d:00.0   {row // 2 + 1}-edge      mlx5_comp{row // 2}@pci:0000:3d:00.0"
        return f"PCI-MSIX-0000:01:00.0   {row // 2 + 1}-edge      nvme0q{row // 2 + 1}"

    def _cells(self, name: str, up: list[int], now: float) -> str:
        """The counts of an x86 row of interrupts on some CPUs; zeros for a row that no CPU moves."""
        form = timer_interrupts(self._shape.timer_storm) if name == "LOC" else INTERRUPTS.get(name)
        if form is None:
            return _ZERO * len(up)
        return "".join([f"{int(self._model.cpu[cpu].value(form, now)):>11d}" for cpu in up])

    def _softirqs(self, now: float) -> str:
        """Kernel Documentation/filesystems/proc.rst: one column for each possible CPU."""
        cpus = self._model.cpu
        lines = [" " * 20 + "".join(f"CPU{cpu:<8d}" for cpu in range(len(cpus)))]
        for name, form in self._soft.items():
            cells = ("".join([f" {int(basis.value(form, now)):>10d}" for basis in cpus]) if form
                     else f" {0:>10d}" * len(cpus))
            lines.append(f"{name:>12s}:{cells}")
        return "\n".join(lines) + "\n"

    def _cpuinfo(self, _now: float) -> str:
        return "\n".join([self._cpuinfo_block(self._model.layout.places[cpu]) for cpu in self._up()])

    def _cpuinfo_block(self, place: SimulatedCpu) -> str:
        shape, layout = self._shape, self._model.layout
        kind = shape.core_types[place.type]
        if shape.isa is Isa.ARM:
            return (
                f"processor\t: {place.cpu}\nBogoMIPS\t: 2000.00\nFeatures\t: {shape.flags}\n"
                f"CPU implementer\t: 0x{shape.family:02x}\nCPU architecture: 8\nCPU variant\t: 0x0\n"
                f"CPU part\t: 0x{shape.model:03x}\nCPU revision\t: {shape.stepping}\n"
            )
        mhz = self._model.mhz[place.core]
        siblings = len(layout.package_cpus[place.package])
        return (
            f"processor\t: {place.cpu}\nvendor_id\t: {shape.vendor}\ncpu family\t: {shape.family}\n"
            f"model\t\t: {shape.model}\nmodel name\t: {shape.model_name}\nstepping\t: {shape.stepping}\n"
            f"microcode\t: 0x{shape.microcode:x}\ncpu MHz\t\t: {mhz:.3f}\n"
            f"cache size\t: {shape.l3_kib if shape.isa is Isa.INTEL else kind.l2} KB\n"
            f"physical id\t: {place.package}\nsiblings\t: {siblings}\ncore id\t\t: {place.core_id}\n"
            f"cpu cores\t: {shape.cores_per_package}\napicid\t\t: {place.apic}\ninitial apicid\t: {place.apic}\n"
            f"fpu\t\t: yes\nfpu_exception\t: yes\ncpuid level\t: {35 if shape.isa is Isa.INTEL else 28}\nwp\t\t: yes\n"
            f"flags\t\t: {shape.flags}\nbugs\t\t: spectre_v1 spectre_v2\n"
            f"bogomips\t: {shape.tsc_hz / 5e5:.2f}\nclflush size\t: 64\ncache_alignment\t: 64\n"
            "address sizes\t: 52 bits physical, 57 bits virtual\npower management:\n"
        )

    def _uptime(self, now: float) -> str:
        idle = sum(basis.value(self._stat[3], now) + basis.at(b.CPU_IOWAIT, now) for basis in self._model.cpu)
        return f"{self._model.uptime + now:.2f} {idle:.2f}\n"
