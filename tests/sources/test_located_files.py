"""The place of a signal that is read from several files."""

from __future__ import annotations

import pytest

from turbotui.sources.located_files import pattern_of


@pytest.mark.parametrize(("paths", "pattern"), [
    (("/sys/a/b",), "/sys/a/b"),
    (("/sys/a/b", "/sys/a/b"), "/sys/a/b"),
    (("/sys/intel-rapl:0/energy_uj", "/sys/intel-rapl:1/energy_uj"), "/sys/intel-rapl:*/energy_uj"),
    (("/h/hwmon0/temp2_input", "/h/hwmon1/temp3_input"), "/h/hwmon*/temp*_input"),
    (("/p/package_00_die_00/x", "/p/package_01_die_00/x"), "/p/package_*_die_00/x"),
    (("/z/a:0:0/e", "/z/a:0:0/deeper/e"), "/z/a:0:0/e, /z/a:0:0/deeper/e"),
])  # fmt: skip
def test_names_that_differ_are_a_star(paths: tuple[str, ...], pattern: str) -> None:
    assert pattern_of(paths) == pattern
