"""Heddle as a process of its own, as `heddle serve` runs it."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from shim.lab.processes import wait_until

__all__ = ["HeddleProcess"]

_BOOT_S = 60.0
_OK = 200


class HeddleProcess:
    """A running `heddle serve`; as a context manager it ends with the block.

    Args:
        folder: For its configuration, store and log; made anew.
        port: Where it serves REST.
        subclusters: Web addresses of ResourceManagers by sub-cluster id.
    """

    def __init__(self, folder: Path, *, port: int, subclusters: Mapping[str, str]) -> None:
        self._folder = folder
        self.url = f"http://127.0.0.1:{port}"
        self._config = (
            f'[server]\nrest = "127.0.0.1:{port}"\nclient_rpc = ""\n[security]\nallow_anonymous = true\n'
            + "".join(f'[[subcluster]]\nid = "{id_}"\nweb = "{web}"\n' for id_, web in subclusters.items())
        )
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process."""
        assert self._process is not None  # noqa: S101 - inside the block
        return self._process.pid

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        config = self._folder / "heddle.toml"
        config.write_text(self._config, "utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HEDDLE_")}
        environment |= {"HEDDLE_LOG_FORMAT": "json", "HEDDLE_STORE_URL": f"sqlite:///{self._folder}/heddle.db"}
        with (self._folder / "heddle.log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "shim", "serve", "-c", str(config)], stdout=log, stderr=log, env=environment
            )
        if not wait_until(self._answers, timeout_s=_BOOT_S):
            self._stop()
            raise TimeoutError((self._folder / "heddle.log").read_text("utf-8"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _answers(self) -> bool:
        try:
            answer = httpx.get(f"{self.url}/ws/v1/cluster/metrics", timeout=5, trust_env=False)
        except httpx.HTTPError:
            return False
        return answer.status_code == _OK and "heddle-missing" not in answer.headers

    def _stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(20)
