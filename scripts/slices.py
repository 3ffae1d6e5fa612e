"""What the suite is made of: parts of `make test`, and slices that run alone. Each file of tests is in exactly one.

    python -m scripts.slices                 the table
    python -m scripts.slices files NAME...   their files of tests
    python -m scripts.slices needs NAME...   what scripts/setup.sh installs for them besides `test`

A file belongs to the slice that names the longest beginning of its path. Two markers cut through files: tests with
`main_promise` run in `make test`, tests with `versions` in the slice of that name; their file's slice leaves them out.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 10
"""Within so many submissions each slice runs."""


@dataclass(frozen=True, kw_only=True)
class Slice:
    """A part of the suite that runs alone.

    Attributes:
        about: What is tried.
        needs: What of the table in scripts/setup.sh it needs besides `test`.
        paths: Files and folders of tests; files are run in this order, so those that take longest stand first.
        usual_s: Seconds that it usually takes on two cores of which nobody else has a part.
        marks: Which tests of the files, as an expression of pytest's markers.
        options: Further options of pytest.
        reached_by: Beginnings of paths, other than modules of Python, whose change it shall see.
        before: What runs first, outside the tests' time; that it fails is for the tests to say.
        after: What runs last.
    """

    name: str
    about: str
    paths: tuple[str, ...]
    usual_s: int
    needs: tuple[str, ...] = ()
    marks: str = "not main_promise and not versions"
    options: tuple[str, ...] = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
    reached_by: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def pytest(self, failures: Path, profile: str) -> list[str]:
        """Return the command, which writes failed tests to a file as they happen."""
        return [*_pytest(failures, profile), "-m", self.marks, "--durations", "10", *self.options, *files_of(self)]

    def alone(self, tests: Sequence[str], failures: Path, profile: str) -> list[str]:
        """Return the command for some of its tests, by their names, one after the other."""
        return [*_pytest(failures, profile), "-v", *tests]


def _pytest(failures: Path, profile: str) -> tuple[str, ...]:
    return (
        *(".venv/bin/python", "-m", "pytest", "--color=yes", "-p", "tests.support.failure_log"),
        *("--failure-log", str(failures), "--hypothesis-profile", profile),
    )


_ON_CLUSTERS = ("-v", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
_ARCHIVE = (".venv/bin/python", "-m", "scripts.class_archive")
"""JVMs of labs map an archive of Hadoop's classes, and start with two thirds of the processor time."""

OF_EACH_TEST = (
    Slice(
        name="unit",
        about="code alone: tables, properties, whether pages and code agree",
        paths=(
            "tests/property",
            "tests/unit",
            *(
                f"tests/packaging/test_{page}.py"
                for page in ("house", "architecture_page", "contributing_page", "documented_attacks")
            ),
        ),
        usual_s=117,
    ),
    Slice(
        name="integration",
        about="servers and databases of this process, and recordings",
        paths=("tests/integration", "tests/protocol"),
        usual_s=190,
    ),
    Slice(
        name="promises",
        about="the main promises on two real clusters",
        paths=(),
        usual_s=130,
        marks="main_promise",
        options=("-v",),
        before=_ARCHIVE,
    ),
)
"""What `make test` runs after the linters."""

ALWAYS = "exactly-once"
"""The slice that each submission runs."""
RELEASES = "versions"
"""The slice that only a release runs."""

SLICES = (
    Slice(
        name=ALWAYS,
        about="Heddle killed at every step of a submission, and the red team's table",
        paths=("tests/e2e/test_kill_heddle.py", "tests/security"),
        usual_s=109,
        options=("-v",),
        before=_ARCHIVE,
    ),
    Slice(
        name="store",
        about="every port's contract on SQLite and on PostgreSQL",
        paths=("tests/integration/test_clusters_in_store.py", "tests/integration/store"),
        usual_s=153,
        needs=("postgresql",),
        reached_by=("shim/store/",),
    ),
    Slice(
        name="logins",
        about="tickets of a real KDC, groups of a real directory, a real OpenID provider",
        paths=(
            "tests/integration/adapters/kerberos",
            "tests/integration/adapters/ldap",
            "tests/integration/adapters/oidc",
            "tests/integration/app/test_directory.py",
            "tests/integration/test_api_tokens_whole.py",
            "tests/integration/test_kerberos_servers.py",
            "tests/integration/test_oidc_whole.py",
            "tests/integration/test_poll_processes.py",
            "tests/integration/test_started_doors.py",
            "tests/integration/test_web_tickets.py",
        ),
        usual_s=106,
        needs=("kerberos", "ldap", "oidc", "postgresql", "console"),
        reached_by=("tests/support/oidc/",),
    ),
    Slice(
        name="console",
        about="the console in a browser, its modules in Node and under their checkers",
        paths=(
            "tests/e2e/test_console.py",
            "tests/faults/test_console.py",
            "tests/integration/web",
            "tests/integration/proxy/test_pages_in_a_browser.py",
        ),
        usual_s=150,
        needs=("console", "oidc"),
        options=_ON_CLUSTERS,
        before=_ARCHIVE,
        reached_by=("shim/server/web/static/", "tests/console/"),
    ),
    Slice(
        name="packaging",
        about="what is shipped: wheel, chart, units, pages, shells",
        paths=("tests/packaging",),
        usual_s=82,
        needs=("shipped",),
        reached_by=("docker/", "docs/", "pyproject.toml", "requirements.lock", "README.md", "mkdocs.yml"),
    ),
    Slice(
        name="containers",
        about="the images, and jobs of a project of users' on clusters in containers",
        paths=("tests/containers",),
        usual_s=366,
        needs=("containers", "kerberos"),
        options=("-v",),
        reached_by=("docker/", "docs/examples/"),
        before=("scripts/docker-daemon.sh", "start"),
        after=("scripts/docker-daemon.sh", "stop"),
    ),
    Slice(
        name="labs",
        about="the lab itself, what is read of real ResourceManagers of the usual version, clients on unlike clusters",
        paths=(
            "tests/e2e/test_mixed_clients.py",
            "tests/integration/lab",
            "tests/integration/adapters/yarn/test_real_clusters.py",
        ),
        usual_s=175,
        options=_ON_CLUSTERS,
        before=_ARCHIVE,
    ),
    Slice(
        name="differential",
        about="answers beside those of a ResourceManager, and definitions beside Hadoop's jars",
        paths=("tests/differential", "tests/protocol/test_definitions_against_jars.py"),
        usual_s=95,
        marks="not main_promise and (not versions or each_version)",
        options=_ON_CLUSTERS,
        before=_ARCHIVE,
    ),
    Slice(
        name="clients",
        about="programs that users and operators have, on two clusters",
        paths=(
            "tests/e2e/test_relayed_logins.py",
            "tests/e2e",
        ),
        usual_s=244,
        options=_ON_CLUSTERS,
        before=_ARCHIVE,
    ),
    Slice(
        name="engines",
        about="Spark, Tez and MapReduce over both clusters, and shares between them",
        paths=(
            "tests/e2e/test_spanning_engines.py",
            "tests/e2e/test_shares_of_engines.py",
            "tests/e2e/test_spark.py",
            "tests/e2e/test_tez.py",
            "tests/e2e/test_terasort.py",
            "tests/e2e/test_graphs_in_queues.py",
            "tests/e2e/test_spanning.py",
            "tests/e2e/test_shares.py",
        ),
        usual_s=191,
        options=_ON_CLUSTERS,
        before=_ARCHIVE,
    ),
    Slice(
        name="altruism",
        about="real jobs that put work off, and what they lend",
        paths=(
            "tests/faults/test_lent_containers.py",
            "tests/e2e/test_altruism_of_engines.py",
            "tests/e2e/test_altruism.py",
            "tests/e2e/test_altruism_of_sessions.py",
            "tests/e2e/test_altruism_of_tez.py",
        ),
        usual_s=388,
        options=_ON_CLUSTERS,
        before=_ARCHIVE,
    ),
    Slice(
        name="placement",
        about="containers apart, placed by a plan, and taken back",
        paths=(
            "tests/e2e/test_constraints.py",
            "tests/e2e/test_medea_in_queues.py",
            "tests/e2e/test_preemption.py",
        ),
        usual_s=207,
        options=_ON_CLUSTERS,
        before=_ARCHIVE,
    ),
    Slice(
        name="contests",
        about="published systems against plain YARN and Heddle's default on real clusters",
        paths=("tests/e2e/test_real_contests.py",),
        usual_s=231,
        options=("-v",),
        before=_ARCHIVE,
    ),
    Slice(
        name="secured",
        about="clusters of two realms with real tickets, HDFS with them",
        paths=(
            "tests/e2e/test_secured_clusters.py",
            "tests/e2e/test_secured_lifetimes.py",
            "tests/e2e/test_secured_files.py",
            "tests/e2e/test_secured_spanning.py",
            "tests/e2e/test_kerberos.py",
        ),
        usual_s=279,
        needs=("kerberos",),
        options=_ON_CLUSTERS,
        before=_ARCHIVE,
    ),
    Slice(
        name="faults",
        about="daemons, masters and stores killed, frozen, restored and upgraded",
        paths=("tests/faults",),
        usual_s=276,
        needs=("postgresql",),
        options=_ON_CLUSTERS,
        before=_ARCHIVE,
    ),
    Slice(
        name="queues",
        about="policies of queues that span two real clusters, and solvers that die",
        paths=(
            "tests/faults/test_container_order.py",
            "tests/faults/test_data_over_clusters.py",
            "tests/faults/test_deadlines.py",
            "tests/faults/test_delay_scheduling.py",
            "tests/faults/test_gangs.py",
            "tests/faults/test_matched_asks.py",
            "tests/faults/test_passing_on.py",
            "tests/faults/test_queue_solvers.py",
            "tests/faults/test_sparrow_and_omega.py",
        ),
        usual_s=113,
        needs=("postgresql",),
        options=_ON_CLUSTERS,
        before=_ARCHIVE,
    ),
    Slice(
        name="figures",
        about="published figures in small, and policies over modelled clusters",
        paths=("tests/simulation",),
        usual_s=478,
        options=("-n", "2", "--dist", "load", "--timeout", "3600"),
    ),
    Slice(
        name=RELEASES,
        about="each supported version of Hadoop, and how near the simulator is to real clusters",
        paths=("tests/simulation/test_calibration.py",),
        usual_s=480,  # 182 s beside other work; the comparison with the simulator is a guess
        marks="versions",
        options=("-v",),  # one process: all share a lab of every version, once nothing is measured any more
        before=_ARCHIVE,
    ),
)


def slice_named(name: str) -> Slice:
    """Return a slice, or a part of `make test`.

    Raises:
        KeyError: There is none of that name; the message lists them.
    """
    known = {each.name: each for each in (*OF_EACH_TEST, *SLICES)}
    if name not in known:
        raise KeyError(f"no slice is named {name}: choose one of {', '.join(known)}")
    return known[name]


def _owner(file: str) -> Slice:
    owned = [
        (len(path), each)
        for each in (*OF_EACH_TEST, *SLICES)
        for path in each.paths
        if file == path or file.startswith(f"{path}/")
    ]
    if not owned:
        raise ValueError(f"{file} is in no slice: name it, or its folder, in scripts/slices.py")
    return max(owned, key=lambda each: each[0])[1]


def files_of(wanted: Slice, root: Path = ROOT) -> list[str]:
    """Return the slice's files of tests, in the order of its paths; those of a marker are looked for in all files."""
    every = sorted(path.relative_to(root).as_posix() for path in (root / "tests").rglob("test_*.py"))
    if wanted.marks in ("main_promise", "versions"):
        marked = [file for file in every if f"mark.{wanted.marks}" in (root / file).read_text("utf-8")]
        return sorted(marked, key=lambda file: file not in wanted.paths)
    order = {path: place for place, path in enumerate(wanted.paths)}
    own = [file for file in every if _owner(file) is wanted]
    return sorted(own, key=lambda file: min(order[path] for path in order if file.startswith(path)))


def slices_of_rounds() -> list[list[Slice]]:
    """Divide what neither each submission nor a release runs into `ROUNDS` parts of about equal time."""
    rounds: list[list[Slice]] = [[] for _ in range(ROUNDS)]
    for each in sorted(SLICES, key=lambda each: (-each.usual_s, each.name)):
        if each.name not in (ALWAYS, RELEASES):
            min(rounds, key=lambda one: sum(other.usual_s for other in one)).append(each)
    return rounds


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or the files of a slice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("table", "files", "needs"), default="table")
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args(arguments)
    named = SLICES if chosen.names == ["all"] else [slice_named(name) for name in chosen.names]
    if chosen.what != "table":
        found = (files_of(each) if chosen.what == "files" else each.needs for each in named)
        print(*dict.fromkeys(line for lines in found for line in lines), sep="\n")
        return 0
    for each in (*OF_EACH_TEST, *SLICES):
        print(f"{each.name:<14}{each.usual_s / 60:5.1f} min {len(files_of(each)):4} files  {each.about}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
