"""Calls of Hadoop RPC by our own client, with a ticket, with a token, or by name."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from adapters.kerberos import KerberosInitiator
from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC, addresses_of
from shim.domain.ids import SubClusterId
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.hrpc import AuthMethod, JavaClass, QualityOfProtection, SASLInitiator
from shim.protocol.hrpc.digest_md5 import DigestMD5Client, TokenSecret
from shim.protocol.hrpc.gssapi import GSSAPIClient
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import TokenProto
from tests.doubles.settings import usual

EVERY = tuple(QualityOfProtection)
_PATIENCE_S = 120.0
Login = Mapping[AuthMethod, Callable[[Any], Any]]


def by_ticket(principal: str, keytab: Path, qualities: tuple[QualityOfProtection, ...] = EVERY) -> Login:
    """How a principal logs in at whatever service the server says that it is."""
    initiator = KerberosInitiator(principal, keytab)
    return {AuthMethod.KERBEROS: lambda auth: GSSAPIClient(initiator.context(auth.protocol, auth.serverId), qualities)}


def by_token(token: TokenProto, qualities: tuple[QualityOfProtection, ...] = EVERY) -> Login:
    """How the holder of a delegation token logs in."""
    secret = TokenSecret(token.identifier, token.password)
    return {AuthMethod.TOKEN: lambda _: DigestMD5Client(secret, "nonce-of-a-test", qualities)}


@asynccontextmanager
async def calling(address: str, login: Login | None) -> AsyncIterator[Callable[..., Awaitable[Any]]]:
    """A client of a server: asks as a user, and has the answer or the refusal; without a login by name.

    It asks again while it is told to, as Hadoop's clients do.
    """
    initiator = None if login is None else lambda: SASLInitiator(login)
    rpc = YarnRPC(
        RPCTarget(SubClusterId("heddle"), addresses_of([address])),
        usual(RPCSettings, connect_timeout_s=20.0),
        initiator=initiator,
    )

    async def ask(method: str, message: Any = None, *, protocol: Any = APPLICATION_CLIENT, user: str = "ada") -> Any:
        payload = b"" if message is None else message.SerializeToString()
        give_up_s = time.monotonic() + _PATIENCE_S
        while True:
            told = await rpc.call(RPCCall(protocol.name, method, payload, user), timeout_s=60)
            if told.refusal is None:
                return protocol.methods[method].answer.FromString(told.payload)
            if told.refusal.java_class != JavaClass.RETRIABLE or time.monotonic() > give_up_s:
                return told.refusal
            await asyncio.sleep(0.2)

    try:
        yield ask
    finally:
        await rpc.close()
