"""The clock of the CPU that runs a thread, timed by chains of dependent instructions: no counter, no right, 25 us.

Each instruction of a chain needs the result of the one before, so a chain of n links takes n times the instruction's
latency. An exclusive or takes one cycle on every core in `X86` and `A64`. Only that is assumed: multiplications and
CRC32C have to stand to it in whole ratios that a core is known to have, so that a wrong latency, a disturbance and an
emulator show.

Latencies: InstLatx64 results (github.com/InstLatx64/InstLatx64, commit 087af2c) of x86-64; LLVM 19's scheduling models
of Arm's cores, run as chains, and github.com/dougallj/applecpu of Apple's. The code for Arm ran under emulation only.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.machine.code import a64, x86
from turbotui.machine.code.mapping import CodePage
from turbotui.machine.code.shapes import ChainShape
from turbotui.machine.host import HostError
from turbotui.machine.uname import own_uname
from turbotui.quantities.clock_moments import MomentVerdict

ROUNDS: Final = 4
"""The first one warms up; of the others each chain's fastest counts."""
_STAMPS: Final = 5  # of a round
_WHOLE: Final = 0.01  # how far a ratio may be from a whole number
_MOST_CYCLES: Final = 20  # of a link; an emulator calls a function for CRC32C, which takes hundreds
_EMULATED: Final = 25
_SLOWEST, _FASTEST = 1e8, 1e10  # Hz of any core
_Stamps = ctypes.c_int64 * (2 * _STAMPS * ROUNDS)


@dataclass(frozen=True, slots=True)
class ChainSet:
    """The chains of one architecture.

    Attributes:
        flag: of /proc/cpuinfo, for CRC32C.
        cores: cycles of (product, checksum), by which cores are known.
    """

    write: Callable[[ChainShape], bytes]
    shape: ChainShape
    flag: str
    cores: frozenset[tuple[int, int]]


X86: Final = ChainSet(
    x86.timed_chains, ChainShape(8_000, 2_660, 2_660, 400, 20), "sse4_2",
    frozenset({
        (3, 3),  # Intel's P cores from Nehalem to Redwood Cove; AMD Zen 1 to 5
        (3, 4),  # Lion Cove
        (4, 3),  # Skymont
        (5, 3),  # Intel's E cores to Crestmont, Knights Landing
        (6, 3),  # Jaguar
        (6, 6),  # Bulldozer to Excavator
    }),
)
A64: Final = ChainSet(
    # five times as long: counters of 24 MHz tell 42 ns apart
    a64.timed_chains, ChainShape(60_000, 20_000, 20_000, 2_000, 20), "crc32",
    frozenset({
        (2, 1), (2, 2),  # Neoverse V1 to V3, N2, N3; Olympus
        (3, 1), (3, 2), (3, 3),  # Cortex-A53 to A65; Apple, Ampere-1, Oryon
        (4, 1), (4, 2), (4, 3),  # Neoverse N1; Cortex-A53
        (5, 2), (5, 3),  # Cortex-A510, A520, A57, A72
    }),
)
CHAINS: Final = {"x86_64": X86, "aarch64": A64}
"""By the architecture that uname(2) names."""


class ClockMoment(NamedTuple):
    """The clock at one moment, or why it is not known."""

    verdict: MomentVerdict
    hertz: float | None = None
    ratios: tuple[float, float] = (0.0, 0.0)  # cycles of a multiplication and of CRC32C by the exclusive or's


def judge(stamps: Sequence[int], chains: ChainSet) -> ClockMoment:
    """Find the clock in the times of some rounds.

    Other work that slows one chain in every round to the latency of another known core makes the clock up to 1 % too
    high (`_WHOLE`); any other refuses the moment or changes nothing.

    Args:
        stamps: ns, five of each round; the first round is not used.
    """
    links = chains.shape.links
    took = list(map(operator.sub, stamps[_STAMPS + 1:], stamps[_STAMPS:]))  # every fifth lies between two rounds
    anchor, product, checksum, short = (min(took[chain::_STAMPS]) for chain in range(_STAMPS - 1))
    link = (anchor - short) / (links[0] - links[3])
    timing = short - links[3] * link  # ns that taking two times costs
    if link <= 0:
        return ClockMoment(MomentVerdict.DISTURBED)
    product = (product - timing) / links[1]
    checksum = (checksum - timing) / links[2]
    ratios = (product / link, checksum / link)
    if max(ratios) > _EMULATED:
        return ClockMoment(MomentVerdict.EMULATED, None, ratios)
    whole = (round(ratios[0]), round(ratios[1]))
    if not (min(whole) >= 1 and max(whole) <= _MOST_CYCLES
            and abs(ratios[0] / whole[0] - 1) <= _WHOLE and abs(ratios[1] / whole[1] - 1) <= _WHOLE):
        return ClockMoment(MomentVerdict.DISTURBED, None, ratios)
    if whole not in chains.cores:
        return ClockMoment(MomentVerdict.UNKNOWN_CORE, None, ratios)
    # other work on the core slows a chain down, and nothing speeds one up
    hertz = 1e9 / min(link, product / whole[0], checksum / whole[1])
    if not _SLOWEST <= hertz <= _FASTEST:
        return ClockMoment(MomentVerdict.DISTURBED, None, ratios)
    return ClockMoment(MomentVerdict.KNOWN, hertz, ratios)


class ChainTimer:
    """The chains as code of this process.

    Raises:
        MachineError: there are no chains for this architecture, or the system refuses executable memory.
    """

    def __init__(self, architecture: str) -> None:
        chains = CHAINS.get(architecture)
        if chains is None or sys.maxsize < 1 << 32:
            raise MachineError(f"no chains of instructions are known for {architecture} processes")
        self._page = CodePage(chains.write(chains.shape), "the clock of a CPU cannot be timed;")
        self._clock = ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value or 0
        self._cpu = ctypes.PyDLL(None).sched_getcpu  # keeps the interpreter's lock, as the code does

    def times(self) -> tuple[int, Sequence[int], int]:
        """Run the chains: the CPU before, five times of each round in ns, the CPU after."""
        words = _Stamps()
        before = self._cpu()
        self._page.run_briefly(ctypes.addressof(words), self._clock, ROUNDS)
        after = self._cpu()
        times = words[:]
        return before, [1_000_000_000 * second + ns for second, ns in zip(times[::2], times[1::2], strict=True)], after


def time_chains() -> tuple[int, Sequence[int], int]:
    """`ChainTimer.times` of this process.

    Raises:
        HostError: ENOSYS where there are no chains for its architecture, EACCES if the system refuses executable
            memory.
    """
    return _timer().times()


@functools.cache
def _timer() -> ChainTimer:
    architecture = own_uname().machine
    if architecture not in CHAINS:
        raise HostError(errno.ENOSYS, f"chains of instructions ({architecture})")
    try:
        return ChainTimer(architecture)
    except MachineError as error:
        raise HostError(errno.EACCES, f"chains of instructions ({error})") from error
