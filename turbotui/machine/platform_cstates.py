"""C-state tables that the feature sets share. Facts: turbostat-spec 3.2 and 3.4."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from turbotui.machine.platform_features import CoreState, PackageLimit, PackageState

_RSV = PackageLimit.RESERVED
_MAX = PackageLimit.UNLIMITED
_PC0 = PackageLimit.PC0
_PC1 = PackageLimit.PC1
_PC2 = PackageLimit.PC2
_PC3 = PackageLimit.PC3
_PC4 = PackageLimit.PC4
_PC6 = PackageLimit.PC6
_PC6N = PackageLimit.PC6N
_PC6R = PackageLimit.PC6R
_PC7 = PackageLimit.PC7
_PC7S = PackageLimit.PC7S
_PC8 = PackageLimit.PC8
_PC9 = PackageLimit.PC9
_PC10 = PackageLimit.PC10

PACKAGE_LIMITS: Mapping[str, tuple[PackageLimit, ...]] = MappingProxyType(
    {
        "NHM": (_PC0, _PC1, _PC3, _PC6, _PC7, _RSV, _RSV, _MAX) + (_RSV,) * 8,
        "SNB": (_PC0, _PC2, _PC6N, _PC6R, _PC7, _PC7S, _RSV, _MAX) + (_RSV,) * 8,
        "HSW": (_PC0, _PC2, _PC3, _PC6, _PC7, _PC7S, _PC8, _PC9, _MAX) + (_RSV,) * 7,
        "SKX": (_PC0, _PC2, _PC6N, _PC6R, _RSV, _RSV, _RSV, _MAX) + (_RSV,) * 8,
        "ICX": (_PC0, _PC2, _PC6, _PC6, _RSV, _RSV, _RSV, _MAX) + (_RSV,) * 8,
        "SLV": (_PC0, _PC1, _RSV, _RSV, _PC4, _RSV, _PC6, _PC7, _RSV, _RSV, _RSV, _RSV, _RSV, _RSV, _PC6, _PC7),
        "AMT": (_MAX, _PC1, _PC2, _RSV, _RSV, _RSV, _PC6, _PC7) + (_RSV,) * 8,
        "KNL": (_PC0, _PC2, _PC6N, _PC6R, _RSV, _RSV, _RSV, _MAX) + (_RSV,) * 8,
        "GMT": (_MAX, _PC1, _PC3, _PC6, _PC7, _PC7S, _PC8, _PC9, _PC10) + (_RSV,) * 7,
    }
)
"""Meaning of MSR 0xE2[3:0], 16 entries each (turbostat-spec 3.4)."""

CC1_6 = (CoreState.C1, CoreState.C6)
CC1_3_6 = (CoreState.C1, CoreState.C3, CoreState.C6)
CC1_6_7 = (CoreState.C1, CoreState.C6, CoreState.C7)
CC1_3_6_7 = (CoreState.C1, CoreState.C3, CoreState.C6, CoreState.C7)
PC6 = (PackageState.C6,)
PC2_6 = (PackageState.C2, PackageState.C6)
PC3_6 = (PackageState.C3, PackageState.C6)
PC2_3_6 = (PackageState.C2, PackageState.C3, PackageState.C6)
PC2_6_10 = (PackageState.C2, PackageState.C6, PackageState.C10)
PC2_3_6_7 = (PackageState.C2, PackageState.C3, PackageState.C6, PackageState.C7)
PC2_3_6_8_10 = (PackageState.C2, PackageState.C3, PackageState.C6, PackageState.C8, PackageState.C10)
PC2_3_6_7_8_9_10 = (
    PackageState.C2,
    PackageState.C3,
    PackageState.C6,
    PackageState.C7,
    PackageState.C8,
    PackageState.C9,
    PackageState.C10,
)
