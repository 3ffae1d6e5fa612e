"""Fixtures of pytest: `yarn_federation`, `yarn_containers`, and how they behave in a run.

Nothing is imported, started or looked for before a test asks for one of them.
"""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from heddle.testing.containers import FederationContainer
    from heddle.testing.federation import Federation, Settings
    from heddle.testing.local import LocalFederation

__all__ = ["yarn_containers", "yarn_federation", "yarn_settings"]

_SCOPES: tuple[Literal["session", "package", "module", "class", "function"], ...] = (
    "session",
    "package",
    "module",
    "class",
    "function",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the command line, and of the project's own file."""
    group = parser.getgroup("yarn", "YARN clusters behind Heddle")
    group.addoption("--yarn-version", metavar="VERSION", help="of Hadoop, or CLUSTER=VERSION,...; before the setting")
    group.addoption("--yarn-reuse", action="store_true", help="keep clusters at the end, and use them in the next run")
    group.addoption(
        "--yarn-missing",
        choices=("error", "skip"),
        default="error",
        help="what becomes of tests where this machine lacks Java or Docker",
    )
    parser.addini("yarn_scope", f"how long clusters live: {', '.join(_SCOPES)}", default="session")
    parser.addini("yarn_clusters", "how many clusters", default="2")
    parser.addini("yarn_nodes", "nodes of each cluster", default="1")
    parser.addini("yarn_hdfs", "whether all clusters share an HDFS", type="bool", default=False)
    parser.addini("yarn_version", "version of Hadoop, or CLUSTER=VERSION,...", default="3.4.2")


def _scope(fixture_name: str, config: pytest.Config) -> Literal["session", "package", "module", "class", "function"]:
    del fixture_name
    wanted = str(config.getini("yarn_scope"))
    for scope in _SCOPES:
        if scope == wanted:
            return scope
    raise pytest.UsageError(f"yarn_scope = {wanted}: choose one of {', '.join(_SCOPES)}")


@pytest.fixture(scope=_scope)
def yarn_settings(request: pytest.FixtureRequest) -> "Settings":
    """What federations consist of; a project that wants more than the settings say has a fixture of this name."""
    from heddle.testing.federation import Settings  # noqa: PLC0415 - see above

    config = request.config
    version = config.getoption("--yarn-version") or config.getini("yarn_version")
    clusters, nodes = (int(config.getini(name)) for name in ("yarn_clusters", "yarn_nodes"))
    return Settings(clusters, nodes, str(version), hdfs=bool(config.getini("yarn_hdfs")))


@pytest.fixture(scope=_scope)
def yarn_federation(request: pytest.FixtureRequest, yarn_settings: "Settings") -> "Iterator[LocalFederation]":
    """Clusters as processes of this machine, with Heddle in front; each worker of xdist has its own."""
    from heddle.testing.local import LocalFederation  # noqa: PLC0415 - see above

    reuse = bool(request.config.getoption("--yarn-reuse"))
    yield from _running(request, LocalFederation(yarn_settings, reuse=reuse, name=_worker(request.config)))


@pytest.fixture(scope=_scope)
def yarn_containers(request: pytest.FixtureRequest, yarn_settings: "Settings") -> "Iterator[FederationContainer]":
    """Clusters in containers, with Heddle in front; each worker of xdist has its own."""
    from heddle.testing.containers import FederationContainer  # noqa: PLC0415 - see above

    reuse = bool(request.config.getoption("--yarn-reuse"))
    yield from _running(request, FederationContainer(yarn_settings, reuse=reuse, name=_worker(request.config)))


def _running(request: pytest.FixtureRequest, federation: Any) -> Iterator[Any]:
    from heddle.testing.federation import FederationError, MissingProgramError  # noqa: PLC0415 - see above

    trouble: FederationError | None = None
    try:
        federation.start_up()
    except FederationError as exc:
        trouble = exc
    # outside of the handler: what has caused it would be shown, too, and each of its causes
    if isinstance(trouble, MissingProgramError):
        if request.config.getoption("--yarn-missing") == "skip":
            pytest.skip(str(trouble))
        pytest.fail(f"{trouble}\n(--yarn-missing=skip leaves such tests out)", pytrace=False)
    if trouble is not None:
        pytest.fail(str(trouble), pytrace=False)
    try:
        yield federation
    finally:
        federation.close()


def _worker(config: pytest.Config) -> str:
    """The worker of xdist that this process is; empty without."""
    return str(getattr(config, "workerinput", {}).get("workerid", ""))


def _federations(item: pytest.Item) -> "list[Federation]":
    """Those that a test has, by whichever fixture."""
    if "heddle.testing.federation" not in sys.modules:
        return []
    from heddle.testing.federation import Federation  # noqa: PLC0415 - see above

    return [each for each in getattr(item, "funcargs", {}).values() if isinstance(each, Federation)]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Undo the faults that a test has made: the next one finds clusters that are well."""
    for each in _federations(item):
        if each.faults:
            each.heal()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Show with a failure what the daemons have said."""
    outcome: Any = yield
    report = outcome.get_result()
    if report.failed:
        report.sections += [("YARN federation", each.account()) for each in _federations(item)]
