"""Man pages and completions of every verb, from the parsers that the program itself uses."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from turbotui import __version__
from turbotui.app.themes import THEMES
from turbotui.commands.parser import Parser, verb_of
from turbotui.feature import VERB_GROUPS, Command
from turbotui.feature_list import COMMANDS, FEATURES
from turbotui.features.stat.options import OPTIONS as STAT_OPTIONS
from turbotui.quantities.catalog import catalog_for
from turbotui.recording.recorded_tables import known_tables
from turbotui.sampling.row_tables import known_kinds
from turbotui.simulated import SHAPES

NAMES = {"--screen": tuple(spec.id for feature in FEATURES for spec in feature.screens),
         "--theme": tuple(theme.name for theme in THEMES)}
"""What completes options whose words the parser does not know."""
MACHINES = " ".join(SHAPES)
"""What completes --machine, beside files."""


@dataclass(frozen=True)
class Flag:
    """An option: its spellings, its argument ("" for none), the words it takes, and what it does."""

    names: tuple[str, ...]
    argument: str
    choices: tuple[str, ...]
    help: str

    @property
    def is_file(self) -> bool:
        """Whether its argument is a path."""
        return self.argument in ("FILE", "DIR")

    @property
    def is_machine(self) -> bool:
        """Whether its argument is a simulated machine, or a gathered one in a file."""
        return "--machine" in self.names


@dataclass(frozen=True)
class Verb:
    """A verb, or a verb of a verb ("events list"); "" is the program without one.

    `words` are those of which its first operand is one, `behind` is what the words after -- are, `notes` what --help
    says after the options, `group` the heading of --help under which it stands.
    """

    name: str
    summary: str
    flags: tuple[Flag, ...]
    operands: tuple[tuple[str, str], ...]
    under: tuple[Verb, ...] = ()
    words: tuple[tuple[str, str], ...] = ()
    behind: str = ""
    notes: str = ""
    group: str = ""
    examples: tuple[tuple[str, str], ...] = ()


def verbs() -> list[Verb]:
    """Every verb, the one without a name first."""
    return [replace(_of_stat(command) if command.name == "stat" else _of(command), group=command.group,
                    examples=command.examples) for command in COMMANDS]


def _of(command: Command) -> Verb:
    parser = Parser(prog=f"turbotui {command.name}".strip())
    if not command.name:
        parser.add_argument("--version", action="version", version=__version__, help="print the version and exit")
    verb_of(command).add_arguments(parser)
    return replace(_of_parser(command.name, command.summary, parser), behind=command.behind, notes=parser.epilog or "")


def _of_parser(name: str, summary: str, parser: argparse.ArgumentParser) -> Verb:
    flags, operands, under, words = [], [], [], []
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to list them
        text = "" if action.help in (None, argparse.SUPPRESS) else " ".join((action.help or "").split())
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
            under += [_of_parser(f"{name} {word}", summaries.get(word, ""), subparser)
                      for word, subparser in action.choices.items()]
        elif action.option_strings:
            takes = action.nargs != 0
            argument = (action.metavar or action.dest.upper()) if takes else ""
            choices = NAMES.get(action.option_strings[-1]) or tuple(map(str, action.choices or ()))
            flags.append(Flag(tuple(action.option_strings), str(argument), choices,
                              text.replace("%%", "%")))
        else:
            operands.append((str(action.metavar or action.dest), text))
            words += [(str(word), text) for word in action.choices or ()]
    words += [(verb.name.split()[-1], verb.summary) for verb in under]
    return Verb(name, summary, tuple(flags), tuple(operands), tuple(under), tuple(words))


def _operand(name: str) -> str:
    """A word without an option, as a page writes it; "-- command" stands for all words after the dashes."""
    behind = name.removeprefix("-- ")
    return f"\\fI{_roff(name)}\\fR" if behind == name else f"\\-\\- \\fI{_roff(behind)}\\fR ..."


def _of_stat(command: Command) -> Verb:
    from turbotui.tables.formats import NAMES  # noqa: PLC0415

    flags = tuple(
        Flag((*([f"-{letter}"] if (letter := one.letter or one.prefix) else []), f"--{one.name}"), one.argument,
             NAMES if one.name == "format" else (), " ".join(one.help.split()))
        for one in STAT_OPTIONS if one.name not in ("", "IPC"))
    return Verb(command.name, command.summary, flags,
                (("command", "run this, and print one interval over it; its exit status is handed on"),))


def man_page(verb: Verb, all_verbs: Sequence[Verb]) -> str:
    """A page in man(7)."""
    title = f"turbotui-{verb.name.replace(' ', '-')}" if verb.name else "turbotui"
    lines = [f'.TH "{title.upper()}" 1 "" "turbotui {__version__}" "User Commands"', ".SH NAME",
             f"{_roff(title)} \\- {_roff(verb.summary)}", ".SH SYNOPSIS",
             f"\\fBturbotui{' ' + _roff(verb.name) if verb.name else ''}\\fR [options]"
             + "".join(f" [{_operand(name)}]" for name, _help in verb.operands)
             + (f" [\\-\\- \\fI{verb.behind}\\fR ...]" if verb.behind else "")]
    for section in (verb, *verb.under):
        head = "OPTIONS" if section is verb else f"turbotui {section.name}".upper()
        if section.flags or section.operands:
            lines += [f'.SH "{_roff(head)}"', *([_roff(section.summary) + "."] if section is not verb else [])]
        for flag in section.flags:
            names = ", ".join(f"\\fB{_roff(name)}\\fR" for name in flag.names)
            # \\: is where a line may break: the screens alone are longer than one
            words = "|\\:".join(map(_roff, flag.choices)) or _roff(flag.argument)
            argument = f" \\fI{words}\\fR" if flag.argument else ""
            lines += [".TP", names + argument, _roff(flag.help) or "."]
        for name, text in section.operands:
            if text:
                lines += [".TP", _operand(name), _roff(text)]
    if verb.notes:
        lines += [".SH NOTES", _roff(verb.notes)]
    if not verb.name:
        lines += [".SH COMMANDS"]
        for group, heading in VERB_GROUPS.items():
            listed = [other for other in all_verbs if other.name and other.group == group]
            lines += [f'.SS "{_roff(heading)}"'] if listed else []
            for other in listed:
                name = _roff(other.name)
                lines += [".TP", f"\\fB{name}\\fR", f"{_roff(other.summary)}; see turbotui\\-{name}(1)"]
        lines += [".SH EXIT STATUS", "0 done, 1 failed, 2 wrong command line, 3 the machine, or what the verb "
                  "counts, cannot be read here, "
                  "4 no usable terminal, 5 slower and 6 no sure answer (score \\-\\-slower, diff \\-\\-limit, "
                  "fleet check, why), 7 something slows the machine down (why) or a node was found (fleet check), 130 and "
                  "143 ended by SIGINT and SIGTERM, 70 a fault of turbotui itself."]
    lines += [".SH EXAMPLES"] if verb.examples else []
    for line, what in verb.examples:
        lines += [".TP", f"\\fB{_roff(line)}\\fR", _roff(what)]
    lines += [".SH SEE ALSO", "turbotui(1), turbostat(8), perf(1)"]
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def bash(all_verbs: Sequence[Verb]) -> str:
    """For bash-completion: verbs, options, words that options take; files, with any blanks, are the shell's own."""
    lines = ["# bash completion for turbotui(1); made by .ci/docs", "_turbotui() {",
             '    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb="" options="" at',
             f'    local columns="{" ".join(_columns())}"', f'    local tables="{" ".join(_tables())}"',
             "    COMPREPLY=()",
             "    for ((at = 1; at < COMP_CWORD; at++)); do",
             "        if [[ ${COMP_WORDS[at]} == -- ]]; then  # a command follows",
             "            if declare -F _command_offset >/dev/null; then _command_offset $((at + 1))",
             '            elif ((COMP_CWORD == at + 1)); then COMPREPLY=($(compgen -c -- "$word")); fi',
             "            return", "        fi", "    done",
             "    for ((at = 1; at < COMP_CWORD && at < 3; at++)); do  # other words are options and their values",
             '        case "$verb ${COMP_WORDS[at]}" in', *_bash_verbs(all_verbs), "            *) break;;",
             "        esac", "    done",
             '    case "$verb" in']
    for verb in _flat(all_verbs):
        words = " ".join(name for flag in verb.flags for name in flag.names)
        first = " ".join([word for word, _ in verb.words] or [one.name for one in all_verbs if one.name and not verb.name])
        lines += [f'    "{verb.name}")', f'        options="{" ".join(filter(None, (words, first)))}"',
                  '        case "$before" in']
        for flag in verb.flags:
            pattern = "|".join(flag.names)
            if flag.choices:
                lines += [f"        {pattern}) COMPREPLY=($(compgen -W \"{' '.join(flag.choices)}\" -- \"$word\")); return;;"]
            elif (listed := _listed(verb, flag)):
                lines += [f'        {pattern}) COMPREPLY=($(compgen -P "${{word%"${{word##*,}}"}}" -W "${listed}" -- '
                          '"${word##*,}")); return;;']
            elif flag.is_machine:
                lines += [f'        {pattern}) COMPREPLY=($(compgen -W "{MACHINES}" -- "$word")); return;;']
            elif flag.argument:
                lines += [f"        {pattern}) return;;"]
        lines += ["        esac", *(['        [[ $word == -* ]] || return 0'] if _takes_files(verb) else []), "        ;;"]
    lines += ["    esac", '    COMPREPLY=($(compgen -W "$options" -- "$word"))', "}",
              "complete -o default -F _turbotui turbotui"]
    return "\n".join(lines) + "\n"


def _columns() -> tuple[str, ...]:
    """Names of columns of CPUs without blanks, by which words are split."""
    return tuple(column.id for column in catalog_for({}).columns if " " not in column.id)


def _tables() -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(word for table in known_tables() for word in table.words), *known_kinds())))


def _listed(verb: Verb, flag: Flag) -> str:
    """The variable with the words of which an option takes several, joined by commas; "" for none."""
    if verb.name in ("record", "collect") and "--tables" in flag.names:
        return "tables"
    of_cpus = verb.name in ("", "stat", "record", "collect", "export", "diff")
    return "columns" if of_cpus and {"--show", "--hide", "--enable", "--columns"} & {*flag.names} else ""


def _takes_files(verb: Verb) -> bool:
    """Whether a word of a verb is a file, or a span of one."""
    return any(name in ("FILE", "A", "B") for name, _ in verb.operands)


def _bash_verbs(all_verbs: Sequence[Verb]) -> Iterator[str]:
    for verb in _flat(all_verbs):
        if verb.name:
            above, _, last = verb.name.rpartition(" ")
            yield f'            "{above} {last}") verb="{verb.name}";;'


def _flat(all_verbs: Sequence[Verb]) -> Iterator[Verb]:
    for verb in all_verbs:
        yield verb
        yield from _flat(verb.under)


def zsh(all_verbs: Sequence[Verb]) -> str:
    """For zsh's compinit."""
    lines = ["#compdef turbotui", "# made by .ci/docs", "_turbotui() {",
             f"    local -a verbs columns=({' '.join(map(_quoted, _columns()))}) tables=({' '.join(_tables())})", "    verbs=("]
    lines += [f"        {_quoted(f'{verb.name}:{verb.summary}')}" for verb in all_verbs if verb.name]
    lines += ["    )", "    local verb=${words[2]} at=${words[(i)--]}",
              "    if (( at < CURRENT )); then  # a command follows", '        words=("${(@)words[at+1,-1]}")',
              "        (( CURRENT -= at ))", "        _normal", "        return", "    fi",
              "    if (( CURRENT == 2 )) && [[ ${words[2]} != -* ]]; then",
              "        _describe verb verbs", "        return", "    fi", "    case $verb in"]
    for verb in (*all_verbs[1:], all_verbs[0]):
        lines += [f"    {verb.name or '*'})", "        _arguments \\"]
        for flag in (flag for one in (verb, *verb.under) for flag in one.flags):
            for name in flag.names:
                words = f"({' '.join(flag.choices)})" if flag.choices else "_files" if flag.is_file else ""
                if listed := _listed(verb, flag):
                    words = f"{{_sequence compadd - ${listed}}}"
                elif flag.is_machine:
                    words = f"{{compadd -- {MACHINES}; _files}}"
                argument = f":{flag.argument}:{words}" if flag.argument else ""
                lines += [f"            {_quoted(f'*{name}[{_plain(flag.help)}]{argument}')} \\"]
        if verb.words:
            lines += [f"            {_quoted('2:what:(' + ' '.join(word for word, _ in verb.words) + ')')} \\"]
        lines += ["            '*:file:_files';;"]
    lines += ["    esac", "}", '_turbotui "$@"']
    return "\n".join(lines) + "\n"


def fish(all_verbs: Sequence[Verb]) -> str:
    """For fish."""
    names = " ".join(verb.name for verb in all_verbs if verb.name)
    lines = ["# fish completion for turbotui(1); made by .ci/docs",
             *(f"function __turbotui_{name}; printf '%s\\n' {' '.join(map(_quoted, words))}; end"
               for name, words in (("columns", _columns()), ("tables", _tables()))),
             "complete -c turbotui -n 'contains -- -- (commandline -opc)' -f -a '(set -l words (commandline -opc) "
             "(commandline -ct); complete -C (string join \" \" -- $words[(math (contains -i -- -- $words) + 1)..]))'"]
    for verb in all_verbs:
        seen = f"__fish_seen_subcommand_from {verb.name}" if verb.name else f"not __fish_seen_subcommand_from {names}"
        if verb.name:
            lines += [f"complete -c turbotui -f -n 'not __fish_seen_subcommand_from {names}' -a {verb.name} "
                      f"-d {_quoted(verb.summary)}"]
        for word, summary in verb.words:
            lines += [f"complete -c turbotui -f -n {_quoted(seen)} -a {word} -d {_quoted(summary)}"]
        for flag in (flag for subverb in (verb, *verb.under) for flag in subverb.flags):
            words = [f"-{'s' if len(name) == 2 else 'l'} {name.lstrip('-')}" for name in flag.names]
            takes = "" if not flag.argument else f" -x -a {_quoted(' '.join(flag.choices))}" if flag.choices else " -r"
            if listed := _listed(verb, flag):
                takes = f" -x -a '(__fish_complete_list , __turbotui_{listed})'"
            elif flag.is_machine:
                takes += f" -a {_quoted(MACHINES)}"
            lines += [f"complete -c turbotui -n {_quoted(seen)} {' '.join(words)}{takes} -d {_quoted(flag.help)}"]
    return "\n".join(dict.fromkeys(lines)) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _plain(text: str) -> str:
    return text.replace("[", "(").replace("]", ")").replace(":", ";")


def pages() -> dict[str, str]:
    """Every file, by its path below share/."""
    documented = verbs()
    made = {f"man/man1/turbotui{'-' + verb.name if verb.name else ''}.1": man_page(verb, documented)
            for verb in documented}
    return made | {
        "bash-completion/completions/turbotui": bash(documented),
        "zsh/site-functions/_turbotui": zsh(documented),
        "fish/vendor_completions.d/turbotui.fish": fish(documented),
    }
