"""Fixtures of the whole suite: real YARN clusters and a real PostgreSQL, started when the first test asks for them."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from shim.lab import Lab, LabSpec
from shim.testing.postgresql import LocalPostgreSQL, PostgreSQLMissingError

settings.register_profile("heddle", deadline=None, print_blob=True)  # how long an example takes depends on the machine
settings.load_profile("heddle")


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
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Two clusters of two nodes, shared by the session: a test leaves its daemons alone."""
    with Lab(tmp_path_factory.mktemp("lab")) as shared:
        shared.up(LabSpec.of())
        yield shared


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
