"""The limit-reason and thermal-status registers in words: why a package or core runs slower than it could.

A state bit holds at the instant of reading; its log bit stays set from the first event until something clears it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import PERCENT, Category, CounterColumn, Inputs, Value
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId

_NOTHING = "none"
_DOCUMENT = "Intel SDM vol. 4, MSR 0x1B1, 0x19C, 0x690, 0x64F, 0x6B0, 0x6B1"


@dataclass(frozen=True, slots=True)
class _Layout:
    """The words for the bits of one register.

    Attributes:
        signal: the register's signal.
        words: by bit number of the state.
        log: distance in bits from a state bit up to its log bit.
        prefix: word before each reason if the register does not describe the cores' limit.
    """

    signal: SignalId
    words: Mapping[int, str]
    log: int = 16
    prefix: str = ""

    def words_of(self, *, logged: bool) -> Mapping[int, str]:
        """The word for each state bit, or for each log bit."""
        shift = self.log if logged else 0
        return {bit + shift: f"{self.prefix}{word}" for bit, word in self.words.items()}

    def set_words(self, bits: int, *, logged: bool) -> list[str]:
        """The words whose state or log bit is set."""
        return [word for bit, word in self.words_of(logged=logged).items() if bits >> bit & 1]


# Intel SDM vol. 4, IA32_PACKAGE_THERM_STATUS and IA32_THERM_STATUS: each log bit is directly above its state.
_PACKAGE = _Layout("reasons.pkg", {2: "PROCHOT", 0: "Thermal", 4: "Critical", 10: "PowerLimit"}, log=1)
_CORE = _Layout(
    "reasons.core",
    {2: "PROCHOT", 0: "Thermal", 4: "Critical", 10: "PowerLimit", 12: "CurrentLimit", 14: "CrossDomain"},
    log=1,
)

_LAYOUTS: tuple[_Layout, ...] = (
    # Haswell-class 0x690, 0x6B0, 0x6B1 (docs/specs/turbostat.md 4; Intel SDM vol. 4, 4th generation)
    _Layout(
        "reasons.hsw.core",
        {10: "PL1", 11: "PL2", 0: "PROCHOT", 1: "Thermal", 2: "bit2", 4: "Graphics", 5: "AutoHWP", 6: "VR-Therm",
         8: "Amps", 9: "CorePwr", 12: "MultiCoreTurbo", 13: "Transitions", 14: "bit14", 15: "bit15"},
    ),
    # The servers of those generations at 0x690: bit 10 is no power limit there (Intel SDM vol. 4, tables of the
    # Xeon E5 v3, and of the Xeon D and E5 v4)
    _Layout(
        "reasons.hsx.core",
        {0: "PROCHOT", 1: "Thermal", 2: "PowerBudget", 3: "Platform", 5: "AutoHWP", 6: "VR-Therm", 8: "Amps",
         10: "MultiCoreTurbo", 13: "BelowBase", 14: "BelowTurbo", 15: "BelowRequest"},
    ),
    _Layout(
        "reasons.hsw.gfx",
        {10: "PL1", 11: "PL2", 0: "PROCHOT", 1: "Thermal", 4: "Graphics", 5: "AutoHWP", 6: "VR-Therm", 8: "Amps",
         9: "GFXPwr"},
        prefix="GFX:",
    ),
    _Layout(
        "reasons.hsw.ring",
        {10: "PL1", 11: "PL2", 0: "PROCHOT", 1: "Thermal", 6: "VR-Therm", 8: "Amps"},
        prefix="Ring:",
    ),
    # Skylake-class client 0x64F, 0x6B0, 0x6B1 (Intel SDM vol. 4, table of 6th generation processors and later)
    _Layout(
        "reasons.skl.core",
        {10: "PL1", 11: "PL2", 0: "PROCHOT", 1: "Thermal", 4: "Residency", 5: "AvgThermal", 6: "VR-Therm", 7: "VR-TDC",
         8: "Other", 12: "MaxTurbo", 13: "Transitions"},
    ),
    _Layout(
        "reasons.skl.gfx",
        {10: "PL1", 11: "PL2", 0: "PROCHOT", 1: "Thermal", 5: "AvgThermal", 6: "VR-Therm", 7: "VR-TDC", 8: "Other",
         12: "Inefficient"},
        prefix="GFX:",
    ),
    _Layout(
        "reasons.skl.ring",
        {10: "PL1", 11: "PL2", 0: "PROCHOT", 1: "Thermal", 5: "AvgThermal", 6: "VR-Therm", 7: "VR-TDC", 8: "Other"},
        prefix="Ring:",
    ),
)  # fmt: skip


def _reasons(layouts: tuple[_Layout, ...], *, logged: bool) -> Callable[[Inputs], Value]:
    def compute(row: Inputs) -> Value:
        words: dict[str, None] = {}  # each once, in the order of the tables
        known = False
        for layout in layouts:
            bits = row.value(layout.signal)
            if bits is not None:
                known = True
                words.update(dict.fromkeys(layout.set_words(int(bits), logged=logged)))
        return (" ".join(words) or _NOTHING) if known else None

    return compute


def _column(title: str, scope: Scope, layouts: tuple[_Layout, ...], formula: str, help_text: str, *,
            logged: bool = False, default: bool = False) -> CounterColumn:
    return CounterColumn(
        id=title, category=Category.THERMAL, scope=scope, unit="", decimals=-1, needs=(layouts[0].signal,),
        wants=tuple(layout.signal for layout in layouts[1:]), compute=_reasons(layouts, logged=logged),
        formula=formula, help=help_text, document=_DOCUMENT, width=12, priority=7, default=default, extra=True,
        bits={layout.signal: layout.words_of(logged=logged) for layout in layouts},
    )


_WHOLE = (_PACKAGE, *_LAYOUTS)
_LICENCES = ("licence.0", "licence.1", "licence.2")


def _licence(level: int) -> Callable[[Inputs], Value]:
    def compute(row: Inputs) -> Value:
        none, first, second = (row.delta(name) for name in _LICENCES)
        if none is None or first is None or second is None:
            return None
        cycles = none + first + second
        return 100 * (first, second)[level - 1] / cycles if cycles else None

    return compute


def _licence_column(level: int, what: str) -> CounterColumn:
    return CounterColumn(
        id=f"Lic{level}%", category=Category.FREQUENCY, scope=Scope.CPU, unit="%", decimals=2, needs=_LICENCES,
        compute=_licence(level),
        help=f"Share of the cycles in which the core had its power licence of level {level}, {what}: turbo is lower "
        "then than without dense vectors, for as long as they are executed and a little longer.",
        document="Intel perfmon, CORE_POWER.LVL0_TURBO_LICENSE to LVL2", width=6, priority=7, default=False, extra=True,
        scale=PERCENT,
    )  # fmt: skip


LICENCE_COLUMNS = (
    _licence_column(1, "for dense AVX2 and light AVX-512"),
    _licence_column(2, "for dense AVX-512"),
)

CORE_COLUMNS = (
    _column("CoreLimit", Scope.CORE, (_CORE,), "state bits of MSR 0x19C",
            "What holds the core back at the instant of reading; none where nothing does."),
    _column("CoreLog", Scope.CORE, (_CORE,), "log bits of MSR 0x19C",
            "What has held the core back at any time since the log bits were cleared.", logged=True),
)

PACKAGE_COLUMNS = (
    _column("Throttle", Scope.PACKAGE, _WHOLE, "state bits of MSR 0x1B1, and 0x690 or 0x64F, 0x6B0, 0x6B1",
            "What holds the package back at the instant of reading: PL1 and PL2 are the power limits, PROCHOT a "
            "signal from outside or heat, GFX: and Ring: what holds back graphics and ring.", default=True),
    _column("ThrLog", Scope.PACKAGE, _WHOLE, "log bits of MSR 0x1B1, and 0x690 or 0x64F, 0x6B0, 0x6B1",
            "What has held the package back at any time since the log bits were cleared.", logged=True),
)
