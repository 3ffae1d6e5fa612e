"""A throw-away Kerberos KDC for two realms that trust each other; as `shim.lab.kdc` runs it."""

import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from shim.lab.kdc import KDC, KDCMissingError, require_kdc
from shim.lab.readiness import listens
from tests.doubles.postgresql import free_port

__all__ = ["LOCALHOST", "OTHER_REALM", "REALM", "KDCMissingError", "LocalKDC"]

REALM = "HEDDLE.TEST"
LOCALHOST = socket.getfqdn("127.0.0.1").lower()
"""What `_HOST` stands for where 127.0.0.1 is connected to."""
OTHER_REALM = "OTHER.TEST"
"""Of principals that `REALM` believes, as the realms share a key."""

_READY_S = 60.0


class LocalKDC(KDC):
    """Runs while its context is open, on a free port of 127.0.0.1; its folder goes with it.

    Raises:
        KDCMissingError: If the machine has none.
    """

    def __init__(self) -> None:
        require_kdc()
        folder = Path(tempfile.mkdtemp(prefix="heddle-kdc-"))
        super().__init__(folder, f"127.0.0.1:{free_port()}", (REALM, OTHER_REALM), domains={LOCALHOST: REALM})
        self._kdc: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.create()
            with (self.folder / "krb5kdc.out").open("wb") as output:
                environment = {"HOME": str(self.folder), "LC_ALL": "C.UTF-8", **self.environment}
                self._kdc = subprocess.Popen(self.command, env=environment, stdout=output, stderr=output)
            self._await_port()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _await_port(self) -> None:
        until_s = time.monotonic() + _READY_S
        while not listens(self.address):
            if self._kdc is None or self._kdc.poll() is not None or time.monotonic() > until_s:
                told = (self.folder / "krb5kdc.out").read_text()
                raise AssertionError(f"the KDC does not start: {told}")
            time.sleep(0.05)

    def _stop(self) -> None:
        if self._kdc is not None:
            self._kdc.kill()
            self._kdc.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
