"""Questions and answers on one link, any number at a time."""

import asyncio
import itertools

from shim.errors import MasterLinkError
from shim.ports.master_links import MasterLink
from shim.protocol.peers import Answer, Question


class Correspondence:
    """Asks on one link; who reads the link hands answers in."""

    def __init__(self, link: MasterLink) -> None:
        self._link = link
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._why_ended = ""

    def next_number(self) -> int:
        return next(self._numbers)

    async def ask(self, question: Question, *, timeout_s: float) -> Answer:
        """Send a question and wait for its answer.

        Raises:
            MasterLinkError: There is none in time, or the link is broken.
        """
        if self._why_ended:
            raise MasterLinkError(self._why_ended)
        waiter: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[question.number] = waiter
        try:
            async with asyncio.timeout(timeout_s):
                await self._link.send(question)
                return await waiter
        except TimeoutError as exc:
            raise MasterLinkError(f"{self._link.peer} did not answer within {timeout_s:g} s") from exc
        finally:
            self._waiting.pop(question.number, None)

    def take(self, answer: Answer) -> None:
        """An answer came; one that nobody waits for any more is dropped."""
        waiter = self._waiting.get(answer.number)
        if waiter is not None and not waiter.done():
            waiter.set_result(answer)

    def end(self, reason: str) -> None:
        """The link is gone: nobody waits any longer."""
        self._why_ended = reason or "the link has ended"
        for waiter in self._waiting.values():
            if not waiter.done():
                waiter.set_exception(MasterLinkError(self._why_ended))
