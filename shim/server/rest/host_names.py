"""Names under which the web services may be asked for: a guard against DNS rebinding.

A page of another site can make a browser send requests to an address of this machine under a name of the site's own,
and then read the answers as its own. An address literal or a name of this machine in `Host` cannot come about so.
"""

import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache

_HOST = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]{2,45})\]|(?P<name>[A-Za-z0-9._-]{1,255}))(?::[0-9]{1,5})?")
_LONGEST = 512  # bytes: a name has 255 at most
_REMEMBERED = 256
_ANY = "*"


class HostNames:
    """Decides about values of `Host`.

    Args:
        names: Allowed beside address literals and `localhost`; `*.example.org` allows each name below, `*` every name.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        lowered = {name.lower().rstrip(".") for name in names}
        self._allows_any = _ANY in lowered
        self._names = frozenset({"localhost"} | {name for name in lowered if not name.startswith("*.")})
        self._endings = (".localhost", *(name[1:] for name in lowered if name.startswith("*.")))
        self._remembered = lru_cache(_REMEMBERED)(self._allows)

    def allows(self, value: bytes) -> bool:
        """True if a value of `Host`, with its port, is one of ours; a long one is none, and not remembered."""
        return len(value) <= _LONGEST and self._remembered(value)

    @property
    def remembered(self) -> int:
        return self._remembered.cache_info().currsize

    def _allows(self, value: bytes) -> bool:
        """As `allows`; an empty one names nothing and harms nobody."""
        text = value.decode("latin-1").strip()
        if not text or self._allows_any:
            return True
        found = _HOST.fullmatch(text)
        if found is None:
            return False
        if found["v6"]:
            return _is_address(found["v6"])
        name = found["name"].lower().rstrip(".")
        return name in self._names or name.endswith(self._endings) or _is_address(name)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
