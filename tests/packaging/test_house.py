"""Rules of the house that no linter knows."""

import ast
import re
import subprocess
import tomllib
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest
from hypothesis import settings

from tests.support.examples import WHOLE

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("heddle", "shim", "adapters", "fairness", "altruism")
MOST_LINES = 700
UNFINISHED = re.compile(
    r"\b(TODO|FIXME|XXX|HACK)\b|\bfor now\b|\bplaceholder\b|NotImplementedError\(\"?later", re.IGNORECASE
)
MACHINE = re.compile(r"(?<![\w./}])/(work|root|home/\w+)/")


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def sources():
    return [path for path in tracked(*PACKAGES) if path.suffix == ".py" and not path.name.endswith("_pb2.py")]


def named(path):
    return str(path.relative_to(ROOT))


def test_every_folder_of_a_package_is_a_package_that_says_what_it_is():
    told = Counter()
    for folder in {path.parent for path in sources()} - {ROOT / "shim" / "store" / "migrations" / "versions"}:
        init = folder / "__init__.py"
        if "migrations" in folder.parts:
            continue  # Alembic loads these by path
        assert init.is_file(), f"{folder} has no __init__.py"
        tree = ast.parse(init.read_text("utf-8"))
        words = ast.get_docstring(tree)
        assert words, f"{init} says nothing"
        told[words] += 1
    assert [words for words, count in told.items() if count > 1] == []


def test_tests_are_no_packages():
    assert [named(path) for path in tracked("tests", "docker") if path.name == "__init__.py"] == []


@pytest.mark.parametrize("test", [path for path in tracked("tests/unit") if path.name.startswith("test_")], ids=named)
def test_a_unit_test_lies_where_its_subject_does_and_uses_it(test):
    folder = test.parent.relative_to(ROOT / "tests" / "unit")
    homes = [home for home in (ROOT / "shim" / folder, ROOT / folder, ROOT / "tests" / folder) if home.is_dir()]
    assert homes, f"there is no folder shim/{folder}, {folder} or tests/{folder}"
    subject = test.stem.removeprefix("test_")
    is_named = any(path.stem == subject for home in homes for path in (home, *home.iterdir()))
    imported = {".".join(home.relative_to(ROOT).parts) for home in homes}
    is_used = any(package in test.read_text("utf-8") for package in imported)
    assert is_named or is_used, f"it neither has a name of, nor uses anything of {', '.join(sorted(imported))}"


def test_no_module_is_too_long_to_read():
    lengths = {named(path): len(path.read_text("utf-8").splitlines()) for path in sources()}
    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}


def circle_of_imports(graph):
    """A circle of modules that import each other, imports for type checkers included; empty if there is none."""
    try:
        TopologicalSorter(
            {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
        ).prepare()
    except CycleError as exc:
        return exc.args[1]
    return []


def test_no_modules_import_each_other_in_a_circle():
    assert circle_of_imports(grimp.build_graph(*PACKAGES, cache_dir=None)) == []


def test_a_circle_of_imports_would_be_found():
    graph = grimp.ImportGraph()
    for importer, imported in (("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")):
        graph.add_import(importer=importer, imported=imported)
    assert set(circle_of_imports(graph)) == {"a", "b", "c"}


def test_nothing_is_left_unfinished():
    ours = Path(__file__).resolve()
    found = [
        f"{named(path)}:{number}"
        for path in tracked("*.py", "*.md", "*.toml", "*.sh", "Makefile")
        if path != ours
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if UNFINISHED.search(line)
    ]
    assert found == []


def test_nothing_names_the_machine_that_it_was_written_on():
    ours = Path(__file__).resolve()
    found = [
        f"{named(path)}:{number}"
        for path in tracked("*.py", "*.md", "*.toml", "*.sh", "*.yaml", "Makefile")
        if path != ours
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if MACHINE.search(line)
    ]
    assert found == []


def test_nothing_is_tracked_that_is_ignored():
    """Such a file replaces, in every other work tree, what stands in its place there."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert listed.stdout == ""


def test_modules_classes_and_every_member_of_interfaces_are_documented_by_order_of_the_linter():
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]["lint"]
    assert lint["select"] == ["ALL"]
    rules = {f"D10{number}" for number in range(8)}
    assert rules & set(lint["ignore"]) == {"D105", "D107"}
    for places, ignored in lint["per-file-ignores"].items():
        if not places.startswith(("tests/", "scripts/", "docs/", "shim/protocol/proto/", "**/*_pb2")):
            assert rules & set(ignored) <= ({"D102", "D103"} if places == "!{heddle,shim/ports}/**" else set())


def test_properties_draw_a_part_of_their_examples_and_all_where_everything_is_tried():
    drawn = {name: settings.get_profile(name).max_examples for name in ("heddle", "quick")}
    assert drawn == {"heddle": WHOLE, "quick": WHOLE // 5}
    makefile = (ROOT / "Makefile").read_text("utf-8")
    whole = re.findall(r"^([a-z-]+):.*\n(?:\t.*\n)*?\t.*--profile heddle", makefile, re.MULTILINE)
    assert whole == ["test-all", "unit"]
    files = tracked("tests/unit/*.py", "tests/property/*.py")
    assert [named(path) for path in files if re.search(r"max_examples=\d", path.read_text("utf-8"))] == []


BEGINS = {"create_task", "ensure_future", "Thread"}
WAITED_FOR = {
    "adapters/yarn/rm_rpc.py::YarnRPC._channel",
    "shim/app/reloading.py::Reloading.agreed_before",
    "shim/concurrency/off_loop.py::OffLoop._next_turn",
    "shim/concurrency/single_flight.py::SingleFlight.do",
    "shim/federation/poll_workers.py::serve_polls",
    "shim/federation/poller.py::SubClusterPoller.poll",
    "shim/federation/poller.py::SubClusterPoller._beat_until",
    "shim/federation/poller.py::SubClusterPoller._sleep",
    "shim/federation/polling.py::_OwnTurns.counted",
    "shim/federation/routing.py::Routing.home_of",
    "shim/multicluster/queue_cycles.py::QueueCycles._something_due",
    "shim/peers/local.py::StandingLocalMaster.serve",
    "shim/peers/local.py::ReportService.serve",
    "shim/server/rest/asgi.py::_go_on",
    "shim/server/rest/backend.py::Backend._while_heard",
    "shim/server/rest/service.py::RestService._while_welcome",
    "shim/submission/application_ids.py::ApplicationIds._start_fetching",
    "shim/submission/reconciliation.py::Reconciliation.run",
    "shim/submission/service.py::SubmissionService._begin",
}
"""Whoever begins it there, or asks for it, waits for it and has its failure."""
SEEN_BY = {
    "adapters/ldap/directory.py::LimitedCalls.run": "_Call.run",
    "shim/app/bootstrap.py::Heddle._run_beside": "shim/concurrency/keep_going.py::keep_going",
    "shim/app/groups.py::GroupDirectory._ask": "GroupDirectory._work",
    "shim/app/peers.py::LocalMasterProcess.run": "shim/concurrency/keep_going.py::keep_going",
    "shim/federation/poll_workers.py::WorkerPollers.start": "WorkerPollers._keep",
    "shim/federation/poller.py::SubClusterPollers.start": "SubClusterPoller.run",
    "shim/multicluster/queue_solves.py::QueueSolves.begin": "QueueSolves._run",
    "shim/multicluster/sessions.py::SessionWorker.start": "SessionWorker._run",
    "shim/peers/following.py::Following.start": "Following._follow_for_ever",
    "shim/peers/local.py::StandingLocalMaster._begin": "shim/federation/poller.py::SubClusterPoller.run",
    "shim/server/rpc/scheduler_connection.py::AMConnection._take": "AMConnection._bring_home",
    "shim/store/group_commit.py::GroupCommitExecutor.__post_init__": "GroupCommitExecutor._commit",
}
"""What runs by itself there, and the function that catches whatever it fails by."""
HEARD_BY = {
    "shim/concurrency/keep_going.py::aside": "_tell",
    "shim/server/rpc/connection.py::RPCConnection._start": "RPCConnection._finished",
    "shim/submission/repair.py::Repair._start": "Repair._start.end",
}
"""What is begun there, and the function that looks at its failure when it has ended."""


def functions():
    """Every function of what serves, by file and name."""
    for path in sources():
        if named(path).startswith(("shim/lab/", "shim/simulation/", "shim/cli/")):
            continue

        def below(node, names, path=path):
            for each in ast.iter_child_nodes(node):
                is_named = isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
                within = (*names, each.name) if is_named else names
                if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield f"{named(path)}::{'.'.join(within)}", each
                yield from below(each, within)

        yield from below(ast.parse(path.read_text()), ())


def called(node):
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def test_no_work_that_runs_by_itself_dies_unseen():
    """Each task and thread of what serves stands in a table, by who sees it fail; new ones go by `aside`."""
    found = dict(functions())
    begins = {
        name
        for name, function in found.items()
        if any(isinstance(each, ast.Call) and called(each) in BEGINS for each in ast.walk(function))
    }
    assert begins == WAITED_FOR | {*SEEN_BY} | {*HEARD_BY}
    for where, catches in SEEN_BY.items():
        function = found[catches if "::" in catches else f"{where.partition('::')[0]}::{catches}"]
        handlers = [each for each in ast.walk(function) if isinstance(each, ast.ExceptHandler)]
        assert {"Exception", "BaseException"} & {ast.unparse(each.type) for each in handlers if each.type}, where
    for where, hears in HEARD_BY.items():
        looks = [each for each in ast.walk(found[f"{where.partition('::')[0]}::{hears}"]) if isinstance(each, ast.Call)]
        assert "exception" in map(called, looks), where
