"""Names of intents: no two are the same, whichever Heddle writes them."""

import itertools

from shim.ports.random_source import RandomSource

__all__ = ["IntentIds"]

_BYTES = 10


class IntentIds:
    """Names of the intents of one process; call it for the next.

    Args:
        random: Asked once, as true randomness can cost half a millisecond.
    """

    def __init__(self, random: RandomSource) -> None:
        self._process = random.randbytes(_BYTES).hex()
        self._numbers = itertools.count(1)

    def __call__(self) -> str:
        """A name that was never given before."""
        return f"{self._process}-{next(self._numbers):x}"
