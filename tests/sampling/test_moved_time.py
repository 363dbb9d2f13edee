"""No test of the sampler depends on how fast this machine is."""

from __future__ import annotations

import ast
from pathlib import Path

SLEEPS = {"time.sleep", "threading.Timer", "asyncio.wait_for"}


def test_samplers_have_the_clock_of_their_host_or_intervals_that_the_test_ends() -> None:
    real = []
    for path in sorted(Path(__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            by_hand = any(isinstance(expr, ast.Name) and expr.id == "ENDED_BY_THE_TEST" for expr in node.args)
            moved = any(keyword.arg == "clock" for keyword in node.keywords)
            if called in SLEEPS or (called == "Sampler" and not by_hand and not moved):
                real.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    assert not real, "give `clock=host.clock` to samplers, and move time by `host.clock.call_later`"
