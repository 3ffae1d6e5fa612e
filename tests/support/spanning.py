"""What the clusters themselves say of an application that spans."""

import os
import re
import secrets
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from shim.lab import Lab
from tests.support.heddle_process import HeddleProcess, until

_ORDERED = '[scheduling]\nautomatic = false\n[[queue]]\nname = "root.default"\nspan = true\n'
SPANNING = f"{_ORDERED}[span]\nbeat_s = 0.5\nlost_after_s = 6\n"
PATIENT = f"{_ORDERED}[span]\nbeat_s = 0.5\nmove_after_beats = 240\n"
"""On a busy machine a cluster takes its time: asks stay where they are, and nobody is given up."""
_SECRET = "HEDDLE_SECURITY_SECRET_FILE"
_OK = 200


@contextmanager
def spanning_secret(folder: Path) -> Iterator[None]:
    """A secret file for every Heddle that is started meanwhile."""
    file = folder / "secret"
    file.write_text(secrets.token_hex(32))
    file.chmod(0o600)
    os.environ[_SECRET] = str(file)
    try:
        yield
    finally:
        del os.environ[_SECRET]


@contextmanager
def spanning_heddle(lab: Lab, folder: Path, more: str = SPANNING) -> Iterator[HeddleProcess]:
    """A Heddle over a lab whose default queue spans, unless its configuration says otherwise."""
    with spanning_secret(folder), HeddleProcess(lab, folder, more=more) as running:
        yield running


def end_first_master(application: str) -> None:
    """Kill the ApplicationMaster of an application's first attempt."""
    id_ = application.removeprefix("application_")
    container = re.compile(rf"CONTAINER_ID=container_(e\d+_)?{id_}_01_000001\0".encode())
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_java = (folder / "cmdline").read_bytes().partition(b"\0")[0].endswith(b"java")
            if is_java and container.search((folder / "environ").read_bytes() + b"\0"):
                os.kill(int(folder.name), signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class SpanningApplication:
    """An application, seen from each cluster."""

    lab: Lab
    heddle: HeddleProcess
    application: str

    @classmethod
    def printed(cls, lab: Lab, heddle: HeddleProcess, text: str) -> "SpanningApplication":
        """The application that a client has printed."""
        return cls.of(lab, heddle, text.splitlines())

    @classmethod
    def of(cls, lab: Lab, heddle: HeddleProcess, lines: Iterable[str] | None) -> "SpanningApplication":
        """The first application that a client prints."""
        seen = []
        for line in lines or ():
            seen.append(line)
            found = re.search(r"application_\d+_\d+", line)
            if found is not None:
                return cls(lab, heddle, found[0])
        raise AssertionError("\n".join(seen))

    def at(self, cluster: str) -> Mapping[str, Any] | None:
        """What a cluster's own ResourceManager says of it; None if it does not know it."""
        answer = httpx.get(
            f"{self.lab.cluster(cluster).url}/ws/v1/cluster/apps/{self.application}", trust_env=False, timeout=30
        )
        return answer.json()["app"] if answer.status_code == _OK else None

    @property
    def home(self) -> str:
        """Where its own ApplicationMaster runs."""
        return next(name for name in self.lab.clusters if (app := self.at(name)) and not app["unmanagedApplication"])

    def attempts(self) -> list[dict[str, Any]]:
        """Its attempts at home."""
        url = f"{self.lab.cluster(self.home).url}/ws/v1/cluster/apps/{self.application}/appattempts"
        attempts: list[dict[str, Any]] = httpx.get(url, trust_env=False, timeout=30).json()["appAttempts"]["appAttempt"]
        return attempts

    def kill_at(self, cluster: str) -> None:
        """Ask a cluster's own ResourceManager to end it."""
        url = f"{self.lab.cluster(cluster).url}/ws/v1/cluster/apps/{self.application}/state"
        user = (self.at(cluster) or {})["user"]
        answer = httpx.put(f"{url}?user.name={user}", json={"state": "KILLED"}, trust_env=False, timeout=30)
        assert answer.status_code in {200, 202}, answer.text

    def places(self) -> Mapping[str, int]:
        """How many containers each cluster has run for it, of those that ran any."""
        counts = {
            name: len(list(cluster.folder.glob(f"*/containers/{self.application}/container_*")))
            for name, cluster in self.lab.clusters.items()
        }
        return {name: count for name, count in counts.items() if count}

    def waits_for_places(self, count: int) -> None:
        """Wait until so many clusters run something of it."""
        until(lambda: len(self.places()) >= count, f"{self.application} runs in {count} clusters")

    def has_succeeded(self, within_s: float = 120.0) -> None:
        """Its home says so."""
        app: dict[str, Any] = {}

        def is_over() -> bool:
            app.update(self.heddle.ask(f"apps/{self.application}")["app"])
            return app["state"] in {"FINISHED", "FAILED", "KILLED"}

        until(is_over, "the application is over", within_s=within_s)
        assert app["finalStatus"] == "SUCCEEDED", app["diagnostics"]

    def has_ended_everywhere(self) -> None:
        """No cluster has anything of it running any more."""

        def is_final(name: str) -> bool:
            app = self.at(name)
            return app is None or app["state"] in {"FINISHED", "FAILED", "KILLED"}

        until(lambda: all(is_final(name) for name in self.lab.clusters), "it has ended everywhere", within_s=240)

    def is_listed_once(self) -> None:
        """Heddle's list has it once, with its home's document."""
        listed = [app for app in self.heddle.ask("apps")["apps"]["app"] if app["id"] == self.application]
        assert len(listed) == 1
        assert listed[0]["unmanagedApplication"] is False
