"""Below `shim/app` time, chance and sockets come through the runtime, so that a run can be repeated from one seed."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHELLS = frozenset({"app", "cli", "lab", "simulation"})
"""Rooms that pick implementations, measure themselves, or are no part of a server."""
MODULES = frozenset({"random", "secrets", "uuid", "socket", "ssl"})
CALLS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "time": ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "sleep"),
        "os": ("urandom", "getrandom"),
        "datetime": ("now", "utcnow", "today"),
        "date": ("today",),
    }.items()
    for name in names
)
EXCEPTIONS = {
    "queues/outline_reader.py: random": "draws from a seed of its own: a job of the same graph is simulated alike",
    "concurrency/solver_child.py: time.monotonic": "how long another process may take; simulations solve in their own",
    "server/rest/server.py: socket": "a server listens",
    "server/rest/tls_greeting.py: ssl": "a server secures the connections that it takes",
    "concurrency/listening_sockets.py: socket": "a server listens, and hands its sockets on when it begins anew",
    "server/rpc/home_dialler.py: socket": "options of a connection that is passed on",
    "server/rpc/server.py: socket": "a server listens",
    "server/rpc/logins.py: os.urandom": "a login's nonce must not be guessed, and decides nothing",
    "server/rpc/scheduler_connection.py: os.urandom": "the same",
    "server/rpc/scheduler_traffic.py: time.perf_counter": "how long bytes were held, for a metric alone",
    "telemetry/audit_file.py: secrets": "names a chain of lines as no other is named",
    "telemetry/slow_turns.py: time.perf_counter": "how long the event loop was held, for a log line alone",
    "store/sealing.py: os.urandom": "a nonce of a cipher",
    "store/postgresql.py: ssl": "files of certificates are read, to say at the start what is wrong with them",
    "store/private_files.py: secrets": "a key beside the database",
    "store/copies/copying.py: time.time": "a restore by hand",
    "store/copies/postgresql.py: time.sleep": "a copy by hand waits for PostgreSQL",
    "store/copies/postgresql.py: time.time_ns": "names a copy",
    "store/copies/sqlite.py: time.time_ns": "names a copy",
    "store/sql_state_store.py: time.time": "the default of verbs of the command line",
}


def sources() -> list[Path]:
    return [path for path in (ROOT / "shim").rglob("*.py") if path.relative_to(ROOT / "shim").parts[0] not in SHELLS]


def reached(path: Path) -> set[str]:
    """What of the outside a module names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            module = (node.module or "").partition(".")[0]
            found |= {module} & MODULES
            found |= {f"{module}.{alias.name}" for alias in node.names} & CALLS
        elif isinstance(node, ast.Attribute):
            found |= {ast.unparse(node), ".".join(ast.unparse(node).split(".")[-2:])} & CALLS
    return {f"{path.relative_to(ROOT / 'shim')}: {name}" for name in found}


def test_time_chance_and_sockets_come_through_the_runtime() -> None:
    found = set().union(*map(reached, sources()))
    assert found == EXCEPTIONS.keys()


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("import time\ntime.monotonic()", "time.monotonic"),
        ("from time import perf_counter", "time.perf_counter"),
        ("from random import Random", "random"),
        ("import os\nos.urandom(8)", "os.urandom"),
        ("import datetime\ndatetime.datetime.now()", "datetime.now"),
    ],
)
def test_every_way_out_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, name: str) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    (tmp_path / "shim").mkdir()
    file = tmp_path / "shim" / "bad.py"
    file.write_text(line)
    assert reached(file) == {f"bad.py: {name}"}
