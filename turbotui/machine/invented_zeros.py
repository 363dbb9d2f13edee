"""Hypervisors that answer 0 for registers they do not have, instead of a fault.

KVM does so with its parameter ignore_msrs (kernel Documentation/admin-guide/kernel-parameters.txt, kvm.ignore_msrs). A
driver then finds every register of the processor it takes the guest for, and all of them stand at 0. What gives such a
hypervisor away is a register that no processor has: it must not be readable.
"""

from __future__ import annotations

from turbotui.machine.host import Host, HostError
from turbotui.machine.registers import read_once
from turbotui.quantities.unavailable import Reason, Unavailable

RESERVED = (0x4000_00E0, 0x4000_00D8)
"""Registers that no processor will ever have: the range 0x40000000 to 0x400000FF is left to software (Intel SDM vol. 4,
section 2.1; AMD APM vol. 2), and these of it are neither Hyper-V's (TLFS, appendix F) nor KVM's."""

NOTE = (
    f"MSR {RESERVED[0]:#x}, which no processor has, reads 0: the hypervisor answers 0 for registers that it lacks"
    " (KVM: ignore_msrs=1), so none that reads 0 is believed"
)


def invents_zeros(host: Host, cpu: int) -> bool:
    """Whether the reserved registers read 0 on a CPU; False where the MSR device does not open."""
    try:
        return all(read_once(host, cpu, address) == 0 for address in RESERVED)
    except HostError:
        return False


def invented(title: str) -> Unavailable:
    """Why a register that reads 0 is not known on such a machine.

    Args:
        title: the register, "MSR 0x3FD".
    """
    return Unavailable(
        Reason.VIRTUALISED,
        f"{title}: reads 0, and so does MSR {RESERVED[0]:#x}, which no processor has: the hypervisor answers 0 for"
        " registers that it does not have (KVM: ignore_msrs=1)",
    )
