"""What takes more than one call: submit once and only once, wait for the end, kill, read logs."""

from collections.abc import Callable, Mapping
from typing import Any

from heddle.applications import LogPart
from heddle.client.calls import Flow, MakesCalls, Pause, flow
from heddle.client.errors import (
    ClientError,
    NoAnswerError,
    NoSuchThingError,
    NotAllowedError,
    NotReachedError,
    NotSucceededError,
    SubmissionUnknownError,
    TryLaterError,
    WaitedTooLongError,
)
from heddle.client.manager_calls import ManagerOperations
from heddle.client.own_calls import HeddleOperations

__all__ = ["CALLS", "MANAGER_CALLS", "Progress", "Workflows"]

_ID = "application-id"
_FINAL = frozenset({"FINISHED", "FAILED", "KILLED"})
_SUCCEEDED = "SUCCEEDED"
_AWAY = (TryLaterError, NotReachedError, NoAnswerError)

Progress = Callable[[Mapping[str, Any]], None]
"""Told an application's object whenever its state or progress has changed."""


class _HeddleCalls(MakesCalls, HeddleOperations):
    """Heddle's own operations, as calls that nobody has sent."""


class _ManagerCalls(MakesCalls, ManagerOperations):
    """A ResourceManager's."""


CALLS = _HeddleCalls()
MANAGER_CALLS = _ManagerCalls()


class Workflows(HeddleOperations):
    """Methods of a client that take several calls."""

    def now_s(self) -> float:
        """Seconds by a clock that only goes forward."""
        raise NotImplementedError

    @flow
    def submit(self, context: Mapping[str, Any], *, application: str = "") -> Flow[str]:
        """Submit an application, and give its id.

        The id is taken first, and the same one is sent at every try, so that it is started once however often the
        network fails. Heddle chooses the sub-cluster.

        Args:
            context: As of YARN's REST API: `application-name`, `am-container-spec`, `resource`, ...
            application: An id that was taken before; needed again after a `SubmissionUnknownError`.

        Raises:
            SubmissionUnknownError: Nobody answered: it may have arrived.
            ClientError: It was refused, or was not sent.
        """
        id_ = application or context.get(_ID) or (yield MANAGER_CALLS.new_application())[_ID]
        call = MANAGER_CALLS.submit_context({**context, _ID: id_})
        try:
            yield call
        except NoAnswerError as exc:
            raise SubmissionUnknownError(id_, where=exc.where) from exc
        return str(id_)

    @flow
    def wait(
        self,
        application: str,
        *,
        timeout_s: float | None = None,
        every_s: float = 1.0,
        progress: Progress | None = None,
        outage_s: float = 600.0,
        must_succeed: bool = True,
    ) -> Flow[Mapping[str, Any]]:
        """Wait until an application has ended, and give its object.

        Args:
            application: Its id.
            timeout_s: Seconds to wait at most; None for ever.
            every_s: Seconds from one look to the next.
            progress: Told whenever state or progress has changed.
            outage_s: For so many seconds in one go nobody needs to answer.
            must_succeed: Whether an end without success is an error.

        Raises:
            NotSucceededError: It ended otherwise.
            WaitedTooLongError: It has not ended in time; it goes on.
            ClientError: It is not known, or nobody answers any more.
        """
        began_s = heard_s = self.now_s()
        found: Mapping[str, Any] = {"id": application}
        seen: object = None
        while True:
            try:
                found = (yield CALLS.application(application)).app
                heard_s = self.now_s()
            except _AWAY:
                if self.now_s() - heard_s > outage_s:
                    raise
            shown = (found.get("state"), found.get("progress"), found.get("waits"))
            if progress is not None and shown not in ((None, None, None), seen):
                progress(found)
            seen = shown
            if found.get("state") in _FINAL:
                if must_succeed and found.get("finalStatus") != _SUCCEEDED:
                    raise NotSucceededError(found)
                return found
            left_s = float("inf") if timeout_s is None else began_s + timeout_s - self.now_s()
            if left_s <= 0:
                state = found.get("state", "not known")
                raise WaitedTooLongError(f"{application} is {state} after {timeout_s:g} s", found)
            yield Pause(min(every_s, left_s))

    @flow
    def kill(self, application: str) -> Flow[None]:
        """End an application; one that has ended stays as it is."""
        yield MANAGER_CALLS.set_state(application)

    @flow
    def move(self, application: str, queue: str) -> Flow[None]:
        """Move an application into another queue, on the same sub-cluster."""
        yield MANAGER_CALLS.move(application, queue)

    @flow
    def logs(self, application: str, *, file: str = "", tail: int = 65_536, of: str = "") -> Flow[list[LogPart]]:
        """Give the ends of an application's log files: of containers that run, else what was aggregated.

        Args:
            application: Its id.
            file: Only files of this name; empty for all.
            tail: Bytes of each.
            of: Its user, where Heddle does not know it any more.
        """
        parts: list[LogPart] = []
        for container in (yield from _running(application)):
            try:
                listed = yield CALLS.container_logs(container)
                for name in (each.file for each in listed.files if file in ("", each.file)):
                    part = yield CALLS.container_log(container, name, tail=tail)
                    parts.append(part)
            except (NoSuchThingError, NotAllowedError):
                continue  # it begins or ends this moment, or only what is aggregated may be read
        if parts:
            return parts
        listed = yield CALLS.application_logs(application, of=of)
        for node in listed.nodes:
            for each in node.files:
                if file in ("", each.file):
                    call = CALLS.application_log(
                        application, each.container, each.file, tail=tail, of=of, node=node.node
                    )
                    parts.append((yield call))
        return parts


def _running(application: str) -> Flow[list[str]]:
    """Containers of the newest attempt."""
    try:
        told = yield MANAGER_CALLS.attempts(application)
        attempts = (told.get("appAttempts") or {}).get("appAttempt", [])
        newest = max((str(each.get("appAttemptId", "")) for each in attempts), default="")
        if not newest:
            return []
        listed = (yield MANAGER_CALLS.containers(application, newest)).get("container", [])
    except ClientError as exc:
        if not isinstance(exc, NoSuchThingError):
            raise
        return []
    return [str(each["containerId"]) for each in ([listed] if isinstance(listed, dict) else listed)]
