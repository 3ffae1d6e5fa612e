"""The ways in which a ResourceManager misbehaves, for `ScriptedResourceManager.behave`."""

from collections.abc import Callable
from dataclasses import dataclass

from shim.domain.ids import ApplicationId
from shim.errors import MalformedAnswerError, NeverReachedError, NoAnswerError, StandbyError
from shim.ports.resource_manager import RestAnswer, RestRequest
from tests.doubles import rm_documents as build
from tests.doubles.resource_manager import (
    BASE,
    AnswersProperly,
    Behaviour,
    ScriptedResourceManager,
    error_answer,
    ok_answer,
)

_DEFAULT_TIMEOUT_S = 2.0


class IsNeverReached:
    """A port that refuses connections."""

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Raise `NeverReachedError`."""
        del request, timeout_s
        raise NeverReachedError(manager.subcluster, "connection refused")


class IsPaused:
    """Stopped by a signal: connections open, requests wait in its socket, and are carried out when it wakes."""

    def __init__(self) -> None:
        self._waiting: list[tuple[ScriptedResourceManager, RestRequest]] = []

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Keep the request, let the time-out pass, raise `NoAnswerError`."""
        self._waiting.append((manager, request))
        await manager.clock.sleep(_DEFAULT_TIMEOUT_S if timeout_s is None else timeout_s)
        raise NoAnswerError(manager.subcluster, "no answer in time")

    def wake(self) -> None:
        """Carry out, in their order, what has been waiting, and answer properly from now on."""
        for manager, request in self._waiting:
            manager.take(request)
            manager.behave(AnswersProperly())
        self._waiting.clear()


class LosesTheAnswer:
    """Carries out what it is asked, and the connection breaks before the answer."""

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Carry it out, raise `NoAnswerError`."""
        del timeout_s
        manager.take(request)
        raise NoAnswerError(manager.subcluster, "the connection broke")


class IsStandby:
    """No ResourceManager of the sub-cluster is active."""

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Answer `/info`, raise `StandbyError` for everything else."""
        del timeout_s
        if request.path == f"{BASE}/info":
            return ok_answer(build.info_document(started_on_ms=manager.started_on_ms, ha_state="STANDBY"))
        raise StandbyError(manager.subcluster, "no active ResourceManager")


class IsRecovering:
    """Has just started: says INITIALIZING, lists nothing with status 200, and counts submissions that would end it.

    Attributes:
        harmful: Submissions that arrived while it recovered; a real one may die of "already present".
    """

    def __init__(self) -> None:
        self.harmful: list[RestRequest] = []

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Answer with empty lists, and 404 for every application."""
        del timeout_s
        path = request.path.removeprefix(BASE).strip("/")
        if request.method != "GET":
            self.harmful.append(request)
            raise NoAnswerError(manager.subcluster, "the connection broke")
        if path == "info":
            return ok_answer(build.info_document(started_on_ms=manager.started_on_ms, ha_state="INITIALIZING"))
        if path.startswith("apps/"):
            return error_answer(404, "NotFoundException", "java.lang.Exception: app not found")
        if path == "apps":
            return ok_answer(build.apps_document([]))
        return ok_answer(build.nodes_document([])) if path == "nodes" else manager.take(request)


class AnswersGarbage:
    """Status 200 and bytes that mean nothing."""

    def __init__(self, body: bytes = b'{"apps":[[[') -> None:
        self._body = body

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Answer the garbage."""
        del manager, request, timeout_s
        return ok_answer(self._body)


class AnswersEndlessly:
    """An answer that grows beyond every limit, or never ends."""

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Raise `MalformedAnswerError`, as the adapter does when it cuts the answer."""
        del request, timeout_s
        raise MalformedAnswerError(manager.subcluster, "the answer is larger than the limit")


class FailsInternally:
    """Answers 500 to everything."""

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Answer 500."""
        del manager, request, timeout_s
        return error_answer(500, "RuntimeException", "boom")


class RejectsSubmissions:
    """Healthy, but refuses every submission with 400."""

    def __init__(self, message: str = "Requested more memory than configured max") -> None:
        self._message = message

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Refuse POST /apps."""
        del timeout_s
        if request.method == "POST" and request.path.rstrip("/") == f"{BASE}/apps":
            return error_answer(400, "BadRequestException", f"java.lang.Exception: {self._message}")
        return manager.take(request)


@dataclass
class MisbehavesFor:
    """Shows a behaviour to the first `times` requests that `applies` is true of, and is healthy otherwise."""

    behaviour: Behaviour
    times: int = 1
    applies: Callable[[RestRequest], bool] = lambda _: True

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Misbehave while there are times left."""
        if self.times > 0 and self.applies(request):
            self.times -= 1
            return await self.behaviour(manager, request, timeout_s)
        return manager.take(request)


@dataclass
class ChokesOn:
    """Healthy, but for the submissions of some applications.

    Attributes:
        ids: Of these applications.
        behaviour: What it does with their submissions.
        questions: Whether it does the same with questions for them.
    """

    ids: frozenset[ApplicationId]
    behaviour: Behaviour
    questions: bool = False

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Misbehave towards those, and answer everything else."""
        is_submission = request.method == "POST" and any(str(one).encode() in request.body for one in self.ids)
        is_question = self.questions and any(request.path.endswith(f"/{one}") for one in self.ids)
        if is_submission or is_question:
            return await self.behaviour(manager, request, timeout_s)
        return manager.take(request)


class FailsWithoutWords:
    """Answers 500 with nothing in it, as a servlet container does for what it could not pass on."""

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Answer 500."""
        del manager, request, timeout_s
        return RestAnswer(500, (), b"")
