"""A folder of a vendor's events that forms and windows search."""

from __future__ import annotations

import json
from pathlib import Path

ROWS = (
    {"EventName": "MEM_INST_RETIRED.ALL_LOADS", "EventCode": "0xd0", "UMask": "0x81",
     "BriefDescription": "Retired load instructions"},
    {"EventName": "MEM_INST_RETIRED.ALL_STORES", "EventCode": "0xd0", "UMask": "0x82",
     "BriefDescription": "Retired store instructions"},
    {"EventName": "OLD.MEM_INST", "EventCode": "0xd1", "BriefDescription": "An older name", "Deprecated": "1"},
    {"EventName": "UNC_M_CAS_COUNT.RD", "EventCode": "0x05", "UMask": "0xcf", "Unit": "iMC",
     "BriefDescription": "Reads by the memory's columns"},
    {"EventName": "UNC_X.Y", "EventCode": "0x1", "Unit": "X", "BriefDescription": "of no PMU here"},
)


def event_folder(root: Path) -> str:
    """Write it below a folder."""
    (root / "model").mkdir()
    (root / "model/memory.json").write_text(json.dumps(ROWS))
    (root / "mapfile.csv").write_text("h\nGenuineIntel-6-8F,v1,model,core\n")
    return str(root)
