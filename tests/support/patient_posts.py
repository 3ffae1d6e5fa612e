"""Requests of clients that ask again when they are told to: a server that cannot say now answers 503."""

import time
from typing import Any

import httpx

_NOT_NOW = 503
_PATIENCE_S = 120.0
_PAUSE_S = 0.5


def posted(http: httpx.Client, url: str, **request: Any) -> httpx.Response:
    """The answer to a POST that is repeated while a ResourceManager is too busy to answer in time."""
    give_up_s = time.monotonic() + _PATIENCE_S
    while True:
        answer = http.post(url, **request)
        if answer.status_code != _NOT_NOW or time.monotonic() > give_up_s:
            return answer
        time.sleep(_PAUSE_S)
