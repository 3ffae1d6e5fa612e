"""What ApplicationMasters have called at Heddle's scheduler server, as its metrics tell."""

import re
from collections import Counter

import httpx

from shim.app.bootstrap import Heddle

_CALLS = re.compile(r'heddle_am_calls_total\{method="(\w+)",subcluster="(\w+)"\} ([0-9.e+]+)')


def calls_of_masters(heddle: Heddle) -> Counter[tuple[str, str]]:
    """How many calls there were, by method and sub-cluster; a scrape may be a second old."""
    text = httpx.get(f"{heddle.url}/metrics", trust_env=False, timeout=30).text
    return Counter({(method, home): int(float(count)) for method, home, count in _CALLS.findall(text)})
