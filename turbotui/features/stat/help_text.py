"""The text of `turbotui stat --help`."""

from __future__ import annotations

from collections.abc import Iterator

from turbotui.features.stat import FEATURE
from turbotui.features.stat.getopt import Option
from turbotui.features.stat.options import OPTIONS

_TURBOSTAT = "turbostat 2026.09.28"  # whose columns and options these are (docs/specs/turbostat.md 0)


def help_text() -> str:
    """Return the help text with every option."""
    lines = [
        "Usage: turbotui stat [options] [command ...]",
        "",
        "Print what the CPUs did, interval by interval, or over the run of a command, in turbostat's layout.",
        f"Options and columns are those of {_TURBOSTAT}; DIFFERENCES.md says where the numbers differ, and why.",
        "A long option may begin with one dash or two, and end where it is unambiguous.",
        "",
        FEATURE.commands[0].examples_text,
        "",
    ]
    lines += [line for option in OPTIONS if not option.own for line in _described(option)]
    lines += ["", "not turbostat's:"]
    lines += [line for option in OPTIONS if option.own for line in _described(option)]
    return "\n".join([*lines, "", _MORE])


def _described(option: Option) -> Iterator[str]:
    """Yield the lines of one option in the help text."""
    letter = option.letter or option.prefix
    short = f"-{letter}" if letter else "   "
    long = f"--{option.name}" if option.name else ""
    spelled = f"{short}{', ' if letter and long else ' '}{long} {option.argument}"
    first, *more = option.help.split("\n")
    yield f"  {spelled:<28} {first}"
    yield from (f"  {'':<28} {line}" for line in more)


_MORE = """--add beside turbostat's grammar, one column for each event; rows show the sum of the CPUs or PMUs in them:
  EVENT[,name=TITLE][,rate][,EVENT...]    as perf -e takes it: cycles:u, r01c2, cpu/event=0x3c,umask=0/u, cs,
                                          sched:sched_switch, mem:0xADDR:rw, {cycles,instructions}:u (one group),
                                          uncore_imc/cas_count_read/ (all PMUs of that name), skl::INST_RETIRED:ANY,
                                          patterns: 'sched:sched_wak*', 'uncore_imc/cas_*/' (a column for each event)
  TITLE=FORMULA[,unit=TEXT][,decimals=N]  + - * / % ( ) min max d_ratio(A,B) A if B else C, < > == and or not over
                                          events, 'names with - / or :' in quotes, signals such as energy.pkg, and
                                          dt (seconds): "GBs='uncore_imc/data_read/'/dt/1e9"
  set:NAME                                a set that turbotui ships or --events names: turbotui events sets
  metric:NAME[:MODIFIERS][,NAME...]       metrics, or groups of them, of the vendor's tables: turbotui events metrics

NAMES are columns or categories, comma separated: all, topology, frequency, idle, hwidle, swidle, sysfs,
cpuidle, pct_idle, power, cache, llc, other; and turbotui's own: extra (all that turbostat lacks), thermal, kernel,
interrupt.
--show, --hide and --enable work from left to right; the first --show clears what was on.

With a command: its counters from start to end, printed once on stderr, and its exit status returned.
Without: Enter ends the interval, q and Enter makes it the last, SIGUSR1 ends it, SIGINT prints it and leaves.

Exit status: 0 done, 1 option or machine, 2 interval too small, 234 unknown column, 237 no CPU left,
255 malformed number or CPU set; that of the command in command mode."""
