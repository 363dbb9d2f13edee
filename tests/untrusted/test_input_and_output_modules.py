"""Only a few modules read text from outside or write files, so that nobody bypasses them by accident."""

from __future__ import annotations

import ast
import functools
import tomllib
from collections.abc import Callable, Iterator
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
    "remote/collecting_part.py": "the text of turbotui's own modules",
    "remote/bootstrap.py": "opens memory, for turbotui's own modules",
    "machine/given_files.py": "reads files of persons, which documents.py then parses",
    "machine/linux.py": "the host: files and names of the machine",
    "machine/identity.py": "the numbers in /proc/self/task/*/status",
    "events/libpfm/library.py": "the path of the library in /proc/self/maps",
    "events/event_tables/perf_list.py": "the kernel's release, of which a path is made that is only looked at",
    "machine/region_pipes.py": "numbers of descriptors of a process, which are looked at only",
    "events/event_tables/errors.py": "looks whether a folder of event tables can be listed",
    "events/event_tables/pmu_events.py": "names of the files of event tables, which given_files.py then reads",
    "machine/elf_symbols.py": "opens what ran; names of functions, made visible",
    "features/mcp/answers.py": "what turbotui itself complained of, made visible",
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
    "recording/zstd.py": "the names that libzstd has for errors",
    "recording/kept_runs.py": "names of kept runs, of which only those that turbotui makes are taken",
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

HARMLESS = {"O_RDONLY", "O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_DIRECTORY", "O_NOFOLLOW", "O_PATH"}
"""Flags of open(2) that change nothing; flags by another name may be any."""
CHANGING = {"mkfifo", "mknod", "mkdir", "makedirs", "mkstemp", "mkdtemp", "mktemp", "symlink", "rename", "renames",
            "removedirs", "rmdir", "rmtree", "unlink", "ftruncate", "chmod", "fchmod", "lchmod", "chown", "fchown",
            "lchown", "utime", "setxattr", "removexattr", "copy2", "copyfile", "copyfileobj", "copytree",
            "make_archive", "NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory", "SpooledTemporaryFile",
            "write_text", "write_bytes", "touch", "hardlink_to", "symlink_to", "FileHandler", "FileIO", "fdopen",
            "memfd_create"}
CHANGING_OF_OS = {"replace", "remove", "copy", "move", "link", "truncate"}
"""Names that strings, lists and events have too."""
OPENING = {"", "io", "codecs", "gzip", "bz2", "lzma", "tarfile", "zipfile"}
PROGRAMS = {"Popen", "check_call", "check_output", "create_subprocess_exec", "create_subprocess_shell", "system",
            "child", "fork", "forkpty", "posix_spawn", "posix_spawnp", "subprocess_exec", "subprocess_shell", "execv",
            "execve", "execvp", "execvpe", "execl", "execle", "execlp", "execlpe", "spawnv", "spawnve", "spawnvp",
            "spawnl", "spawnlp", "startfile", "Process", "ProcessPoolExecutor"}
SOCKETS = {"socket", "socketpair", "fromfd", "create_server", "create_connection", "start_server", "start_unix_server",
           "open_connection", "open_unix_connection", "create_unix_server", "create_unix_connection",
           "create_datagram_endpoint", "HTTPConnection", "HTTPSConnection", "urlopen", "wrap_socket", "bind", "listen",
           "TCPSite", "UnixSite", "AppRunner"}
LIBRARIES = {"CDLL", "PyDLL", "dlopen", "cdll"}
ONLY_BY_THEIR_NAMES = {"os", "socket", "subprocess", "shutil", "tempfile", "ctypes", "asyncio", "pty"}
"""Modules of which nothing is imported by another name, under which a call would not be seen."""
NOT_AT_ALL = {"webbrowser", "multiprocessing", "socketserver", "http.server", "ftplib", "smtplib", "poplib", "imaplib",
              "telnetlib", "xmlrpc", "marshal", "shelve", "dbm", "sqlite3", "code", "pdb", "runpy"}
NEVER = {"swapon", "mount", "umount", "setns", "init_module", "finit_module", "delete_module"}


Seen = ast.Call | ast.Attribute | ast.Import | ast.ImportFrom


@functools.cache
def modules() -> tuple[tuple[str, tuple[tuple[str, Seen], ...]], ...]:
    """Each module with its calls, imports and the attributes that it names, and the function that each stands in."""
    return tuple((name, tuple(placed(ast.parse((PACKAGE / name).read_text("utf-8")))))
                 for name in sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py")))


def placed(tree: ast.Module) -> Iterator[tuple[str, Seen]]:
    stack: list[tuple[str, ast.AST]] = [("", tree)]
    while stack:
        place, node = stack.pop()
        for child in ast.iter_child_nodes(node):
            inner = place
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{place}.{child.name}".removeprefix(".")
            elif isinstance(child, Seen):
                yield place, child
            stack.append((inner, child))


def called(node: ast.Call) -> tuple[str, str]:
    """Return the target of a call: ("os", "open"), ("", "open")."""
    if isinstance(node.func, ast.Name):
        return "", node.func.id
    if isinstance(node.func, ast.Attribute):
        owner = node.func.value
        return owner.id if isinstance(owner, ast.Name) else "?", node.func.attr
    return "?", "?"


def calls() -> Iterator[tuple[str, ast.Call]]:
    yield from ((name, node) for name, _place, node in placed_calls())


def makes_text(node: ast.Call) -> bool:
    owner, name = called(node)
    if owner == "" and name == "open":
        return True
    if name == "read_text":  # of a host, which is the edge; of a path it is not
        return False
    if name in ("loads", "load", "dumps", "dump"):
        return owner in ("json", "tomllib")
    if name == "decode":
        return owner != "" and all(isinstance(expr, ast.Constant) for expr in node.args)  # else it decodes no bytes
    return owner in ("os", "?") and name in ("listdir", "scandir", "readlink", "iterdir", "uname", "getxattr")


def test_text_comes_in_at_the_edge_only() -> None:
    strange = {name for name, node in calls() if makes_text(node)} - TEXT_COMES_IN.keys()
    assert strange == set(), "these modules make text of what is outside: let the host or given_files do it"


def writes(node: ast.Call) -> bool:
    owner, name = called(node)
    if (owner, name) == ("os", "open"):
        flags = {ast.unparse(item) for word in node.args[1:2] for item in ast.walk(word)
                 if isinstance(item, ast.Attribute | ast.Name)} - {"os"}
        return not flags or not flags <= {f"os.{flag}" for flag in HARMLESS}
    if name == "open" and owner in OPENING:
        mode = node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "mode"), None)
        return mode is not None and not (isinstance(mode, ast.Constant) and set(str(mode.value)) <= set("rbt"))
    return name in CHANGING or (name in CHANGING_OF_OS and owner in ("os", "shutil"))


def starts(node: ast.Call) -> bool:
    owner, name = called(node)
    return name in PROGRAMS or owner == "subprocess"


KINDS: dict[str, Callable[[ast.Call], bool]] = {
    "file": writes, "program": starts, "socket": lambda node: called(node)[1] in SOCKETS,
    "library": lambda node: called(node)[1] in LIBRARIES,
}
NO_OPENINGS = {
    "socket": {"features/spies/verb.py::run"},  # binds the session to a CPU
    "file": {"features/tasks/sample_aggregator.py::SampleAggregator._forked",  # renames a row
             "features/tasks/watched_applications.py::WatchedApplications._name_nameless"},
}
"""Calls of that name that are something else."""


def openings(kind: str) -> dict[str, dict[str, str]]:
    """The rows of SECURITY.toml by their places."""
    rows = tomllib.loads((PACKAGE.parent / "SECURITY.toml").read_text("utf-8"))["opening"]
    return {place: row for row in rows if row["kind"] == kind for place in row["places"]}


def places(kind: str) -> set[str]:
    """The functions that open something of a kind; the module where SECURITY.toml names that as a whole."""
    named = openings(kind)
    value = {name if name in named else f"{name}::{place}" for name, place, node in placed_calls() if KINDS[kind](node)}
    return value - NO_OPENINGS.get(kind, set())


def placed_calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Each call with its module and its function."""
    yield from ((name, place, node) for name, nodes in modules() for place, node in nodes if isinstance(node, ast.Call))


def test_files_are_written_in_one_place() -> None:
    assert places("file") == openings("file").keys(), "let own_files write, or say in SECURITY.toml what changes"


def test_programs_are_started_in_a_few_modules() -> None:
    assert places("program") == openings("program").keys()


def test_sockets_are_opened_in_a_few_modules() -> None:
    assert places("socket") == openings("socket").keys()


def test_no_call_hides_behind_another_name() -> None:
    hidden = {"os.system", "os.child", "builtins.open"}
    for name, nodes in modules():
        for _place, node in nodes:
            if isinstance(node, ast.Import):
                assert not [alias.name for alias in node.names if alias.name in NOT_AT_ALL], name
                assert name == "sampling/kept_intervals.py" or "pickle" not in {alias.name for alias in node.names}, (
                    "that one keeps in memory what it has made itself")
                assert not [item.name for item in node.names if item.asname and item.name in ONLY_BY_THEIR_NAMES], name
            elif isinstance(node, ast.ImportFrom):
                assert node.module not in NOT_AT_ALL | {"pickle"}, name
                assert node.module not in ONLY_BY_THEIR_NAMES, name
            elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Store):
                assert node.attr not in ("system", "child", "open") or ast.unparse(node) not in hidden, name


def test_every_opening_is_in_the_document_and_its_test_is_tried() -> None:
    document = " ".join((PACKAGE.parent / "SECURITY.md").read_text("utf-8").split())
    tried = {row["test"] for row in tomllib.loads((PACKAGE.parent / "SECURITY.toml").read_text("utf-8"))["mutation"]}
    for kind in KINDS:
        for row in openings(kind).values():
            assert row["what"] in document
            assert row["test"] in tried, row["what"]


def test_every_program_but_the_users_own_gets_an_environment_without_relative_folders() -> None:
    for name in {place.partition("::")[0] for place in openings("program")} - {"machine/launching.py"}:
        started = [node for module, node in calls() if module == name and starts(node)]
        for node in started:
            environment, = (keyword.value for keyword in node.keywords if keyword.arg == "env")
            by_name = isinstance(environment, ast.Name)
            made = (PACKAGE / name).read_text("utf-8") if by_name else ast.unparse(environment)
            assert "environment_of_children(os.environ)" in made
    interpreters = {name for name, nodes in modules() for _place, node in nodes if isinstance(node, ast.Attribute)
                    and node.attr == "executable" and ast.unparse(node) == "sys.executable"}
    assert interpreters == {"machine/own_program.py"}


def test_nothing_of_the_machine_is_changed() -> None:
    for name, nodes in modules():
        words = {node.attr for _place, node in nodes if isinstance(node, ast.Attribute)}
        assert words & NEVER == set(), name
    host = (PACKAGE / "machine/linux.py").read_text("utf-8")
    assert not any(word in host for word in ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"))
    assert places("library") == openings("library").keys(), "who calls libc past Python says so in SECURITY.toml"


OPENS = {"open_file", "perf_event_open"}
"""What of a `Host` gives a descriptor."""
ROOMS_THAT_OPEN = ("counting/", "machine/", "simulated/", "events/", "sources/")
ENGINES = ("/engine.py", "topdown/counter_parts.py")
"""Modules of a feature that open what it measures with: its engine, and what that has for threads."""


def test_a_feature_opens_descriptors_in_its_engine_only() -> None:
    result = {name for name, node in calls() if called(node)[1] in OPENS}
    assert any(name.startswith("sources/") for name in result)
    assert [name for name in sorted(result) if not name.startswith(ROOMS_THAT_OPEN)
            and not (name.startswith("features/") and name.endswith(ENGINES))] == []
