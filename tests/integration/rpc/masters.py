"""What tests of the scheduler server are made of: ApplicationMasters, schedulers, and a server between them."""

import os
from contextlib import asynccontextmanager

from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.errors import NotFoundError
from shim.ports.attempt_calls import ALLOCATE, FINISH, REGISTER, Attempt
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.hrpc import AuthMethod, QualityOfProtection, SASLInitiator
from shim.protocol.hrpc.digest_md5 import DigestMD5Client
from shim.protocol.proto import APPLICATION_MASTER
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    AllocateResponseProto,
    FinishApplicationMasterRequestProto,
    RegisterApplicationMasterRequestProto,
)
from shim.server.rpc import RPCServer
from shim.server.rpc.home_dialler import HomeDialler
from shim.server.rpc.scheduler_connection import SchedulerLimits
from shim.server.rpc.scheduler_server import SchedulerServer
from tests.doubles.scheduler import ScriptedScheduler, token_for
from tests.doubles.settings import usual

EAST = SubClusterId("east")
ALL_QUALITIES = tuple(QualityOfProtection)


def attempt(number=1):
    return ApplicationAttemptId(ApplicationId(1_700_000_000_000, number), 1)


class KnownAttempts:
    """Every application below 1000 is at home in the east, those from 100 in a queue that spans."""

    async def find(self, attempt_id):
        if attempt_id.application.sequence >= 1000:
            raise NotFoundError(f"app with id: {attempt_id.application} not found")
        spans = attempt_id.application.sequence >= 100
        return Attempt(attempt_id, EAST, "span" if spans else "default", "ada", is_read=spans)


class Counts:
    """Counts for tests."""

    def __init__(self):
        self.open = 0
        self.methods = []
        self.added_s = 0.0

    def session(self, _subcluster):
        self.open += 1
        return self

    def called(self, method):
        self.methods.append(method)

    def added(self, duration_s):
        self.added_s += duration_s

    def left(self):
        self.open -= 1


class ScriptedApplicationMaster:
    """An ApplicationMaster that calls one after the other, as Java's do."""

    def __init__(self, address, token, *, qualities=(QualityOfProtection.AUTH,), **settings):
        host, _, port = address.rpartition(":")

        def initiator():
            return SASLInitiator({AuthMethod.TOKEN: lambda _: DigestMD5Client(token, os.urandom(30).hex(), qualities)})

        target = RPCTarget(EAST, ((host, int(port)),))
        self.rpc = YarnRPC(
            target,
            usual(RPCSettings, **({"timeout_s": 20.0, "connect_timeout_s": 20.0} | settings)),
            initiator=initiator,
        )
        self.response_id = 0

    async def call(self, method, message=None):
        payload = b"" if message is None else message.SerializeToString()
        return await self.rpc.call(RPCCall(APPLICATION_MASTER.name, method, payload, "", "mr_appmaster_1"))

    async def register(self):
        return await self.call(REGISTER, RegisterApplicationMasterRequestProto(host="node", rpc_port=1))

    async def allocate(self):
        answer = await self.call(ALLOCATE, AllocateRequestProto(response_id=self.response_id, progress=0.5))
        if answer.refusal is None:
            self.response_id = AllocateResponseProto.FromString(answer.payload).response_id
        return answer

    async def finish(self):
        return await self.call(FINISH, FinishApplicationMasterRequestProto(diagnostics="done"))


class Scheduler:
    """A scripted scheduler on a port; can be killed and started again there."""

    def __init__(self, *attempts, **behaviour):
        self.tokens = {number: token_for(attempt(number)) for number in attempts}
        self.behaviour = ScriptedScheduler(tuple(self.tokens.values()), **behaviour)
        self._server = RPCServer(self.behaviour, host="127.0.0.1", port=0)

    @property
    def port(self):
        return self._server.port

    @property
    def connections(self):
        return tuple(self._server.connections)

    async def start(self):
        self._server = RPCServer(self.behaviour, host="127.0.0.1", port=self._server.port)
        await self._server.start()

    async def kill(self):
        await self._server.stop(grace_s=0)


@asynccontextmanager
async def a_scheduler(*attempts, **behaviour):
    scheduler = Scheduler(*attempts, **behaviour)
    await scheduler.start()
    try:
        yield scheduler
    finally:
        await scheduler.kill()


@asynccontextmanager
async def a_server(*ports, port=0, service=None, counts=None, timeout_s=10.0, owner=None, **limits):
    dialler = HomeDialler({EAST: tuple(("127.0.0.1", each) for each in ports)}, timeout_s=timeout_s)
    server = SchedulerServer(
        KnownAttempts(),
        dialler,
        counts or Counts(),
        host="127.0.0.1",
        port=port,
        limits=SchedulerLimits(**limits),
        service=service,
        owner_address=lambda _queue: owner() if owner is not None else None,
    )
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@asynccontextmanager
async def a_master(server, token, **settings):
    master = ScriptedApplicationMaster(server.address, token, **settings)
    try:
        yield master
    finally:
        await master.rpc.close()
