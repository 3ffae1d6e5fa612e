"""A real Heddle process that kills itself with SIGKILL at a named step of a submission.

Starting Python and importing everything takes longer than a whole trial, so one nursery process imports once and forks
a Heddle for each trial. The nursery runs nothing but this module's loop; the children are complete Heddles.
"""

import asyncio
import json
import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from shim.app.bootstrap import Heddle
from shim.config.loader import load
from shim.domain.ids import ApplicationId
from shim.submission.crash_points import CrashPoint
from shim.telemetry import configure_logs


@dataclass(slots=True)
class DiesAt:
    """Crash points that end the process, as a power cut would, when a step is reached for the n-th time.

    Attributes:
        delay_s: Wait so long first, while everything goes on: to die while a request is on its way.
    """

    point: CrashPoint
    nth: int
    delay_s: float = 0.0

    def __call__(self, point: CrashPoint, application_id: ApplicationId) -> None:  # noqa: ARG002 - any will do
        """Count, and die."""
        if point is not self.point:
            return
        self.nth -= 1
        if self.nth == 0 and self.delay_s > 0:
            threading.Timer(self.delay_s, _die).start()
        elif self.nth == 0:
            _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _announce(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - the protocol with the one who watches


def _serve(config: Path, order: dict[str, object]) -> None:
    """Be a Heddle, in a child."""
    point = order.get("point")
    dies = DiesAt(CrashPoint(point), int(str(order["nth"])), float(str(order["delay_s"]))) if point else _lives
    configure_logs(level="warning", style="json", stream=sys.stderr)  # standard output is for the one who watches
    asyncio.run(Heddle(load(config), crash_points=dies).run(announce=_announce))


def _lives(point: CrashPoint, application_id: ApplicationId) -> None:
    """Crash points of a Heddle that is meant to go on."""


def main(config: Path) -> None:
    """Fork a Heddle for each line of JSON on standard input; tell its process id, and when it has ended."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            _serve(config, json.loads(line))
            os._exit(0)
        _announce(f"pid {child}")
        os.waitpid(child, 0)
        _announce("ended")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
