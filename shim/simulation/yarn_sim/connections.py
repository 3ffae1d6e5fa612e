"""Connections of ApplicationMasters to a process of Heddle in virtual time, with the answers that servers give."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from shim.domain.ids import ApplicationAttemptId
from shim.errors import HeddleError, ResourceManagerError, UserError
from shim.ports.resource_manager_rpc import RPCAnswer, RPCRefusal
from shim.protocol.hrpc import JavaClass
from shim.simulation.cluster.masters import MasterCalls
from shim.simulation.yarn_sim.network import ModelledNetwork
from shim.simulation.yarn_sim.process import ProcessGate

__all__ = ["Connection", "RefusedLogin"]

_MASTER_TIMEOUT_S = 60.0  # `ipc.client.rpc-timeout.ms` is none, but a dead peer is noticed by pings after this


@dataclass(frozen=True, slots=True)
class Connection:
    """One connection of an ApplicationMaster: implements `MasterCalls` as `InterceptingRelay` answers.

    Attributes:
        gate: The process that answers.
        link: Sender and receiver.
        calls: What the process does.
        bugs: Told of exceptions that no caller is told as what they are.
    """

    gate: ProcessGate
    network: ModelledNetwork
    link: tuple[str, str]
    calls: MasterCalls
    bugs: list[str]

    async def register(self, payload_untrusted: bytes) -> RPCAnswer:
        """See `MasterCalls`."""
        return await self._call("register", lambda: self.calls.register(payload_untrusted))

    async def allocate(self, payload_untrusted: bytes) -> RPCAnswer:
        """See `MasterCalls`."""
        return await self._call("allocate", lambda: self.calls.allocate(payload_untrusted))

    async def finish(self, payload_untrusted: bytes) -> RPCAnswer:
        """See `MasterCalls`."""
        return await self._call("finish", lambda: self.calls.finish(payload_untrusted))

    async def _call(self, name: str, work: Callable[[], Coroutine[Any, Any, RPCAnswer]]) -> RPCAnswer:
        async def run() -> RPCAnswer:
            try:
                return await work()
            except ResourceManagerError:
                raise
            except UserError as exc:
                return RPCAnswer(b"", RPCRefusal(JavaClass.YARN, str(exc)))
            except HeddleError as exc:
                return RPCAnswer(b"", RPCRefusal(JavaClass.RETRIABLE, str(exc)))
            except Exception as exc:  # noqa: BLE001 - a call's boundary
                self.bugs.append(f"{self.gate.name}: {name} failed: {type(exc).__name__}: {exc}")
                return RPCAnswer(b"", RPCRefusal(JavaClass.YARN, f"{name} failed inside Heddle"))

        return await self.network.carry(
            self.link, f"master {name}", lambda: self.gate.serve(run, name), timeout_s=_MASTER_TIMEOUT_S
        )


@dataclass(frozen=True, slots=True)
class RefusedLogin:
    """A login that was refused: no sub-cluster knows the application."""

    attempt: ApplicationAttemptId

    async def register(self, payload_untrusted: bytes) -> RPCAnswer:
        """See `MasterCalls`."""
        return self._refuse(payload_untrusted)

    async def allocate(self, payload_untrusted: bytes) -> RPCAnswer:
        """See `MasterCalls`."""
        return self._refuse(payload_untrusted)

    async def finish(self, payload_untrusted: bytes) -> RPCAnswer:
        """See `MasterCalls`."""
        return self._refuse(payload_untrusted)

    def _refuse(self, _: bytes) -> RPCAnswer:
        told = f"{self.attempt} not found in AMRMTokenSecretManager."
        return RPCAnswer(b"", RPCRefusal(JavaClass.INVALID_TOKEN, told))
