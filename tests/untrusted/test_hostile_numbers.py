"""Numbers in a machine's files that no kernel writes: they are unknown, and end nothing."""

from __future__ import annotations

import functools
import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from turbotui.cli import main
from turbotui.features.gather.engine import gather
from turbotui.machine.gathered.archive import pack, unpack
from turbotui.simulated import SHAPES, RealClock, SimulatedHost

NUMBERS = {"endless": "9" * 400, "beyond 64 bits": "9" * 20, "infinite": "inf", "none": "nan", "underscores": "1_000",
           "another script": "\u0663", "a plus": "+5"}
FILES = {
    "energy": "intel-rapl.*/(energy_uj|max_energy_range_uj|constraint.*_uw)$",
    "clocks": "cpufreq/.*freq$",
    "caches": "cache/index.*/(size|level|id)$",
    "idle": "cpuidle/.*/(latency|usage|time)$",
    "uncore": "intel_uncore_frequency/.*khz$",
    "heat": "hwmon/.*input$",
    "times": "proc/(stat|uptime|loadavg|meminfo|schedstat|interrupts|softirqs|pressure/.*)$",
    "events": "event_source/devices/.*(scale|type|format/.*|events/.*)$",
}
ALL = "all files"
"""One reader parses the numbers of all of them (`quantities.plain_numbers`)."""
_BLOCK = 512
WORDS = (["info"], ["doctor"], ["stat", "-q", "-n", "1", "-i", "0.1"], ["power", "-n", "1", "-i", "0.1"])


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """A gathered laptop with one module of each kind of core: further ones only have more of the same files."""
    shape = SHAPES["laptop"]
    few = replace(shape, blocks=tuple(replace(block, cores=block.module) for block in shape.blocks))
    return unpack(gather(SimulatedHost(few, RealClock(), 1), {}, 0.1).packed)


def edited(files: dict[str, bytes], pattern: str, number: str) -> Iterator[tuple[str, bytes]]:
    """The files with every number but the first of a name in some of them replaced."""
    for path, data in files.items():
        is_wanted = path.startswith("root/") and re.search(pattern, path)
        yield path, re.sub(rb"(?<![\w.])\d+(\.\d+)?", number.encode(), data) if is_wanted else data


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return what `pack` does, of files that are mostly those of the archive before."""
    tar = b"".join(_entry(path, data) for path, data in sorted(files.items())) + bytes(2 * _BLOCK)
    return gzip.compress(tar, compresslevel=1)


@functools.cache
def _entry(path: str, data: bytes) -> bytes:
    """One file's header and blocks, without those that end an archive."""
    return gzip.decompress(pack({path: data})[0])[: _BLOCK + len(data) + -len(data) % _BLOCK]


def test_an_archive_of_entries_is_the_archive(files: dict[str, bytes]) -> None:
    assert unpack(packed(files)) == files


def test_what_cannot_be_negative_is_unknown_with_the_file_that_says_so(
    files: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = "cpufreq/.*freq$|cache/index.*/(size|level)$|intel_uncore_frequency/.*khz$|constraint.*_u[ws]$|rps_.*mhz$"
    path = tmp_path / "edited.tar.gz"
    path.write_bytes(packed(dict(edited(files, kinds, "-7000001"))))
    assert main(["info", "--machine", str(path)]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in lines if re.search(r"(?<![\w-])-\d", line) and not line.startswith("unknown: ")] == []
    for file in ("cpu*/cpufreq/cpuinfo_max_freq", "initial_max_freq_khz", "constraint_0_power_limit_uw"):
        assert any(f'{file} holds "-7000001", which is no whole number' in line for line in lines)
    assert main(["stat", "-q", "-n", "1", "-i", "0.1", "--format", "json", "--machine", str(path)]) == 0
    row = json.loads(capsys.readouterr().out.splitlines()[0])["rows"][0]
    for name in ("UncMHz", "GFXMHz", "GFXAMHz"):
        assert row["values"][name] is None
        assert "holds no number that it can have" in row["why"][name]


@pytest.mark.parametrize(("kind", "number"), [*((kind, "beyond 64 bits") for kind in FILES),
                                              *((ALL, number) for number in NUMBERS)])
def test_an_edited_machine_is_read_to_its_end(
    files: dict[str, bytes], kind: str, number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pattern = "|".join(FILES.values()) if kind == ALL else FILES[kind]
    made = dict(edited(files, pattern, NUMBERS[number]))
    assert made != files
    path = tmp_path / "edited.tar.gz"
    path.write_bytes(packed(made))
    for words in WORDS:
        status = main([*words, "--machine", str(path)])
        out, err = capsys.readouterr()
        assert (status, "internal error" in err) == (0, False), words
        text = [line for line in out.splitlines() if not line.strip().startswith("unknown: ")]
        assert re.search(r"9{20}|\binf\b|1_000|e\+\d\d", "\n".join(text)) is None, words
