"""The network between simulated parts: latency, loss, and a count of every message and its bytes."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from shim.simulation.engine import Engine

__all__ = ["HOP_S", "REPEAT_S", "MessageCounts", "Network"]

HOP_S = 0.0005
"""Latency of one hop in seconds, as in the simulators of Sparrow, Eagle, Pigeon and Megha."""
REPEAT_S = 1.0
"""From one heartbeat of a node to the next."""


@dataclass(slots=True)
class MessageCounts:
    """Counts of messages by kind.

    Attributes:
        messages: How many were sent; a batch is one message. Lost ones count: they were sent.
        size_bytes: Their bytes. A kind whose size is never given counts zero bytes.
        lost: How many never arrived.
    """

    messages: Counter[str] = field(default_factory=Counter)
    size_bytes: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)


class Network:
    """Delivers messages by putting their receipt into the engine's queue.

    Messages of equal latency arrive in the order in which they were sent.

    Attributes:
        hop_s: Latency of a hop in seconds.
        loss: Probability in [0, 1) that a message never arrives.
        traffic: The counts so far.
    """

    __slots__ = ("_engine", "_rng", "hop_s", "loss", "traffic")

    def __init__(self, engine: Engine, rng: random.Random, *, hop_s: float = HOP_S, loss: float = 0.0) -> None:
        self._engine = engine
        self._rng = rng
        self.hop_s = hop_s
        self.loss = loss
        self.traffic = MessageCounts()

    def send(
        self, kind: str, deliver: Callable[..., object], *arguments: object, hops: int = 1, size_bytes: int = 0
    ) -> None:
        """Send one message of `kind`: `deliver(*arguments)` runs after `hops` hops, unless the message is lost."""
        self.count(kind, size_bytes=size_bytes)
        if self.loss and self._rng.random() < self.loss:
            self.traffic.lost[kind] += 1
            return
        self._engine.after(self.hop_s * hops, deliver, *arguments)

    def send_again(self, kind: str, deliver: Callable[..., object], *arguments: object, size_bytes: int = 0) -> None:
        """Send one message to or from a node; it is repeated after `REPEAT_S` until it arrives, each time counted."""
        self.count(kind, size_bytes=size_bytes)
        if self.loss and self._rng.random() < self.loss:
            self.traffic.lost[kind] += 1
            self._engine.after(REPEAT_S, partial(self.send_again, size_bytes=size_bytes), kind, deliver, *arguments)
            return
        self._engine.after(self.hop_s, deliver, *arguments)

    def count(self, kind: str, *, number: int = 1, size_bytes: int = 0) -> None:
        """Count messages that need no delivery of their own (their effect travels with another action)."""
        self.traffic.messages[kind] += number
        if size_bytes:
            self.traffic.size_bytes[kind] += size_bytes
