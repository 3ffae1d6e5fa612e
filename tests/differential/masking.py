"""What of an answer differs between two calls to one ResourceManager, masked so that the rest can be compared."""

import gzip
import json
import re
from typing import Any

from tests.support.raw_http import RawAnswer

_VOLATILE = (
    "elapsedTime",
    "lastHealthUpdate",
    "memorySeconds",
    "vcoreSeconds",
    "utilizedMB",
    "utilizedVirtualCores",
    "utilizedMBPercent",
    "utilizedVirtualCoresPercent",
    "rmSchedulerBusyPercent",
    "schedulerBusy",
    "containerAssignedPerSecond",
    "rmEventQueueSize",
    "schedulerEventQueueSize",
    "rmDispatcherEventQueueSize",
    "schedulerDispatcherEventQueueSize",
    "nodePhysicalMemoryMB",
    "nodeVirtualMemoryMB",
    "nodeCPUUsage",
    "aggregatedContainersPhysicalMemoryMB",
    "aggregatedContainersVirtualMemoryMB",
    "containersCPUUsage",
    "memUtilization",
    "cpuUtilization",
    "remainingTimeInSeconds",
    "timestamp",
    "dateTime",
    "lastrun",
)
_JSON = re.compile(rb'("(?:%b)":)("(?:[^"\\]|\\.)*"|[-0-9.eE+]+)' % b"|".join(name.encode() for name in _VOLATILE))
_XML = re.compile(rb"<(%b)>[^<]*</\1>" % b"|".join(name.encode() for name in _VOLATILE))
_SECONDS_MAP = re.compile(rb'(\["key","(?:memory-mb|vcores)"\],\["value",)"-?\d+"')
_SECONDS_MAP_XML = re.compile(rb"(<key>(?:memory-mb|vcores)</key><value>)-?\d+(</value>)")
_HEALTH = re.compile(rb'"health":\{.*?"lastRunDetails":\[.*?\]\}', re.DOTALL)
_HEALTH_XML = re.compile(rb"<health>.*?</health>", re.DOTALL)
_BRACKETS = re.compile(rb"\[[A-Z][a-z]{2} [A-Z][a-z]{2} \d{2} [0-9:]{8} \+0000 \d{4}\]")
_OBJECT_HASH = re.compile(rb"(Servlet-)[0-9a-f]+")

_HOP = frozenset({"transfer-encoding", "content-length", "connection", "keep-alive"})
_OURS = frozenset({"heddle-as-of", "heddle-missing", "x-request-id", "content-security-policy"})
_VOLATILE_HEADERS = frozenset({"date", "expires", "set-cookie", "last-modified"})


def masked_headers(answer: RawAnswer) -> list[tuple[str, str]]:
    """End-to-end headers in their order, less those of Heddle; volatile values masked, our port for any port."""
    shown = []
    for name, value in answer.headers:
        lowered = name.lower()
        if lowered in _HOP or lowered in _OURS:
            continue
        if lowered in _VOLATILE_HEADERS:
            shown.append((name, "*"))
        elif lowered == "location":
            shown.append((name, re.sub(r"^http://[^/]+", "http://HOST", value)))
        else:
            shown.append((name, value))
    return shown


def masked_body(answer: RawAnswer) -> bytes:
    """The body, decompressed, volatile values masked, lists of applications and nodes in the order of their ids."""
    body = answer.body
    if answer.header("content-encoding") == "gzip" and body:
        body = gzip.decompress(body)
    if body[:1] == b"{":
        body = _sorted_lists(_HEALTH.sub(b'"health":"*"', _JSON.sub(rb'\1"*"', body)))
        body = _SECONDS_MAP.sub(rb'\1"*"', body)
    elif body[:5] == b"<?xml":
        body = _HEALTH_XML.sub(b"<health/>", _XML.sub(rb"<\1>*</\1>", body))
        body = _SECONDS_MAP_XML.sub(rb"\1*\2", body)
        body = _sorted_elements(body)
    return _OBJECT_HASH.sub(rb"\1*", _BRACKETS.sub(b"[*]", body))


_LISTS = {"app": "id", "node": "id", "statItem": "state", "containers": "containerId"}


def _sorted_lists(body: bytes) -> bytes:
    try:
        value = json.loads(body, object_pairs_hook=_Pairs, parse_float=_Text, parse_int=_Text)
    except ValueError:
        return body
    return json.dumps(_ordered(value, ""), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


class _Text(str):
    __slots__ = ()


class _Pairs(list[Any]):
    pass


def _ordered(value: Any, name: str) -> Any:
    if isinstance(value, _Pairs):
        return {"pairs": [[key, _ordered(member, key)] for key, member in value]}
    if isinstance(value, list):
        items = [_ordered(item, "") for item in value]
        return sorted(items, key=json.dumps) if name in _LISTS else items
    return value


def _sorted_elements(body: bytes) -> bytes:
    for name in _LISTS:
        pattern = re.compile(rb"<%b>.*?</%b>" % (name.encode(), name.encode()), re.DOTALL)
        found = pattern.findall(body)
        if len(found) > 1:
            rest = iter(sorted(found))
            body = pattern.sub(lambda _, rest=rest: next(rest), body)  # type: ignore[misc]  # bound on purpose
    return body
