"""Loads for simulated machines: enough variety that every column of a dashboard moves."""

from __future__ import annotations

from typing import Final

from turbotui.simulated.shapes import LoadPhase, Programme, Role
from turbotui.simulated.workloads import COMPUTE, INTEGER, LIGHT, MEMORY

_QUIET = (0.002, 0.02)

SERVER: Final = Programme(
    roles=(
        Role(LIGHT, (0.01, 0.06), (0.5, 2.0), _QUIET, (3.0, 9.0), both=False, share=0.42),
        Role(COMPUTE, (0.85, 1.0), (6.0, 25.0), (0.02, 0.1), (1.0, 5.0), both=False, share=0.16),
        Role(INTEGER, (0.55, 1.0), (0.4, 3.0), (0.01, 0.08), (0.5, 4.0), both=True, share=0.2),
        Role(MEMORY, (0.7, 1.0), (4.0, 12.0), (0.01, 0.05), (2.0, 8.0), both=False, share=0.12),
        Role(INTEGER, (0.2, 0.5), (1.0, 4.0), (0.05, 0.2), (1.0, 4.0), both=True, share=0.1),
    ),
    phases=(
        LoadPhase(LIGHT, 0.004, first=5.0, every=75.0, length=10.0, stagger=25.0),
        LoadPhase(COMPUTE, 1.0, first=20.0, every=75.0, length=14.0, stagger=25.0),
    ),
    hot_kind=INTEGER,
    hot_stay=(2.0, 7.0),
)

LAPTOP: Final = Programme(
    roles=(
        Role(LIGHT, (0.02, 0.12), (0.3, 1.2), (0.001, 0.008), (2.0, 6.0), both=False, share=0.6),
        Role(INTEGER, (0.3, 0.9), (0.3, 2.0), (0.004, 0.03), (1.0, 6.0), both=True, share=0.3),
        Role(MEMORY, (0.3, 0.7), (1.0, 3.0), (0.002, 0.01), (4.0, 10.0), both=False, share=0.1),
    ),
    phases=(
        LoadPhase(LIGHT, 0.004, first=5.0, every=60.0, length=10.0, stagger=0.0),
        LoadPhase(COMPUTE, 1.0, first=18.0, every=60.0, length=18.0, stagger=0.0),
    ),
    hot_kind=INTEGER,
    hot_stay=(1.5, 5.0),
)

GUEST: Final = Programme(
    roles=(
        Role(LIGHT, (0.03, 0.2), (0.3, 2.0), _QUIET, (1.0, 5.0), both=False, share=0.5),
        Role(INTEGER, (0.4, 1.0), (1.0, 5.0), _QUIET, (2.0, 6.0), both=False, share=0.5),
    ),
    phases=(),
    hot_kind=INTEGER,
    hot_stay=(2.0, 6.0),
)
