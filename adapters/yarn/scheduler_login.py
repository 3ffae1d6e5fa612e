"""Logins of Heddle's own ApplicationMasters: a connection to the scheduler server, authenticated by token."""

import secrets
from collections.abc import Mapping

from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC
from shim.domain.ids import SubClusterId
from shim.errors import NeverReachedError
from shim.ports.resource_manager_rpc import RPCAnswer, RPCCall
from shim.protocol.hrpc import AuthMethod, QualityOfProtection, SASLInitiator
from shim.protocol.hrpc.digest_md5 import NONCE_BYTES, DigestMD5Client, TokenSecret
from shim.protocol.proto import APPLICATION_MASTER
from shim.protocol.yarn.unmanaged import token_parts

_QUALITIES = tuple(reversed(QualityOfProtection))
"""The strongest that the server offers."""
_NOBODY = ""  # a login by token names no user: the token does


class TokenLogin:
    """Implements `SchedulerLogin` over Hadoop RPC."""

    def __init__(self, target: RPCTarget, settings: RPCSettings, token: TokenSecret) -> None:
        self._token = token
        self._rpc = YarnRPC(target, settings, initiator=self._initiator)

    async def call(self, method: str, payload: bytes, *, timeout_s: float | None = None) -> RPCAnswer:
        """Make a call; see `SchedulerLogin.call`."""
        return await self._rpc.call(
            RPCCall(APPLICATION_MASTER.name, method, payload, user=_NOBODY), timeout_s=timeout_s
        )

    async def close(self) -> None:
        """Give up the connection."""
        await self._rpc.close()

    def _initiator(self) -> SASLInitiator:
        nonce = secrets.token_urlsafe(NONCE_BYTES)
        return SASLInitiator({AuthMethod.TOKEN: lambda _: DigestMD5Client(self._token, nonce, _QUALITIES)})


class TokenLogins:
    """Implements `SchedulerLogins`.

    Args:
        targets: Where the schedulers of each sub-cluster listen.
        settings: Time-outs.
    """

    def __init__(self, targets: Mapping[SubClusterId, RPCTarget], settings: RPCSettings) -> None:
        self._targets = targets
        self._settings = settings

    def log_in(self, subcluster: SubClusterId, token: bytes) -> TokenLogin:
        """A way to a scheduler; see `SchedulerLogins.log_in`."""
        target = self._targets.get(subcluster)
        if target is None:
            raise NeverReachedError(subcluster, "the address of its scheduler is not known")
        identifier, password = token_parts(token)
        return TokenLogin(target, self._settings, TokenSecret(identifier, password))
