"""Small files: their line, or an empty text if a file is missing or unreadable."""

from __future__ import annotations

import errno
from pathlib import Path

from fakehost import FakeHost

from turbotui.machine.linux import LinuxHost
from turbotui.machine.small_files import KeptFile, cpus_in, line_of, memory_of, names_in, text_of


def test_what_is_there_and_what_is_not(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys/b").write_text(" one\x1b \n")
    (tmp_path / "sys/a").write_text("two\nlines\n")
    host = LinuxHost(str(tmp_path))
    assert text_of(host, "/sys/a") == "two\nlines\n"
    assert line_of(host, "/sys/b") == "one␛"
    assert names_in(host, "/sys") == ("a", "b")
    assert (text_of(host, "/sys/c"), line_of(host, "/sys/c"), names_in(host, "/sys/c")) == ("", "", ())
    assert text_of(host, "/sys") == ""
    assert names_in(host, "/sys/a") == ()


def test_a_file_that_stays_open_is_read_anew_and_opened_again_after_a_failure() -> None:
    host = FakeHost()
    kept = KeptFile(host, "/sys/online")
    assert kept.text() == ""
    host.files["/sys/online"] = "0-1\n"
    assert kept.text() == "0-1\n"
    host.files["/sys/online"] = "0\n"
    assert (kept.text(), len(host.open)) == ("0\n", 1)
    host.files["/sys/online"] = errno.EIO
    assert (kept.text(), len(host.open)) == ("", 0)
    host.files["/sys/online"] = "0-3\n"
    assert kept.text() == "0-3\n"
    kept.close()
    kept.close()
    assert not host.open


def test_the_amounts_of_memory_that_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    host = LinuxHost(str(tmp_path))
    assert not memory_of(host)
    (tmp_path / "proc/meminfo").write_text("MemTotal:  8192 kB\nMemFree: much\n\nHugePages_Total: 0\nMemAvailable:\n")
    assert memory_of(host) == {"MemTotal": 8192, "HugePages_Total": 0}


def test_a_list_of_cpus_is_none_where_there_is_no_list(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys/list").write_text("0-2,8\n")
    (tmp_path / "sys/damaged").write_text("2-0\n")
    host = LinuxHost(str(tmp_path))
    assert cpus_in(host, "/sys/list") == {0, 1, 2, 8}
    assert not cpus_in(host, "/sys/damaged")
    assert not cpus_in(host, "/sys/missing")
