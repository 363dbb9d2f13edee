"""Tiers, the past at several resolutions, and the encoder that makes each tier from snapshots."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.recording.codec import TickEncoder
from turbotui.recording.cpu_layout import CpuTableLayout, layout_of
from turbotui.recording.ended_rows import EndedRows
from turbotui.recording.json_values import dense_cells
from turbotui.recording.row_codec import EncodedRows
from turbotui.recording.row_streams import RowsEncoder
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.restarts import Restarts
from turbotui.sampling.snapshot import Snapshot

KEY_EVERY: Final = 60
"""Ticks from one key tick to the next, which bounds the loss by a damaged record and the cost of a jump."""

_MOST_LAYOUTS: Final = 8
_MOST_LAYOUT_BYTES: Final = 1 << 20
"""Layouts that an encoder knows again: screens that one goes to and fro between read the same signals each time."""

_SIGNIFICANT: Final = 12  # bits; the error that is carried on is at most 0.025 % of an increase


@dataclass(frozen=True, slots=True)
class Tier:
    """A resolution of the past."""

    name: str  # the name in files' names, "full" or "10s"
    seconds: float = 0.0  # time from one tick to the next; 0: every tick
    significant: int = 0  # bits that are kept of the increases of 64-bit counters and time stamps; 0: all


FULL: Final = Tier("full")
TEN_SECONDS: Final = Tier("10s", 10.0, _SIGNIFICANT)
MINUTE: Final = Tier("60s", 60.0, _SIGNIFICANT)
TIERS: Final = (FULL, TEN_SECONDS, MINUTE)
"""All tiers, finest first."""


@dataclass(frozen=True, slots=True)
class EncodedTick:
    """A snapshot that was encoded as the payload of a record."""

    snapshot: Snapshot
    layout: CpuTableLayout
    number: int  # the number of the layout, which changes with the layout; a layout's first tick is a key tick
    key: bool
    payload: bytes
    rows: tuple[EncodedRows, ...] = ()  # the records of its rows, which precede it


STEP_SECONDS: Final = 0.1
"""Seconds of wall against monotonic clock that an NTP daemon does not slew in a tick: the clock was set."""
SLEW: Final = 0.001
"""Share of the time between two ticks that a clock may be slewed by; the kernel's most is 0.05 %."""


def clock_step(before: Snapshot, now: Snapshot) -> float:
    """Return the seconds by which the wall clock was set between two ticks; 0 if it only went on."""
    passed = (now.started_ns - before.started_ns) / 1e9
    step = (now.wall_ns - before.wall_ns) / 1e9 - passed
    return step if abs(step) > max(STEP_SECONDS, passed * SLEW) else 0.0


class SnapshotEncoder:
    """Encodes those snapshots that a tier keeps, in their order.

    Args:
        key_every: ticks from one key tick to the next.
        kept: layouts that whoever keeps the ticks has anyway, which are known again, too.
    """

    def __init__(self, tier: Tier = FULL, key_every: int = KEY_EVERY, kept: Collection[CpuTableLayout] = ()) -> None:
        self.tier = tier
        self._kept = kept
        self._key_every = key_every
        self._layout: CpuTableLayout | None = None
        self._layouts: deque[CpuTableLayout] = deque(maxlen=_MOST_LAYOUTS)  # the newest at the right
        self._capabilities: deque[Capabilities] = deque(maxlen=_MOST_LAYOUTS)
        self._given: tuple[Capabilities, Capabilities] | None = None  # the last ones, and what they are known as
        self._encoder: TickEncoder | None = None
        self._number = int.from_bytes(os.urandom(4), "little")  # so that layouts of two sessions differ
        self._rows = RowsEncoder()
        self._since_key = 0
        self._before: Snapshot | None = None
        self._thinning = Thinning(tier.seconds)

    def renew(self) -> None:
        """Make the next tick a key tick of a new layout, because another journal begins with it."""
        self._layout = None
        self._rows = RowsEncoder()

    @property
    def failures(self) -> dict[str, str]:
        """Kinds of rows that cannot be encoded, with the reason."""
        return self._rows.failures

    def encode(self, snapshot: Snapshot, capabilities: Capabilities) -> EncodedTick | None:
        """Encode the next snapshot, with its frame's capabilities; None if the tier leaves it out."""
        if (chosen := self._thinning.take(snapshot)) is None:
            return None
        snapshot = chosen
        if self._given is None or capabilities is not self._given[0]:
            self._given = capabilities, self._known(capabilities)
        capabilities = self._given[1]
        layout, encoder = self._layout, self._encoder
        if layout is None or encoder is None or not layout.fits(snapshot, capabilities):
            layout = self._layout = self._layout_of(snapshot, capabilities)
            self._number = (self._number + 1) & 0xFFFF_FFFF
            encoder = self._encoder = TickEncoder(self._number, layout.lane_layout, self.tier.significant)
            self._since_key = 0
        if self._before is not None and clock_step(self._before, snapshot):
            self._since_key = 0  # ticks are found by the wall clocks of key ticks
        self._before = snapshot
        key = self._since_key % self._key_every == 0
        tick = layout.tick(snapshot)
        payload = encoder.encode(tick, key=key)
        if not key and dense_cells(payload, layout.lane_layout.count) > 0:
            key, self._since_key = True, 0  # few columns at rest: no reader refuses a key tick of them as a bomb
            payload = encoder.encode(tick, key=key)
        self._since_key += 1
        return EncodedTick(snapshot, layout, self._number, key, payload, self._rows.encode(snapshot, key=key))

    def _known(self, capabilities: Capabilities) -> Capabilities:
        """Return one object for capabilities that tell the same: each visit to a screen with sources makes new ones."""
        known = next((known for known in self._capabilities if known.tells_as(capabilities)), None)
        if known is None:
            known = capabilities
            self._capabilities.append(known)
        return known

    def _layout_of(self, snapshot: Snapshot, capabilities: Capabilities) -> CpuTableLayout:
        """Return the layout of a snapshot: one object for equal layouts, each of up to 0.2 MB."""
        for layout in (*self._layouts, *self._kept):
            if layout.fits(snapshot, capabilities):
                return layout
        layout = layout_of(snapshot, capabilities, rounded=bool(self.tier.significant))
        self._layouts.append(layout)
        while len(self._layouts) > 1 and sum(layout.size for layout in self._layouts) > _MOST_LAYOUT_BYTES:
            self._layouts.popleft()
        return layout


class Thinning:
    """Keeps one snapshot in `seconds`, and carries facts of the skipped snapshots to the next kept one.

    The facts are which counters began anew, so that no difference spans that moment, where wraps were missed, and rows
    that ended, with their last readings, so that no increase is lost.
    """

    def __init__(self, seconds: float) -> None:
        self._every = round(seconds * 1e9)
        self._slot: int | None = None
        self._skipped: Snapshot | None = None
        self._restarts = Restarts()
        self._ended = EndedRows()

    def take(self, snapshot: Snapshot) -> Snapshot | None:
        """Return the snapshot with the carried facts if it is the first of its span, else None."""
        if not self._every:
            return snapshot
        slot = snapshot.started_ns // self._every
        if self._skipped is not None:
            self._ended.skip(self._skipped)
        if slot == self._slot:
            self._restarts.skip(snapshot)
            self._skipped = snapshot
            return None
        restarts, self._restarts = self._restarts, Restarts()
        self._slot, self._skipped = slot, None
        return self._carrying(snapshot, restarts)

    def rest(self) -> Snapshot | None:
        """Return the newest snapshot with the carried facts if it was skipped: what is left of an unfinished span."""
        return None if self._skipped is None else self._carrying(self._skipped, self._restarts)

    def _carrying(self, snapshot: Snapshot, restarts: Restarts) -> Snapshot:
        return replace(restarts.added_to(snapshot), rows=self._ended.added_to(snapshot))
