"""Heddle as a process of its own, as `heddle serve` runs it."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

import httpx

from shim.lab import FrontAddresses
from shim.lab.processes import wait_until

_BOOT_S = 180.0
_OK = 200


class HeddleProcess:
    """A running `heddle serve`; as a context manager it ends with the block.

    Args:
        folder: For its configuration, store and log; made anew.
        port: Where it serves REST; with `servers`, clients are served at the next one and ApplicationMasters at the one
            after that.
        subclusters: Where each is, by id: its Hadoop configuration folder, or the web address of its ResourceManager.
        servers: Whether it serves Hadoop RPC too.
        spanning: Name of a queue whose applications span, if one does.
        settings: Variables of the environment that set keys of its configuration.
    """

    def __init__(
        self,
        folder: Path,
        *,
        port: int,
        subclusters: Mapping[str, Path | str],
        servers: bool = False,
        spanning: str = "",
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._folder = folder
        self._settings = settings
        self.front = self.front_at(port)
        self.url = f"http://{self.front.rest}"
        self._config = _configuration(self.front, subclusters, servers=servers, spanning=spanning)
        self._process: subprocess.Popen[bytes] | None = None

    @staticmethod
    def front_at(port: int) -> FrontAddresses:
        """Where one with this port serves."""
        return FrontAddresses(*(f"127.0.0.1:{port + offset}" for offset in range(4)))

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
        secret = self._folder / "secret"
        secret.write_text(secrets.token_hex(32), "utf-8")
        secret.chmod(0o600)
        environment |= {
            "HEDDLE_LOG_FORMAT": "json",
            "HEDDLE_STORE_URL": f"sqlite:///{self._folder}/heddle.db",
            "HEDDLE_SECURITY_SECRET_FILE": str(secret),
            **self._settings,
        }
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
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def _configuration(
    front: FrontAddresses, subclusters: Mapping[str, Path | str], *, servers: bool, spanning: str
) -> str:
    lines = ["[server]", f'rest = "{front.rest}"', 'admin_rpc = ""']
    lines += [f'client_rpc = "{front.client_rpc}"', f'scheduler_rpc = "{front.scheduler_rpc}"'] if servers else []
    lines += [] if servers else ['client_rpc = ""', 'scheduler_rpc = ""']
    lines += ["[security]", "allow_anonymous = true"]
    if spanning:  # calls of all others pass through as they come
        lines += ["[[queue]]", f'name = "{spanning}"', "span = true"]
        lines += ["[[queue]]", 'name = "root.default"', "span = false", 'containers = "unordered"']
    for id_, where in subclusters.items():
        key = "conf" if isinstance(where, Path) else "web"
        lines += ["[[subcluster]]", f'id = "{id_}"', f'{key} = "{where}"']
    return "\n".join(lines) + "\n"
