"""Names of a recording's files: FILE, and FILE.TIER.TIME for its older parts and those of lower resolution."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import Final

from turbotui.recording.tiers import TIERS, Tier

_TIME: Final = "%Y%m%dT%H%M%S.%fZ"
_NAMES: Final = "|".join(tier.name for tier in TIERS)
_PART: Final = re.compile(rf"(?P<tier>{_NAMES})\.(?P<time>\d{{8}}T\d{{6}}\.\d{{6}}Z)\Z", re.ASCII)


def part_path(path: str, tier: Tier, wall_ns: int) -> str:
    """The path of the part of a recording that begins at a time."""
    return f"{path}.{tier.name}.{datetime.fromtimestamp(wall_ns / 1e9, UTC).strftime(_TIME)}"


def part_time_ns(path: str) -> int:
    """Return the beginning of a part in ns since 1970; 0 for a path that is no part."""
    match = _PART.search(path)
    return 0 if match is None else round(datetime.fromisoformat(match["time"]).timestamp() * 1e6) * 1000


def parts_of(path: str) -> dict[str, list[str]]:
    """Return the parts beside a recording by the names of their tiers, oldest first."""
    folder, name = os.path.split(path)
    by_tier: dict[str, list[str]] = {tier.name: [] for tier in TIERS}
    try:
        names = sorted(os.listdir(folder or "."))
    except OSError:
        return by_tier
    for file_name in names:
        if file_name.startswith(f"{name}.") and (part := _PART.match(file_name.removeprefix(f"{name}."))) is not None:
            by_tier[part["tier"]].append(os.path.join(folder, file_name))
    return by_tier


def paths_of(path: str) -> tuple[str, ...]:
    """Return the files of a recording: FILE first, then its parts."""
    return (path, *(part for parts in parts_of(path).values() for part in parts))
