"""The text of a screen that has nothing to show."""

from __future__ import annotations

import pytest

from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.widgets.absence import absence_lines

WHY = Unavailable(Reason.VIRTUALISED, "this virtual machine is given no uncore PMU",
                  "let the hypervisor give the guest a virtual PMU (QEMU: -cpu host,pmu=on); run turbotui on the host; "
                  "turbotui --machine vera-2s shows a simulated machine that has some")


@pytest.mark.parametrize("width", [40, 80, 120, 300])
def test_nothing_is_cut_and_every_remedy_begins_a_line(width: int) -> None:
    lines = ["".join(text for text, _role in line) for line in absence_lines("No uncore PMU here", WHY, width)]
    assert all(len(line) <= width for line in lines)
    words = " ".join(" ".join(lines).split())
    assert "No uncore PMU here" in words
    assert "Virtual machine: this virtual machine is given no uncore PMU." in words
    assert all(f"to do: {remedy.strip()}" in words for remedy in WHY.remedy.split(";"))
    assert sum(line.startswith("  to do: ") for line in lines) == 3
