"""Only a few modules read text from outside or write files, so that nobody bypasses them by accident."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "turbotui"

TEXT_COMES_IN = {
    "untrusted.py": "makes text visible, and JSON strings of it",
    "installed_features.py": "names of features in files of installed packages, which are the user's own programs",
    "quantities/plain_numbers.py": "digits, of which it makes numbers",
    "quantities/facts.py": "reads the tables that come with turbotui",
    "events/set_files.py": "reads the event sets that come with turbotui",
    "features/topdown/trees.py": "reads the trees that come with turbotui",
    "quantities/documents.py": "parses files of persons, and makes every string in them visible",
    "machine/given_files.py": "reads files of persons, which documents.py then parses",
    "machine/linux.py": "the host: files and names of the machine",
    "machine/identity.py": "the numbers in /proc/self/task/*/status",
    "events/libpfm/library.py": "the path of the library in /proc/self/maps",
    "events/event_tables/perf_list.py": "the kernel's release, of which a path is made that is only looked at",
    "machine/region_pipes.py": "numbers of descriptors of a process, which are looked at only",
    "events/event_tables/errors.py": "looks whether a folder of event tables can be listed",
    "events/event_tables/pmu_events.py": "names of the files of event tables, which given_files.py then reads",
    "machine/elf_symbols.py": "opens what ran, for pyelftools; names of functions, made visible",
    "machine/command_output.py": "what a command wrote, made visible line by line",
    "machine/code/isas.py": "the architecture of this process, which is only compared",
    "machine/code/mapping.py": "as timestamp.py",
    "machine/code/timestamp.py": "the architecture of this process, which is only compared",
    "machine/perf_abi.py": "as timestamp.py",
    "machine/uname.py": "names of the running kernel, for those below to make visible",
    "machine/own_files.py": "opens what it writes",
    "machine/tasks/wait_times.py": "the namespace of processes of this one, which is only compared",
    "terminal/sequences.py": "what the terminal sends, of which only keys in a table are obeyed",
    "opening/readings.py": "a glance at files of /proc before the host is loaded, made visible as the host does",
    "features/score/history.py": "names of the files of scores",
    "widgets/profiles.py": "names of the files of profiles, of which only plain ones are shown",
    "app/failures.py": "names of the reports that turbotui itself wrote",
    "recording/parts.py": "names of parts of a recording, of which only those that turbotui makes are taken",
    "features/score/engine.py": "what the load prints, which goes on to stderr",
    "repertoire.py": "encodes single characters; looks for one name in /proc/self/environ",
    "tables/terminal_text.py": "opens standard streams",
    "features/export/live/requests.py": "what clients ask for: printable ASCII, and Latin-1 that is only compared",
    "features/export/live/web_config.py": "names of users that clients say, which are only compared",
    "tables/openmetrics.py": "samples that it has written itself as bytes, of text that is visible",
    "features/export/live/rendering.py": "bytes that it made itself of text that is visible",
    "features/fleet/server.py": "the base64 of the user's own password",
    "features/serve/page.py": "the digest of its own script",
    "features/serve/server.py": "what the page of a tab sends: keys, and numbers that are checked",
    "features/gather/scrubbing.py": "looks for secrets in bytes of the machine, and gives bytes back",
}
"""Modules that make text of bytes, names of files, JSON or TOML, and what of."""

FILES_ARE_WRITTEN = {
    "machine/own_files.py": "every file that turbotui keeps",
    "cli.py": "/dev/null in place of a stdout that is gone",
    "features/stat/streams.py": "as cli.py",
    "tables/terminal_text.py": "/dev/null in place of a stream that was closed from the start",
    "terminal/writer.py": "the terminal",
    "remote/socket_file.py": "the socket of a collector",
    "machine/region_pipes.py": "the FIFO of a command's marks, in a directory of its own, and one that a person names",
    "region_marks.py": "marks into that FIFO, in the command",
    "app/failures.py": "takes old reports of its own away",
}
WRITING = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"}
WRITING_CALLS = {"mkstemp", "NamedTemporaryFile", "write_text", "write_bytes", "makedirs", "mkdir", "unlink", "rename",
                 "rmtree", "symlink", "chown", "chmod", "truncate"}
NEVER = {"swapon", "mount", "umount", "setns", "init_module", "finit_module", "delete_module"}


@functools.cache
def modules() -> tuple[tuple[str, tuple[ast.Call | ast.Attribute, ...]], ...]:
    """Return each module with its calls and the attributes that it names."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = str(path.relative_to(PACKAGE))
        if not name.startswith("bench/"):  # measures turbotui, is no part of it
            nodes = ast.walk(ast.parse(path.read_text("utf-8")))
            found.append((name, tuple(node for node in nodes if isinstance(node, ast.Call | ast.Attribute))))
    return tuple(found)


def called(node: ast.Call) -> tuple[str, str]:
    """Return the target of a call: ("os", "open"), ("", "open")."""
    if isinstance(node.func, ast.Name):
        return "", node.func.id
    if isinstance(node.func, ast.Attribute):
        owner = node.func.value
        return owner.id if isinstance(owner, ast.Name) else "?", node.func.attr
    return "?", "?"


def calls() -> Iterator[tuple[str, ast.Call]]:
    for name, nodes in modules():
        yield from ((name, node) for node in nodes if isinstance(node, ast.Call))


def makes_text(node: ast.Call) -> bool:
    owner, name = called(node)
    if owner == "" and name == "open":
        return True
    if name == "read_text":  # of a host, which is the edge; of a path it is not
        return False
    if name in ("loads", "load", "dumps", "dump"):
        return owner in ("json", "tomllib")
    if name == "decode":
        return owner != "" and all(isinstance(one, ast.Constant) for one in node.args)  # else it decodes no bytes
    return owner in ("os", "?") and name in ("listdir", "scandir", "readlink", "iterdir", "uname", "getxattr")


def test_text_comes_in_at_the_edge_only() -> None:
    strange = {name for name, node in calls() if makes_text(node)} - TEXT_COMES_IN.keys()
    assert strange == set(), "these modules make text of what is outside: let the host or given_files do it"


def writes(node: ast.Call) -> bool:
    owner, name = called(node)
    if name == "open" and owner in ("", "io"):
        mode = node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "mode"), None)
        return mode is not None and not (isinstance(mode, ast.Constant) and set(str(mode.value)) <= set("rb"))
    if (owner, name) == ("os", "open"):
        return any(isinstance(one, ast.Attribute) and one.attr in WRITING for one in ast.walk(node))
    return owner in ("os", "tempfile", "shutil", "?") and name in WRITING_CALLS


def test_files_are_written_in_one_place() -> None:
    strange = {name for name, node in calls() if writes(node)} - FILES_ARE_WRITTEN.keys()
    assert strange == set(), "these modules write files: let own_files do it"


CHILDREN = {
    "features/serve/server.py": "a dashboard for each tab: own_program",
    "features/fleet/opening.py": "a node's dashboard: own_program, or the command that the user wrote",
    "events/event_tables/perf_list.py": "perf, from an absolute folder of PATH",
    "remote/ssh.py": "ssh, whose words the user wrote",
    "machine/launching.py": "the command that the user wrote, with the user's environment",
}
"""Modules that start programs, and which."""
STARTING_CALLS = {"Popen", "check_call", "check_output", "create_subprocess_exec", "create_subprocess_shell", "system",
                  "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "subprocess_exec", "subprocess_shell",
                  "execv", "execve", "execvp", "execvpe", "execl", "execle", "execlp", "execlpe", "spawnv", "spawnve",
                  "spawnvp", "spawnl", "spawnlp", "startfile", "Process", "ProcessPoolExecutor"}


def starts(node: ast.Call) -> bool:
    owner, name = called(node)
    return name in STARTING_CALLS or owner == "subprocess"


def test_programs_are_started_in_a_few_modules() -> None:
    assert {name for name, node in calls() if starts(node)} == CHILDREN.keys()


SOCKETS = {
    "remote/socket_file.py": "a collector's socket",
    "remote/links.py": "the connection to such a socket",
    "features/export/live/scrape_server.py": "scrapes of Prometheus",
    "features/serve/server.py": "browsers",
    "features/fleet/timed_connection.py": "the server of a fleet",
}
"""Modules that open sockets, and for whom; SECURITY.md has the same."""
SOCKET_CALLS = {"socket", "socketpair", "create_server", "create_connection", "start_server", "start_unix_server",
                "open_connection", "open_unix_connection", "HTTPConnection", "HTTPSConnection", "urlopen", "TCPSite",
                "UnixSite", "create_unix_server", "create_unix_connection"}


def test_sockets_are_opened_in_a_few_modules() -> None:
    assert {name for name, node in calls() if called(node)[1] in SOCKET_CALLS} == SOCKETS.keys()


def test_every_program_but_the_users_own_gets_an_environment_without_relative_folders() -> None:
    for name in CHILDREN.keys() - {"machine/launching.py"}:
        started = [node for module, node in calls() if module == name and starts(node)]
        for node in started:
            environment, = (one.value for one in node.keywords if one.arg == "env")
            by_name = isinstance(environment, ast.Name)
            made = (PACKAGE / name).read_text("utf-8") if by_name else ast.unparse(environment)
            assert "environment_of_children(os.environ)" in made
    interpreters = {name for name, nodes in modules() for node in nodes
                    if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.executable"}
    assert interpreters == {"machine/own_program.py", "features/export/verb.py", "features/export/live/verb.py"}, (
        "the last two only name it in a sentence")


def test_nothing_of_the_machine_is_changed() -> None:
    for name, nodes in modules():
        words = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        assert words & NEVER == set(), name
    host = (PACKAGE / "machine/linux.py").read_text("utf-8")
    assert not any(word in host for word in WRITING)


OPENS = {"open_file", "open_msr", "perf_event_open"}
"""What of a `Host` gives a descriptor."""
ROOMS_THAT_OPEN = ("counting/", "machine/", "simulated/", "events/", "sources/")
ENGINES = ("/engine.py", "topdown/counter_parts.py")
"""Modules of a feature that open what it measures with: its engine, and what that has for threads."""


def test_a_feature_opens_descriptors_in_its_engine_only() -> None:
    found = {name for name, node in calls() if called(node)[1] in OPENS}
    assert any(name.startswith("sources/") for name in found)
    assert [name for name in sorted(found) if not name.startswith(ROOMS_THAT_OPEN)
            and not (name.startswith("features/") and name.endswith(ENGINES))] == []
