"""Memory of what came last, up to a number."""

from collections import OrderedDict
from typing import TypeVar

__all__ = ["remember"]

K = TypeVar("K")
V = TypeVar("V")


def remember(memory: "OrderedDict[K, V]", key: K, value: V, most: int) -> None:
    """Keep the newest `most` entries."""
    memory[key] = value
    memory.move_to_end(key)
    while len(memory) > most:
        memory.popitem(last=False)
