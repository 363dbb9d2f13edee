"""Kinds of uncore PMU as people know them, in the order they are shown."""

from __future__ import annotations

from dataclasses import dataclass

from turbotui.quantities.uncore.names import GRACE_PCIE, UNNAMED_FABRIC


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of PMU.

    Attributes:
        id: name of its PMUs without instance numbers.
        title: its short name.
        what: what it watches, in a few words.
    """

    id: str
    title: str
    what: str

    @property
    def described(self) -> str:
        """Its title, and what it watches."""
        return f"{self.title}: {self.what}" if self.what else self.title


KINDS: tuple[Kind, ...] = (
    Kind("nvidia_ucf_pmu", "UCF", "coherency fabric: system-level cache and memory"),
    Kind(UNNAMED_FABRIC, "fabric", "coherency fabric, under a kernel that does not know it"),
    Kind("nvidia_cmem_latency_pmu", "CMEM", "reads of the CPUs' memory"),
    Kind("nvidia_scf_pmu", "SCF", "coherency fabric: system-level cache and memory"),
    Kind("nvidia_pcie_pmu", "PCIE", "what PCI devices read and write"),
    Kind(GRACE_PCIE, "PCIE", "what PCI devices read and write"),
    Kind("nvidia_pcie_tgt_pmu", "PCIE-TGT", "reads and writes to PCI devices' own memory"),
    Kind("nvidia_nvlink_c2c_pmu", "NVLink-C2C", "link to the GPUs"),
    Kind("nvidia_nvlink_c2c0_pmu", "NVLink-C2C0", "link to the GPU, addresses translated"),
    Kind("nvidia_nvlink_c2c1_pmu", "NVLink-C2C1", "link to the GPU, addresses untranslated"),
    Kind("nvidia_nvclink_pmu", "NV-CLink", "link to the other CPU"),
    Kind("nvidia_cnvlink_pmu", "CNVLink", "links to other sockets"),
    Kind("nvidia_nvdlink_pmu", "NV-DLink", "link to CXL memory"),
    Kind("uncore_imc", "IMC", "memory controllers"),
    Kind("uncore_imc_free_running", "IMC free-running", "memory traffic, counted whoever asks"),
    Kind("uncore_cha", "CHA", "cache and home agents: last-level cache slices"),
    Kind("uncore_cbox", "CBox", "last-level cache slices"),
    Kind("uncore_upi", "UPI", "links to other packages"),
    Kind("uncore_qpi", "QPI", "links to other packages"),
    Kind("uncore_iio", "IIO", "PCI Express stacks"),
    Kind("uncore_iio_free_running", "IIO free-running", "PCI Express traffic by port, counted whoever asks"),
    Kind("amd_umc", "UMC", "memory controllers"),
    Kind("amd_l3", "L3", "last-level cache, one a complex of cores"),
    Kind("amd_df", "DF", "data fabric"),
    Kind("arm_cmn", "CMN", "coherent mesh network"),
    Kind("arm_dsu", "DSU", "shared unit of a cluster: its L3"),
)
"""What is not here is shown after these, by its name."""
