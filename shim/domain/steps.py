"""Work in steps: a generator that pauses after some milliseconds, so that who drives it may let others have their turn.

What it gives is what the generator returns. An event loop drives it by `shim.federation.polling.in_turns`.
"""

from collections.abc import Generator
from typing import TypeVar

_T = TypeVar("_T")


def at_once(steps: Generator[None, None, _T]) -> _T:
    """Do work that pauses between its steps without any pause."""
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            done: _T = ended.value
            return done
