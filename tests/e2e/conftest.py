"""A whole Heddle in front of the real clusters of the session, in a thread, so that tests may block."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from shim.app.bootstrap import Heddle
from shim.config.loader import parse
from shim.lab import Lab
from shim.telemetry import configure_logs
from tests.support.tidying import end_applications

_START_S = 180


class HeddleThread:
    """Runs a Heddle on a loop of its own."""

    def __init__(self, text: str) -> None:
        self._config = parse(text, source="heddle.toml", environment={})
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._heddle = Heddle(self._config)

    def __enter__(self) -> Heddle:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._heddle.__aenter__(), self._loop).result(_START_S)
        return self._heddle

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._heddle.__aexit__(None, None, None), self._loop).result(_START_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture(autouse=True, scope="module")
def _left_as_found(lab: Lab) -> Iterator[None]:
    yield
    end_applications(lab)


def config_text(lab: Lab, folder: Path, *, server: str = "") -> str:
    """A configuration before the shared lab; anonymous callers may change things, as in `make up`.

    Args:
        lab: Whose clusters.
        folder: For the store.
        server: Further lines of its section.
    """
    return f"""
        [server]
        allow_remote = true
        {server}
        rest = "{lab.host}:0"
        client_rpc = "{lab.host}:0"
        admin_rpc = "{lab.host}:0"
        scheduler_rpc = "{lab.host}:0"
        [store]
        url = "sqlite:///{folder}/heddle.db"
        [security]
        allow_anonymous = true
        admins = ["*"]
        [poll]
        interval_s = 0.5
        """ + "".join(f'[[subcluster]]\nid = "{id_}"\nconf = "{each.conf_dir}"\n' for id_, each in lab.clusters.items())


@pytest.fixture(scope="module")  # longer, it would ask clusters on beside tests of other Heddles
def heddle(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Heddle]:
    """A Heddle in front of the shared lab."""
    folder = tmp_path_factory.mktemp("heddle")
    text = config_text(lab, folder)
    with (folder / "heddle.log").open("w") as log:  # what a verb prints shall be all that a test reads
        configure_logs(level="info", style="auto", stream=log)
        with HeddleThread(text) as running:
            yield running
    structlog.reset_defaults()


@pytest.fixture(scope="module")
def heddle_url(heddle: Heddle) -> str:
    """Where that Heddle serves REST."""
    return heddle.url
