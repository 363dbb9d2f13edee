"""What each row of the key table lets one see, screen by screen."""

from __future__ import annotations

import re

from key_promises import ESC, Place, Promise, moves, pages, there_and_back

_SAPPHIRE = ("sapphire-2s", "--cpu", "0-7,56-63")
_MANY = ("sapphire-2s", "--cpu", "0-19,56-75")
_MENU = {"sort_menu": Promise("Enter choose · Esc close", undo=ESC)}
_GRAPHED = {"graph": Promise("e explain · Esc close", undo=ESC)}
_GRAPH = {**_GRAPHED, "chance": Promise("Nothing is compared: b compares", undo=ESC)}

# CPUs and topology


def _cell(row: str, column: str = "Busy%") -> str:
    return rf"(?m)^ {column} · {row} ·"


_TABLE = {
    **_MENU, **_GRAPH,
    "columns": Promise("type to search", undo=ESC),
    "arrange": Promise("← → move", undo=ESC),
    "category": Promise(r"clock: \d+ columns hidden", typed=("f",), undo=("f", "Escape")),
    "search": Promise(_cell("cpu 62"), typed=("62",), undo=ESC),
    "search_next": Promise(_cell("cpu 56"), first=("/", "cpu5", "Enter"), now=_cell("cpu 5"), undo=ESC),
    "filter": Promise(r"filter Busy%>50: \d+ rows?", typed=("Busy%>50",), undo=ESC),
    "save": Promise("save this view as", undo=ESC),
    "joules": Promise("Energy in joules", undo=("J",)),
    "add": Promise("─ add a column ─", undo=ESC),
    "spies": Promise("spies: event sets by CPU", undo=ESC),
    "explain": Promise("Δmperf", undo=ESC),
    "tag": Promise("Σ 1", undo=("V",)),
    "point": Promise("only what ran on CPU 0", undo=ESC),
    "open": Promise("only what ran on CPU 0", undo=ESC),
    "untag": Promise(gone="Σ 1", first=("v",), now="Σ 1"),
    "mark": Promise("DIFFERENCES FROM", undo=("b",)),
    "copy_rows": Promise("Copied.*: 1 row as CSV", undo=("Home",)),
    "follow": Promise("follow off", undo=("F", "F", "F", "F")),
}

_ALL_FOLDED = r"▸ package 0.*\n ▸ package 1"
CPUS = Place("1", "cpus", _SAPPHIRE, (160, 18), (
    r"(?m)^ Package  CPU │ Avg_MHz  Busy% Bzy_MHz .*\n +all │.*\n +0    0 │[\s\S]*"
    r"^ Busy% · cpu 0 · .* counted it\.$"), {
    **_TABLE,
    **moves(_cell("cpu 1"), _cell("cpu 63")), **pages(_cell("cpu 63"), _cell("cpu 59"), _cell("cpu 4")),
    **there_and_back("left", "right", _cell("cpu 0", "Bzy_MHz")),
    **there_and_back("column_left", "column_right", _cell("cpu 0", "Bzy_MHz")),
    **there_and_back("sort_previous", "sort_next", "Package[▲▼]", ">", "<"),
    "reverse": Promise(r"(?m)^ +all │.*\n +1   63 │", undo=("I",)),
    "group": Promise(r"▾ package 0 +│[\s\S]*Grouped by package", undo=("t", "t", "t", "t")),
    "fold_all": Promise(_ALL_FOLDED, first=("t",), now="▾ package 0", undo=("*", "t", "t", "t", "t")),
})

TOPOLOGY = Place("2", "cpus", _SAPPHIRE, (160, 18), (
    r"(?m)^ machine +│ Avg_MHz  Busy% Bzy_MHz .*\n whole machine .*\n ▾ package 0 .*\n +cpu 0[\s\S]*"
    r"^ Busy% · package 0 · .* counted it\.$"), {
    **_TABLE,
    **moves(_cell("cpu 0"), _cell("cpu 63")), **pages(_cell("cpu 63"), _cell("cpu 57"), _cell("cpu 5")),
    **there_and_back("right", "left", "▸ package 0", "Left", "Right"),
    **there_and_back("column_left", "column_right", _cell("package 0", "Bzy_MHz"), "S-Right", "S-Left"),
    "sort_next": Promise("Avg_MHz[▲▼]", undo=("<", "S-Right")),
    "sort_previous": Promise(first=(">",), now="Avg_MHz[▲▼]", gone="[▲▼] ", undo=("S-Right",)),
    "reverse": Promise(r"whole machine .*\n ▾ package 1", undo=("I",)),
    "point": Promise("Go to the row of a CPU"),
    "open": Promise("▸ package 0", undo=("Enter",)),
    "group": Promise("The tree shows every level"),
    "fold_all": Promise(_ALL_FOLDED, undo=("*",)),
})

# Map and power


def _cpu(number: str) -> str:
    return rf"(?m)^ cpu {number} ·"


_CATEGORY_OF_CPUS = {"category_of_cpus": Promise("a letter shows or hides a group", undo=("Escape", "Escape"))}
MAP = Place("3", "map", _MANY, (160, 24), r"(?m)^ cpu 0 · .*· Busy% \d", {
    **_MENU, **_GRAPHED, **_CATEGORY_OF_CPUS,
    **moves(_cpu(r"([2-9]|1\d)"), _cpu("75")),
    **pages(_cpu("75"), _cpu("16"), _cpu("59"), keys=("map_back", "map_on")),
    **there_and_back("map_left", "map_right", _cpu("1")),
    "sort_next": Promise("Coloured by Bzy_MHz", undo=("<",)),
    "sort_previous": Promise("Coloured by Avg_MHz", undo=(">",)),
    "column_left": Promise("Coloured by Avg_MHz", undo=(">",)),
    "column_right": Promise("Coloured by Bzy_MHz", undo=("<",)),
    "explain": Promise("Δmperf", undo=ESC),
    "open": Promise("only what ran on CPU 0", undo=ESC),
    "point": Promise("only what ran on CPU 0", undo=ESC),
    "search": Promise(_cpu("62"), typed=("62",), undo=ESC),
    "search_next": Promise(_cpu(r"(?!1 )\d+"), first=("/", "1", "Enter"), now=_cpu("1")),
})


def _watt(package: str, what: str = "PkgWatt") -> str:
    return rf"(?m)^ {what}  {package} "


_MACHINE = _watt("whole machine", r"\S+")
POWER = Place("4", "power", _SAPPHIRE, (160, 45), r"(?m)^ SysWatt  whole machine  \d", {
    "mark": Promise(r"COMPARED WITH the [\d.]+ s before \S+ · Busy%", undo=("b",)),
    **_GRAPH, **_CATEGORY_OF_CPUS,
    **moves(_watt("package 0"), _watt("package 1")),
    **pages(_watt("package 1", r"\S+"), _watt("package 1", r"\S+"), _MACHINE),
    **there_and_back("left", "right", _watt("package 0")),
    "explain": Promise("SysWatt · whole machine · ", undo=ESC),
    "search": Promise(_watt("package 0", "PkgTmp"), typed=("pkgtmp",), undo=ESC),
    "search_next": Promise(_watt("package 1", "PkgTmp"), first=("/", "pkgtmp", "Enter"),
                           now=_watt("package 0", "PkgTmp"), undo=(*("Left",) * 4, "Up", *("Left",) * 4)),
}, calm=("Home", *("Left",) * 6))

# Uncore


def swapped(before: str, after: str) -> bool:
    """Whether the first two rows of packages have changed places."""
    was, now = (re.findall(r"(?m)^   (pkg \d)", picture)[:2] for picture in (before, after))
    return now == was[::-1] != was


def _unit(name: str, number: int = 0) -> str:
    return rf"(?m)^ .* · nvidia_{name}_pmu_{number} ·"


def _total(title: str) -> str:
    return rf"(?m)^ .* · 2 x {title} · machine Σ ·"


UNCORE = Place("5", "uncore", ("grace-2s", "--cpu", "0-3,72-75"), (160, 40), (
    "(?m)^ cmem wr bandwidth GB/s · 2 x SCF · machine Σ · "), {
    **_MENU, **_GRAPH,
    **moves(_unit("scf"), _unit("cnvlink", 1)),
    **pages(_unit("cnvlink", 1), _total("PCIE"), _total("NVLink-C2C1"), keys=("uncore_previous", "uncore_next")),
    **there_and_back("uncore_left", "uncore_right", "(?m)^ gmem wr bandwidth GB/s · "),
    **there_and_back("column_left", "column_right", "(?m)^ gmem wr bandwidth GB/s · "),
    "columns": Promise("columns of SCF", undo=ESC),
    "arrange": Promise("← → move", undo=ESC),
    "explain": Promise(r"cmem wr bandwidth GB/s · 2 x SCF · machine Σ · [\d.]+ GB/s ─", undo=ESC),
    "search": Promise(_total("PCIE"), typed=("pcie",), undo=ESC),
    "search_next": Promise(_unit("pcie"), first=("/", "pcie", "Enter"), now=_total("PCIE")),
    "filter": Promise(r"filter pmu_1: 1 row ", typed=("pmu_1",), undo=ESC),
    "tag_row": Promise(r"(?m)^•  machine Σ", undo=("V",)),
    "untag": Promise(gone=r"(?m)^•  machine Σ", first=("x",), now=r"(?m)^•  machine Σ"),
    "mark": Promise("DIFFERENCES FROM", undo=("b",)),
    "copy_rows": Promise("Copied.*: 1 row as CSV", undo=("Home",)),
    "filters": Promise("filters of ", first=("PPage", "NPage"), now="pcie", undo=ESC),
    "traffic": Promise(r"\[ +memory 0 +\]", undo=("t",)),
    "sort_next": Promise("place▲", undo=("<",)),
    "sort_previous": Promise(gone="place▲", first=(">",), now="place▲"),
    "reverse": Promise(compared=swapped, undo=("I",)),
}, ready=r"machine Σ · [\d.]+ GB/s")
"""A machine of more than one kind of uncore PMU, one of which can be filtered; its tables have no sums to fold."""

_UNFOLDED = r"▾ pkg 0 Σ .* \*?65\.0 +\*?2\.400"
"""The sum of memory channels, known by its rows hit and its clock; it is folded at first, and that of links is not."""

FOLDED = Place("5", "uncore", _SAPPHIRE, (160, 40), r"(?m)^ rd bandwidth GB/s · 16 x IMC · machine Σ · ", {
    "fold_all": Promise(r"▸ pkg 0 Σ .* ~2\.000", undo=("*", "*")),
    "uncore_left": Promise(_UNFOLDED, first=("Down",), now="8 x IMC · pkg 0 Σ", undo=("Left", "Home")),
}, everywhere=False, ready=r" pkg 0 Σ .* \*?65\.0 +\*?2\.400[\s\S]* pkg 0 Σ .* ~2\.000")

_MAP_SHOWN = r"\[ +memory 0 +\]"
EDGES = Place("5", "uncore", ("icelake-2s",), (160, 50), FOLDED.home, {
    "explain": Promise(r"package 0 · memory 0 · [\d.]+ GB/s ─", first=("t",), now=_MAP_SHOWN, undo=(*ESC, "t")),
    "fold_all": Promise("The map has no sums to fold", first=("t",), now=_MAP_SHOWN, undo=("t",)),
    "filters": Promise("Filters are set for units", first=("t",), now=_MAP_SHOWN, undo=("t",)),
    "tag_row": Promise(r"(?m)^•package 0 memory 0", first=("t",), now=_MAP_SHOWN, undo=("V", "t")),
}, everywhere=False)
"""The map of traffic: the keys act on its edges."""

# Roofline


def _cursor(picture: str) -> tuple[int, int]:
    """Column and line of the point under the cursor."""
    for y, line in enumerate(picture.splitlines()):
        if "◉" in line:
            return line.index("◉"), y
    return -1, -1


def _span(picture: str) -> float:
    """By what factor the marks of the vertical axis are apart."""
    marks = [float(mark) for mark in re.findall(r"(?m)^ +([\d.]+)┤", picture)]
    return max(marks) / min(marks) if marks else 0.0


def denser(before: str, after: str) -> bool:
    """Whether the cursor is on a point further to the right: neighbours may have the same number to four digits."""
    return -1 < _cursor(before)[0] < _cursor(after)[0]


def sparser(before: str, after: str) -> bool:
    """Whether the cursor is on a point further to the left."""
    return denser(after, before)


def slower(before: str, after: str) -> bool:
    """Whether the cursor is on a point that is lower."""
    return -1 < _cursor(before)[1] < _cursor(after)[1]


def faster(before: str, after: str) -> bool:
    """Whether the cursor is on a point that is higher."""
    return slower(after, before)


def nearer(before: str, after: str) -> bool:
    """Whether less is to be seen."""
    return 0.0 < _span(after) < _span(before)


def further(before: str, after: str) -> bool:
    """Whether more is to be seen."""
    return nearer(after, before)


def to_the_right(before: str, after: str) -> bool:
    """Whether what is seen is further to the right: the picture was moved to the left."""
    return denser(before, after)


def to_the_left(before: str, after: str) -> bool:
    """Whether what is seen is further to the left."""
    return to_the_right(after, before)


def lower(before: str, after: str) -> bool:
    """Whether what is seen is further down: the picture was moved up."""
    return slower(before, after)


def higher(before: str, after: str) -> bool:
    """Whether what is seen is further up."""
    return lower(after, before)


def another_row(before: str, after: str) -> bool:
    """Whether the panel at the right is about another row, which may have no place."""
    matches = [re.search(r" (package \d core \d+) *\n.* AI +[~\d—]", picture) for picture in (before, after)]
    return all(matches) and matches[0][1] != matches[1][1]  # type: ignore[index]  # none of them is None


_ROW = r"(?m)^ (\S+ · )?package \d core \d+(:| ·)"
_POINT = r"(?m)^ (\S+ · )?package \d core \d+(: AI| · )"
_BUSIEST = ("t",) * 5  # around through all levels
# Wherever the busiest point is: who goes left and back is on a point that has another one at its left.
ROOFLINE = Place("6", "roofline", ("sapphire-2s",), (160, 36), r"(?m)^ Past: of the point under the cursor", {
    **_MENU, **_GRAPH,
    "columns": Promise("type to search", undo=ESC),
    "arrange": Promise("← → move", undo=ESC),
    "search": Promise("Nothing matches nowhere", typed=("nowhere",), undo=ESC),
    "search_next": Promise(compared=another_row, first=("/", "core", "Enter"), now=_ROW, undo=_BUSIEST),
    "filter": Promise(r"filter AI>0: \d+ rows?", typed=("AI>0",), undo=ESC),
    "sort_next": Promise("GB/s[▲▼]", undo=("<",)),
    "sort_previous": Promise("GFLOP/s▼", first=(">",), now="GB/s[▲▼]"),
    "reverse": Promise("GFLOP/s▲", undo=("I",)),
    "explain": Promise(r"GFLOP/s · package \d core \d+ ·", undo=ESC),
    "tag_row": Promise("(?m)^•package", undo=("V",)),
    "untag": Promise(gone="(?m)^•package", first=("x",), now="(?m)^•package"),
    "mark": Promise("DIFFERENCES FROM", undo=("b",)),
    "copy_rows": Promise("Copied.*: 1 row as CSV"),
    "page_down": Promise(compared=another_row, undo=_BUSIEST),
    "page_up": Promise(compared=another_row, first=("End",), now=_ROW, undo=_BUSIEST),
    "last": Promise(compared=another_row, undo=_BUSIEST),
    "first": Promise(compared=another_row, first=("End",), now=_ROW, undo=_BUSIEST),
    "roof_rows": Promise("Points: packages", undo=("t", "t", "t", "t")),
    "roof_trail": Promise("(?m)^ Past: of all points", undo=("v", "v")),
    "roof_width": Promise("Bytes of an access: width of the precisions", undo=("w", "w", "w", "w", "w")),
    "roof_roofs": Promise("Roofs: theory", undo=("R",)),
    "roof_flats": Promise("Flat roofs: single", undo=("r", "r", "r")),
    "roof_nearer": Promise(compared=nearer, typed=("]", "]"), undo=("A",)),
    "roof_further": Promise(compared=further, typed=("[", "["), undo=("A",)),
    "roof_whole": Promise(gone="outside the axes", undo=("A",)),
    "roof_left": Promise(compared=sparser, first=("Left", "Right"), now=_POINT, undo=_BUSIEST),
    "roof_right": Promise(compared=denser, first=("Right", "Left"), now=_POINT, undo=_BUSIEST),
    "roof_up": Promise(compared=faster, first=("Up", "Down"), now=_POINT, undo=_BUSIEST),
    "roof_down": Promise(compared=slower, first=("Down", "Up"), now=_POINT, undo=_BUSIEST),
    "roof_row_down": Promise(compared=another_row, undo=("k",)),
    "roof_row_up": Promise(compared=another_row, first=("j",), now=_ROW),
    "roof_column_right": Promise("(?m)^ GB/s · package", undo=("h",)),
    "roof_column_left": Promise("(?m)^ AI · package", undo=("l",)),
    "roof_pan_left": Promise(compared=to_the_right, undo=("A",)),
    "roof_pan_right": Promise(compared=to_the_left, undo=("A",)),
    "roof_pan_up": Promise(compared=lower, undo=("A",)),
    "roof_pan_down": Promise(compared=higher, undo=("A",)),
    "roof_svg": Promise(r"(?m)^ Saved \S+\.svg"),
    "roof_csv": Promise(r"(?m)^ Saved \S+\.csv"),
    "roof_levels": Promise("Bytes of each memory level", undo=("E",)),
    "roof_curve": Promise("Loads and streaming stores of one thread", undo=ESC),
    "roof_functions": Promise(r"functions of package \d core", undo=ESC),
}, calm=("v", "v", "v"), ready=r"DRAM [\d.]+ [\s\S]* AI +~?0\.[12][\s\S]*◉[\s\S]* outside the axes")
"""A machine on which something of every kind is going on at any time, so that points are far apart."""

# Tasks


def _task(row: str) -> str:
    """The cursor on the row so far down: its name, its CPU and what it ran stand below, too."""
    return (r"CPU%[▲▼].*\n" + rf"(?:.*\n){{{row}}}"
            + r" +\d+ +\d+ (\S.*?) +│ +[A-Za-z] +(?:\S+ +)?(\d+) +[\d.]+ +([\d.]+) "
            r"[\s\S]*\n (?:CPU% [\d.]+ % · )?\1 · ran .* · \3 s in all, on (?:CPU (?:\d+, )*\2\b|\d+ CPUs)")


def _paged_up(before: str, after: str) -> bool:
    """Whether the cursor is a page up: on the row above those that were shown."""
    rows = [re.findall(r"(?m)^ +\d+ +(\d+) \S.*\d\.\d{3} ", picture) for picture in (before, after)]
    return rows[0][0] == rows[1][1] and bool(re.search(_task("0"), after))


def _next_streaming(before: str, after: str) -> bool:
    """Whether the cursor is on another row of the same name."""
    lines = [re.search(r"(?m)^ .*streaming · ran .*", picture) for picture in (before, after)]
    return all(lines) and lines[0][0] != lines[1][0]  # type: ignore[index]  # none of them is None


_BOTTOM = _task("7,9")
TASKS = Place("7", "tasks", _MANY, (160, 18), r"watching everything · .* threads ran [\s\S]*" + _task("0"), {
    **_MENU, **_GRAPH,
    "columns": Promise("type to search", undo=ESC),
    "arrange": Promise("← → move", undo=ESC),
    "search": Promise(r"(?m)^ .*streaming · ran", typed=("streaming",), undo=ESC),
    "search_next": Promise(compared=_next_streaming, first=("/", "streaming", "Enter"), now=r"(?m)^ .*streaming · ran"),
    "filter": Promise(r"filter streaming: \d+ rows?", typed=("streaming",), undo=ESC),
    **there_and_back("sort_previous", "sort_next", "Run_s[▲▼]", ">", "<"),
    **there_and_back("left", "right", "(?m)^ Run_s .* s · .* · ran"),
    **there_and_back("column_left", "column_right", "(?m)^ Run_s .* s · .* · ran"),
    "reverse": Promise("CPU%▲", undo=("I",)),
    "tag_row": Promise(r"(?m)^• +\d+ +\d+ ", undo=("V",)),
    "untag": Promise(gone=r"(?m)^• +\d+ +\d+ ", first=("x",), now=r"(?m)^• +\d+ +\d+ "),
    "mark": Promise("DIFFERENCES FROM", undo=("b",)),
    "copy_rows": Promise("Copied.*: 1 row as CSV", undo=("Home",)),
    "acts": Promise(r"turbotui runs nothing", undo=ESC),
    "point": Promise(r"ran there: Esc returns", undo=ESC),
    "open": Promise(r"ran there: Esc returns", undo=ESC),
    "watch": Promise("(?m)^ watch all .*Enter: watch$", undo=ESC),
    "start_stop": Promise("Stopped: every counter is closed", undo=("s",)),
    "rows": Promise(r"\d process(es)? ran", undo=("t", "t", "t", "t")),
    "fold_all": Promise(r"▸ systemd Σ", first=("t", "t"), now=r"▾ systemd", undo=("*", "t", "t", "t")),
    "span": Promise("LAST MINUTE|SINCE THE MARK", undo=ESC),
    "timeline": Promise(r"\|-10 s", undo=("v",)),
    "explain": Promise(r"· PID \d+ · TID \d+ · [\d.]+ % ─", undo=ESC),
    "window_longer": Promise("Timeline of 20 s", undo=("[",)),
    "window_shorter": Promise("Timeline of 5 s", undo=("]",)),
    **moves(_task("1"), _BOTTOM), **pages(_BOTTOM, _BOTTOM, ""),
    "page_up": Promise(compared=_paged_up, first=("End",), now=_BOTTOM),
}, exact=False)
"""Rows come and go, and are read anew by some of the keys."""

# Groups


def _group(name: str, column: str = "CPU%") -> str:
    return rf"(?m)^ {column} · {name} ·"


GROUPS = Place("u", "groups", _SAPPHIRE, (160, 24), _group("/") + r" [\d.,]+ % ", {
    **_MENU, **_GRAPH,
    "columns": Promise("type to search", undo=ESC),
    "arrange": Promise("← → move", undo=ESC),
    "search": Promise(_group(r"web\.service"), typed=("web",), undo=ESC),
    "search_next": Promise(_group(r"web\.service"), first=("/", "service", "Enter"), now=_group(r"db\.service")),
    "filter": Promise(r"filter service: \d+ rows?", typed=("service",), undo=ESC),
    **there_and_back("sort_previous", "sort_next", "PSIcpu%[▲▼]", ">", "<"),
    **there_and_back("left", "right", _group("/", "PSIcpu%")),
    **there_and_back("column_left", "column_right", _group("/", "PSIcpu%")),
    "reverse": Promise("CPU%▲", undo=("I",)),
    "tag_row": Promise(r"(?m)^•", undo=("V",)),
    "untag": Promise(gone=r"(?m)^•", first=("x",), now=r"(?m)^•"),
    "mark": Promise("DIFFERENCES FROM", undo=("b",)),
    "copy_rows": Promise("Copied.*: 1 row as CSV", undo=("Home",)),
    "acts": Promise(r"turbotui runs nothing", undo=ESC),
    "add": Promise("─ add a column ─", undo=ESC),
    "group_rows": Promise("one below the other", undo=("t", "t")),
    "fold_all": Promise("▸ user.slice", undo=("*",)),
    "explain": Promise(r"CPU% · / · [\d.,]+ % ─", undo=ESC),
    **moves(_group(r"user\.slice"), _group(r"init\.scope")),
    **pages(_group(r"init\.scope"), _group(r"init\.scope"), _group("/")),
}, exact=False)
"""The groups screen. Not exact: `t` ends the interval where it comes to groups of resctrl that were not read yet."""

# Interrupts


def _interrupt(name: str, column: str = "Int/s") -> str:
    return rf"(?m)^ {column} · {name} ·"


INTERRUPTS = Place("Z", "interrupts", _SAPPHIRE, (160, 24), _interrupt("LOC") + r" [\d.,]+ /s ", {
    **_MENU, **_GRAPH,
    "columns": Promise("type to search", undo=ESC),
    "arrange": Promise("← → move", undo=ESC),
    "search": Promise(_interrupt("TLB"), typed=("shootdown",), undo=ESC),
    "search_next": Promise(_interrupt("SPU"), first=("/", "spurious", "Enter", "Home"), now=_interrupt(r"(?!SPU)\w+")),
    "filter": Promise(r"filter nvme: \d+ rows?", typed=("nvme",), undo=ESC),
    **there_and_back("sort_previous", "sort_next", "CPUs[▲▼]", ">", "<"),
    **there_and_back("left", "right", _interrupt("LOC", "CPUs")),
    **there_and_back("column_left", "column_right", _interrupt("LOC", "CPUs")),
    "reverse": Promise("Int/s▲", undo=("I",)),
    "tag_row": Promise(r"(?m)^•", undo=("V",)),
    "untag": Promise(gone=r"(?m)^•", first=("x",), now=r"(?m)^•"),
    "mark": Promise("DIFFERENCES FROM", undo=("b",)),
    "copy_rows": Promise("Copied.*: 1 row as CSV", undo=("Home",)),
    "fold_all": Promise("▾ LOC", undo=("*",)),
    "explain": Promise(r"Int/s · LOC · [\d.,]+ /s ─", undo=ESC),
    **moves(_interrupt(r"(?!LOC)\w+"), _interrupt("PIW")),
    **pages(_interrupt("PIW"), _interrupt(r"(?!LOC)\w+"), _interrupt(r"(?!PIW)\w+")),
}, exact=False)
"""Sources of interrupts, the timer first; the order of the others changes from interval to interval."""

# Memory


def _level(name: str, column: str = "MemBW") -> str:
    return rf"(?m)^ {column} · {name} ·"


MEMORY = Place("N", "memory", _SAPPHIRE, (160, 24), _level("machine") + r" [\d.,]+ GB/s ", {
    **_MENU, **_GRAPH,
    "columns": Promise("type to search", undo=ESC),
    "arrange": Promise("← → move", undo=ESC),
    "search": Promise(_level("node 1"), typed=("node 1",), undo=ESC),
    "search_next": Promise(_level("L3 00"), first=("/", "l3", "Enter", "Home"), now=_level("machine")),
    "filter": Promise(r"filter node: \d+ rows?", typed=("node",), undo=ESC),
    "sort_next": Promise("Level▲", undo=("<",)),
    "sort_previous": Promise(gone="Level▲", first=(">",), now="Level▲"),
    **there_and_back("left", "right", _level("machine", "LocalBW")),
    **there_and_back("column_left", "column_right", _level("machine", "LocalBW")),
    "reverse": Promise("node 1(?s:.*)node 0", undo=("I",)),
    "tag_row": Promise(r"(?m)^•", undo=("V",)),
    "untag": Promise(gone=r"(?m)^•", first=("x",), now=r"(?m)^•"),
    "mark": Promise("DIFFERENCES FROM", undo=("b",)),
    "copy_rows": Promise("Copied.*: 1 row as CSV", undo=("Home",)),
    "fold_all": Promise("▸ machine", undo=("*",)),
    "explain": Promise(r"MemBW · machine · [\d.,]+ GB/s ─", undo=ESC),
    **moves(_level("node 0"), _level("L3 01")),
    **pages(_level("L3 01"), _level("L3 01"), _level("machine")),
}, exact=False)
"""The machine, its nodes, and an L3 cache in each."""

# Batteries


def _battery(name: str, column: str = "State") -> str:
    return rf"(?m)^ {column} · {name} ·"


_MOUSE = _battery("hidpp_battery_0")
BATTERIES = Place("%", "batteries", ("laptop-gpu",), (160, 24), _battery("BAT0") + " Discharging ", {
    **_MENU, **_GRAPH,
    "columns": Promise("type to search", undo=ESC),
    "arrange": Promise("← → move", undo=ESC),
    "search": Promise(_MOUSE, typed=("mouse",), undo=ESC),
    "search_next": Promise(_battery("BAT1"), first=("/", "bat", "Enter", "Home"), now=_battery("BAT0")),
    "filter": Promise(r"filter mouse: \d+ rows?", typed=("mouse",), undo=ESC),
    "sort_next": Promise("Battery▲", undo=("<",)),
    "sort_previous": Promise(gone="Battery▲", first=(">",), now="Battery▲"),
    **there_and_back("left", "right", _battery("BAT0", "Charge%")),
    **there_and_back("column_left", "column_right", _battery("BAT0", "Charge%")),
    "reverse": Promise(r"\n BAT1 +battery(?s:.*)\n BAT0 +battery", undo=("I",)),
    "tag_row": Promise(r"(?m)^•", undo=("V",)),
    "untag": Promise(gone=r"(?m)^•", first=("x",), now=r"(?m)^•"),
    "mark": Promise("DIFFERENCES FROM", undo=("b",)),
    "copy_rows": Promise("Copied.*: 1 row as CSV", undo=("Home",)),
    "explain": Promise(r"State · BAT0 · Discharging ─", undo=ESC),
    **moves(_battery("BAT1"), _MOUSE),
    **pages(_MOUSE, _MOUSE, _battery("BAT0")),
}, exact=False)
"""Two batteries of a laptop, and a mouse's."""

# Cooling


def _cooler(name: str, column: str = "Temp") -> str:
    return rf"(?m)^ {column} · {name} ·"


COOLING = Place("&", "cooling", ("laptop-gpu",), (160, 24), _cooler("thermal_zone0"), {
    **_MENU, **_GRAPH,
    "columns": Promise("type to search", undo=ESC),
    "arrange": Promise("← → move", undo=ESC),
    "search": Promise(_cooler("cooling_device1"), typed=("fan",), undo=ESC),
    "search_next": Promise(_cooler("thermal_zone1"), first=("/", "thermal", "Enter", "Home"),
                           now=_cooler("thermal_zone0")),
    "filter": Promise(r"filter fan: \d+ rows?", typed=("fan",), undo=ESC),
    "sort_next": Promise("Name▲", undo=("<",)),
    "sort_previous": Promise(gone="Name▲", first=(">",), now="Name▲"),
    **there_and_back("left", "right", _cooler("thermal_zone0", "Room")),
    **there_and_back("column_left", "column_right", _cooler("thermal_zone0", "Room")),
    "reverse": Promise(r"\n thermal_zone1 +x86.*\n thermal_zone0 +acpitz", undo=("I",)),
    "tag_row": Promise(r"(?m)^•", undo=("V",)),
    "untag": Promise(gone=r"(?m)^•", first=("x",), now=r"(?m)^•"),
    "mark": Promise("DIFFERENCES FROM", undo=("b",)),
    "copy_rows": Promise("Copied.*: 1 row as CSV", undo=("Home",)),
    "explain": Promise(r"Temp · thermal_zone0 · [\d.]+ °C ─", undo=ESC),
    **moves(_cooler("thermal_zone1"), _cooler("cooling_device2")),
    **pages(_cooler("cooling_device2"), _cooler("cooling_device2"), _cooler("thermal_zone0")),
}, exact=False)
"""Two thermal zones of a laptop, its processor, its fan and powerclamp."""

# Top-down


def _place(name: str, column: str = r"\S+") -> str:
    return rf"(?m)^ {column} · {name} ·"


_CORE = _place(r"core \d\.\d")  # which one stands where is a matter of how much it works


def _elsewhere(before: str, after: str) -> bool:
    """Whether the cursor stands on another row than before."""
    rows = [re.search(r"(?m)^ \S+ · (core [\d.]+) ·", picture) for picture in (before, after)]
    return all(rows) and rows[0][1] != rows[1][1]  # type: ignore[index]  # none of them is None


TOPDOWN = Place("d", "topdown", _SAPPHIRE, (160, 36), _place("machine", "Retire%"), {
    **_MENU, **_GRAPH,
    "columns": Promise("type to search", undo=ESC),
    "arrange": Promise("← → move", undo=ESC),
    "search": Promise(_place(r"core 1\.2"), typed=("1.2",), undo=ESC),
    "search_next": Promise(first=("/", "core 1", "Enter"), now=_place(r"core 1\.\d"), compared=_elsewhere),
    "filter": Promise(r"filter core 0: \d+ rows?", typed=("core 0",), undo=ESC),
    "sort_next": Promise(r"[▲▼](?!\d)", undo=("<",)),  # before a number it is the mark of a threshold
    "sort_previous": Promise(r"[▲▼](?!\d)", undo=(">", *"HHHHHHHH")),
    **there_and_back("left", "right", _place("machine", "BadSpec%") + "|machine › "),
    **there_and_back("column_left", "column_right", _place("machine", "BadSpec%"), "S-Right", "S-Left"),
    "reverse": Promise(_CORE, undo=("I", "Home")),
    "tag_row": Promise(r"(?m)^•", undo=("V",)),
    "untag": Promise(gone=r"(?m)^•", first=("x",), now=r"(?m)^•"),
    "mark": Promise("DIFFERENCES FROM", undo=("b",)),
    "copy_rows": Promise("Copied.*: 1 row as CSV", undo=("Home",)),
    "topdown_rows": Promise("A row for each cpu", undo=("t", "t", "t", "t")),
    "explain": Promise(r"Retire% · machine · .*─", undo=ESC),
    **moves(_CORE, _CORE),
    **pages(_CORE, _CORE, _place("machine")),
}, exact=False)
"""The top-down screen. Not exact: what is opened ends the interval."""

# Overview

_BUSY_0 = _cell("cpu 0")
_NO_CURSOR = r"(?m)^ Arrows choose a number"
OVERVIEW = Place("0", "overview", _SAPPHIRE, (160, 36), _NO_CURSOR, {
    "mark": Promise(r"COMPARED WITH the [\d.]+ s before \S+ · Busy%", undo=("b",)),
    **_GRAPH, **_CATEGORY_OF_CPUS,
    "explain": Promise("Δmperf", undo=ESC),
    "search": Promise(_cell("cpu 62"), typed=("62",), undo=ESC),
    "search_next": Promise(_cell("cpu 56"), first=("/", "cpu 5", "Enter"), now=_cell("cpu 5")),
    "open": Promise(r"(?m)^ +\S* *CPU .*│[\s\S]*Busy% · cpu 0 ·", first=("Down",), now=_BUSY_0, undo=("0", "Escape")),
    "overview_up": Promise(_BUSY_0, first=("Down", "Down"), now=_cell("cpu 1")),
    "overview_down": Promise(_cell("cpu 1"), first=("Down",), now=_BUSY_0),
    "overview_left": Promise(_BUSY_0, first=("Down", "Right"), now=_cell("cpu 0", "Bzy_MHz")),
    "overview_right": Promise(_cell("cpu 0", "Bzy_MHz"), first=("Down",), now=_BUSY_0),
    "overview_first": Promise(_cell("whole machine"), first=("Down",), now=_BUSY_0),
    "overview_last": Promise(r"(?m)^ CPU%c\d · cpu 63 ·", first=("Down",), now=_BUSY_0),
}, calm=ESC)

# Info and doctor

_LAST = r"(?m)MSR_MISC_FEATURE_CONTROL.*\n from MSR 0x1a4"
_PROGRAM = r"(?m)^ program +│ turbotui version"
INFO = Place("8", "info", _SAPPHIRE, (160, 24), _PROGRAM + r"[\s\S]*^ from turbotui", {
    **_MENU,
    "columns": Promise("type to search", undo=ESC),
    "arrange": Promise("← → move", undo=ESC),
    "search": Promise("(?m)^ from CPUID", typed=("cpuid",), undo=ESC),
    "search_next": Promise(gone="(?m)^ from CPUID.0x15", first=("/", "cpuid(0x1", "Enter"),
                           now="(?m)^ from CPUID.0x15"),
    "filter": Promise(r"filter cmdline: 1 row ", typed=("cmdline",), undo=ESC),
    **there_and_back("sort_previous", "sort_next", "section▲", ">", "<"),
    **there_and_back("left", "right", "(?m)^ source · program 1"),
    **there_and_back("column_left", "column_right", "(?m)^ source · program 1"),
    "reverse": Promise(r"(?m)│ text.*\n prefetch", undo=("I",)),
    "explain": Promise("text · program 1 · turbotui version", undo=ESC),
    "tag_row": Promise("(?m)^•program", undo=("V",)),
    "untag": Promise(gone="(?m)^•program", first=("x",), now="(?m)^•program"),
    "copy_rows": Promise("Copied.*: 1 row as CSV", undo=("Home",)),
    **moves("(?m)^ from /proc/cmdline", _LAST),
    "page_up": Promise(gone=_LAST, first=("End",), now=_LAST),
    "page_down": Promise(gone=_PROGRAM),
})

DOCTOR = Place("9", "doctor", _SAPPHIRE, (160, 18), (
    r"(?m)^ source +│ state[\s\S]*─\n perf cstate:[\s\S]*^ \d+ ready ·"), {
    **_MENU,
    "columns": Promise("type to search", undo=ESC),
    "arrange": Promise("← → move", undo=ESC),
    "search": Promise(r"─\n MSR device:", typed=("msr",), undo=ESC),
    "search_next": Promise(gone=r"─\n MSR device:", first=("/", "msr", "Enter"), now=r"─\n MSR device:"),
    "filter": Promise(r"filter partial: \d+ rows?", typed=("partial",), undo=ESC),
    **there_and_back("sort_previous", "sort_next", "source▲", ">", "<"),
    **there_and_back("left", "right", "(?m)^ why · perf cstate"),
    **there_and_back("column_left", "column_right", "(?m)^ why · perf cstate"),
    "reverse": Promise(r"why *\n the machine", undo=("I",)),
    "explain": Promise("ready, partial or absent", undo=ESC),
    "tag_row": Promise("(?m)^•perf cstate", undo=("V",)),
    "untag": Promise(gone="(?m)^•perf cstate", first=("x",), now="(?m)^•perf cstate"),
    "copy_rows": Promise("Copied.*: 1 row as CSV", undo=("Home",)),
    **moves(r"─\n perf power:", r"─\n machine +sapphire-2s\n"),
    **there_and_back("page_up", "page_down", r"─\n ✓ cstate.core.c1 ", "NPage", "PPage"),
}, calm=("PPage", "Home"))

PLACES = (OVERVIEW, CPUS, TOPOLOGY, MAP, POWER, UNCORE, FOLDED, EDGES, ROOFLINE, TASKS, INFO, DOCTOR, GROUPS,
          INTERRUPTS, MEMORY, BATTERIES, COOLING, TOPDOWN)
