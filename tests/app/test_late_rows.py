"""The last values of a late CPU are shown dim and marked, and the status line names a remedy."""

from __future__ import annotations

from dataclasses import replace

from dashboard_driver import dashboard, lines, table, text_of
from scripted_machine import FakeSession

from turbotui.quantities.scope import cpu_row
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import missed_words
from turbotui.widgets.explanation import explanation
from turbotui.widgets.frame_rows import FrameContent


async def test_old_values_are_marked_and_the_remedy_is_reported() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        frame = session.latest
        assert frame is not None
        assert frame.older is not None
        assert "‹" not in "".join(lines(app))
        stamps = {
            name: [1 if instance.cpus[0] == 0 else stamp for instance, stamp in zip(
                frame.topology.instances(frame.capabilities.signals[name].scope), row, strict=True)]
            for name, row in frame.newer.stamps.items()
        }
        newer = replace(frame.newer, late=frozenset({0}), late_total=1, stamps=stamps, started_ns=2)
        late = Frame(None, newer, frame.capabilities)
        app._frames.put(late)
        await pilot.pause()
        column = next(column for column in table(app).view.columns if late.cell(column, cpu_row(0)) is not None
                      and late.old(column, cpu_row(0)))
        assert not late.old(column, cpu_row(1))
        drawn = [line for line in lines(app) if "‹" in line]
        assert len(drawn) >= 1
        assert "1 CPU LATE (+: longer interval)" in text_of(app, "status")
        assert "late" not in text_of(app, "summary")  # said once
        assert any("‹ old" in line for line in explanation(FrameContent(late), column, cpu_row(0)))
        assert "1 answer of a CPU" in missed_words(late, 1.0)
