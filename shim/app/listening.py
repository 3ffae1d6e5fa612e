"""Error of every server whose address cannot be listened on."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from shim.errors import ConfigError

__all__ = ["listening"]


@contextmanager
def listening(address: str, key: str, advice: str = "") -> Iterator[None]:
    """Around the start of a server.

    Args:
        address: `host:port`.
        key: Where the configuration has it.
        advice: What else to say.

    Raises:
        ConfigError: If the address cannot be listened on.
    """
    try:
        yield
    except OSError as exc:
        said = ". ".join(filter(None, (f"{address} cannot be listened on: {_words_for(exc)}", advice)))
        raise ConfigError("the configuration", key, said) from exc


def _words_for(error: OSError) -> str:
    """The machine's words for an error of its own; event loops say it in words of theirs."""
    code = error.errno or 0
    return os.strerror(code) if code > 0 else error.strerror or str(error)  # names not found have codes below 0
