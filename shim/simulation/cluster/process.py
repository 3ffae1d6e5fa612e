"""A process that can be killed, stopped and started again: what is sent to it meanwhile fares as over TCP."""

import asyncio

from shim.errors import NeverReachedError, NoAnswerError

__all__ = ["ModelledProcess"]


class ModelledProcess:
    """The life of a process.

    Args:
        name: For messages.

    Attributes:
        is_up: Whether it runs, or is stopped (SIGSTOP).
        lives: How often it was started.
    """

    def __init__(self, name: str) -> None:
        self.is_up = False
        self.lives = 0
        self._name = name
        self._awake = asyncio.Event()

    @property
    def life(self) -> int | None:
        """Start of it that answers; None while it is down or stopped."""
        return self.lives if self.is_up and self._awake.is_set() else None

    @property
    def is_paused(self) -> bool:
        """True while it is stopped: what is sent to it waits in its sockets."""
        return self.is_up and not self._awake.is_set()

    def begin_life(self) -> None:
        """Start it."""
        self.lives += 1
        self.is_up = True
        self._awake.set()

    def end_life(self) -> None:
        """Kill it (SIGKILL), also while it is stopped."""
        self.is_up = False
        self._awake.set()

    def pause(self) -> None:
        """Stop it (SIGSTOP)."""
        if self.is_up:
            self._awake.clear()

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        self._awake.set()

    async def reach(self) -> None:
        """Be taken by the process: at once, or when it goes on.

        Raises:
            NeverReachedError: It is down.
            NoAnswerError: It died before it went on.
        """
        if not self.is_up:
            raise NeverReachedError(self._name, "connection refused")
        life = self.lives
        while self.lives == life and self.is_paused:
            await self._awake.wait()
        if self.life != life:
            raise NoAnswerError(self._name, "the connection broke")
