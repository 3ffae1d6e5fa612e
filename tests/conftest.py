"""Fixtures of the whole suite: real YARN clusters and a real PostgreSQL, started when the first test asks for them."""

import asyncio
import gc
import importlib.util
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import structlog
import uvloop
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from hypothesis import Phase, settings

from shim.lab import SUPPORTED_VERSIONS, Cluster, Lab, LabSpec
from tests.doubles.postgresql import LocalPostgreSQL, PostgreSQLMissingError
from tests.doubles.public_data import DATA_VARIABLE, has_data
from tests.support.kdc import KDCMissingError, LocalKDC
from tests.support.oidc_provider import OIDCProvider, missing_provider

settings.register_profile("heddle", deadline=None, print_blob=True)  # how long an example takes depends on the machine
settings.register_profile("quick", settings.get_profile("heddle"), max_examples=20)  # a fifth: of `make check` and CI
settings.register_profile("first-failure", settings.get_profile("quick"), phases=(Phase.explicit, Phase.generate))
settings.load_profile("heddle")

for _phase in ("connect", "read", "write", "pool"):  # no test is about the five seconds of a client that names none
    setattr(DEFAULT_TIMEOUT_CONFIG, _phase, 60.0)


NOT_RUN = pytest.StashKey[dict[str, int]]()
"""How many tests of each file were left out because the public traces are not there."""


def pytest_configure(config: pytest.Config) -> None:
    """Nothing is left out yet."""
    config.stash[NOT_RUN] = {}


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> dict[str, Callable[[], Any]]:
    """Run on the loop that Heddle is started on: asyncio's own reads, closes and hands bytes on in other moments.

    Tests on clusters ask processes that have loops of their own. They leave connections to daemons that they killed
    behind, with which uvloop's does not close. A `LoopWatch` sees the callbacks of asyncio's loop alone.
    """
    del config
    if item.get_closest_marker("lab") or hasattr(getattr(item, "module", None), "LoopWatch"):
        return {"asyncio": asyncio.new_event_loop}
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """Let no test change what later ones of its process log."""
    before, was_configured = structlog.get_config(), structlog.is_configured()
    yield
    if was_configured:
        structlog.configure(**before)
    else:
        structlog.reset_defaults()


@pytest.hookimpl(trylast=True)  # after -m and -k: what they leave out is not asked for
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the figures on public traces where there are none: the summary says so."""
    left_out = [] if has_data() else [item for item in items if item.get_closest_marker("data")]
    if not left_out:
        return
    items[:] = [item for item in items if not item.get_closest_marker("data")]
    config.hook.pytest_deselected(items=left_out)
    counted = Counter(item.nodeid.partition("::")[0] for item in left_out)
    config.stash[NOT_RUN] = dict(counted)
    if hasattr(config, "workeroutput"):  # a process of xdist: the one that prints the summary collects nothing
        config.workeroutput["not_run"] = dict(counted)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Look for garbage less often, and never among ten thousand tests: that took a tenth of the processor time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 50)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a process of xdist has left out; each leaves out the same."""
    node.config.stash[NOT_RUN] |= getattr(node, "workeroutput", {}).get("not_run", {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say which figures were not run."""
    if left_out := config.stash[NOT_RUN]:
        files = ", ".join(f"{file}: {count}" for file, count in sorted(left_out.items()))
        terminalreporter.write_line(
            f"not run: {sum(left_out.values())} figures on public traces, as {DATA_VARIABLE} names no folder ({files})"
        )


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A real PostgreSQL with an empty database: `postgresql://...`, a driver goes before the colon.

    Without server binaries the tests are skipped on a developer's machine; in CI that is an error.
    """
    try:
        server = LocalPostgreSQL()
    except PostgreSQLMissingError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
    with server:
        yield server.url


@pytest.fixture(scope="session")
def kdc() -> Iterator[LocalKDC]:
    """A real KDC of two realms, and the library that speaks with it.

    Without either the tests are skipped on a developer's machine; in CI that is an error.
    """
    if importlib.util.find_spec("gssapi") is None and not os.environ.get("CI"):
        pytest.skip("no gssapi: make setup")
    try:
        started = LocalKDC()
    except KDCMissingError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
    with started:
        yield started


@pytest.fixture
def kerberos(kdc: LocalKDC, monkeypatch: pytest.MonkeyPatch) -> LocalKDC:
    """The same, for this process: without a ticket of its own."""
    for name, value in kdc.environment.items():
        monkeypatch.setenv(name, value)
    return kdc


@pytest.fixture(scope="session")
def oidc_provider() -> type[OIDCProvider]:
    """A real OpenID provider, to be run; skipped as the KDC is where the machine has none."""
    missing = missing_provider()
    if missing and os.environ.get("CI"):
        raise RuntimeError(missing)
    if missing:
        pytest.skip(missing)
    return OIDCProvider


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Two clusters of two nodes, shared by the session: a test leaves its daemons alone."""
    with Lab(tmp_path_factory.mktemp("lab")) as shared:
        shared.up(LabSpec.of())
        yield shared


@pytest.fixture(scope="session")
def cluster_of_version(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Cluster]]:
    """A cluster of one node of each supported Hadoop, in one lab that the session shares as it does `lab`."""
    names = [cluster.id for cluster in LabSpec.of(clusters=len(SUPPORTED_VERSIONS)).clusters]
    hadoop = ",".join(f"{name}={version}" for name, version in zip(names, SUPPORTED_VERSIONS, strict=True))
    with Lab(tmp_path_factory.mktemp("versions")) as shared:
        shared.up(LabSpec.of(clusters=len(names), nodes=1, hadoop=hadoop))
        yield {version: shared.cluster(name) for name, version in zip(names, SUPPORTED_VERSIONS, strict=True)}


@pytest.fixture
def fresh_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Lab]]:
    """Start a lab of one's own: `fresh_lab(clusters=1, nodes=1, ...)` takes what `LabSpec.of` takes."""
    labs: list[Lab] = []

    def start(**spec: object) -> Lab:
        folder: Path = tmp_path_factory.mktemp("fresh-lab")
        started = Lab(folder)
        labs.append(started)
        started.up(LabSpec.of(**({"nodes": 1} | spec)))  # type: ignore[arg-type]  # LabSpec.of checks them
        return started

    yield start
    for started in labs:
        started.down()
