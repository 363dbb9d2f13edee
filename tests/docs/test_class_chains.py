"""How many classes of turbotui stand above one another: whoever reads the last one has to know them all."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parents[2] / "turbotui"
MOST: Final = 3
LONGER: Final = {
    # root of the chain -> classes in the longest, with the reason
    "DirectScreen": 5,  # Textual finds keys' actions in the screen's own methods; ARCHITECTURE.md, design changes
    "Window": 5,  # as above: modal windows are screens, too
    "TurbotuiError": 4,  # what was read, the fault, and the exit status, each caught by somebody
    "Differences": 4,  # increases, what is believed of them, columns, and the mean of many: each is asked for alone
    "PerCpuSource": 4,  # perf's sources, and those of them whose events have names in sysfs
}


def chains() -> dict[str, list[str]]:
    """The classes that each class inherits from, itself first."""
    bases: dict[str, list[str]] = {}
    for path in ROOT.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "class " in text else ():
            if isinstance(node, ast.ClassDef):
                named = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
                bases.setdefault(node.name, []).extend(ast.unparse(base).rpartition(".")[2] for base in named)

    def chain(name: str) -> list[str]:
        return [name, *max((chain(base) for base in bases[name] if base in bases and base != name), key=len,
                           default=[])]

    return {name: chain(name) for name in bases}


def test_at_most_three_classes_stand_above_one_another_but_for_those_with_a_reason() -> None:
    result = chains()
    longest: dict[str, int] = {}
    for chain in result.values():
        longest[chain[-1]] = max(longest.get(chain[-1], 0), len(chain))
    assert {root: length for root, length in longest.items() if length > MOST} == LONGER
    assert result["CpuScreen"] == ["CpuScreen", "TableScreen", "TableKeys", "WatchScreen", "DirectScreen"]
