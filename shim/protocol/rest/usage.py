"""Use in an application's document, and the same document with other numbers in it.

Everything else in a document stays byte for byte as it came. Source: `AppInfo`, `RMAppAttemptMetrics`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from shim.domain.told_bounds import LONGEST_NAME, MOST_TYPES
from shim.domain.usage import NO_USAGE, Account, Usage
from shim.protocol.rest.ordered_json import JsonValue, Pairs, parse_ordered
from shim.protocol.wire_values import UNREADABLE, whole

SPENT: Mapping[str, str] = {
    "memory_mib_s": "memorySeconds",
    "vcore_s": "vcoreSeconds",
    "preempted_memory_mib_s": "preemptedMemorySeconds",
    "preempted_vcore_s": "preemptedVcoreSeconds",
    "preempted_mib": "preemptedResourceMB",
    "preempted_vcores": "preemptedResourceVCores",
    "preempted_containers": "numNonAMContainerPreempted",
    "preempted_masters": "numAMContainerPreempted",
}
"""Counters, by the members that tell them."""
SPENT_MAPS: Mapping[str, str] = {"seconds/": "resourceSecondsMap", "preempted-seconds/": "preemptedResourceSecondsMap"}
"""Counters by type of resource; the type's name is added to the prefix."""
HOLDS: Mapping[str, str] = {
    "containers": "runningContainers",
    "memory_mib": "allocatedMB",
    "vcores": "allocatedVCores",
    "reserved_mib": "reservedMB",
    "reserved_vcores": "reservedVCores",
}
"""What an application has now; -1 where it cannot have anything."""

_PLAIN_MAP = re.compile(rb'\{(?:"entry":\{"key":"[a-zA-Z0-9._/-]+","value":"[0-9]+"\}(?:,(?=")|(?=\})))+\}')
_PLAIN_ENTRY = re.compile(rb'"key":"([^"]+)","value":"([0-9]+)"')

_Members = dict[str, msgspec.Raw]
_DECODER = msgspec.json.Decoder(_Members)


class UsageForm:
    """Implements `shim.federation.core.account_book.ReadsUsage` for documents of the web services."""

    def read(self, raw: bytes) -> Usage:
        try:
            members = _DECODER.decode(raw)
        except UNREADABLE:
            return NO_USAGE
        return _usage(members)

    def show(self, raw: bytes, account: Account) -> bytes:
        try:
            members = _DECODER.decode(raw)
        except UNREADABLE:
            return raw
        whole = account.whole(_usage(members))
        for amounts, table in ((whole.spent, SPENT), (whole.holds, HOLDS)):
            for name, member in table.items():
                if name in amounts and member in members:
                    members[member] = _raw(str(amounts[name]))
        for prefix, member in SPENT_MAPS.items():
            seconds = {name[len(prefix) :]: amount for name, amount in whole.spent.items() if name.startswith(prefix)}
            if seconds and member in members:
                members[member] = _raw(_shown_map(seconds, is_list=_is_list(members[member])))
        return msgspec.json.encode(members)


def _usage(members: _Members) -> Usage:
    spent = {
        name: whole(amount) for name, member in SPENT.items() if (amount := _number(members.get(member))) is not None
    }
    for prefix, member in SPENT_MAPS.items():
        entries = islice(_entries(members.get(member)), MOST_TYPES)
        spent |= {prefix + name: amount for name, amount in entries if len(name) <= LONGEST_NAME}
    holds = {name: amount for name, member in HOLDS.items() if (amount := _number(members.get(member))) is not None}
    return Usage(spent, {name: whole(amount) for name, amount in holds.items() if amount >= 0})


def _number(raw: msgspec.Raw | None) -> int | None:
    try:
        return None if raw is None else msgspec.json.decode(raw, type=int)
    except UNREADABLE:
        return None


def _entries(raw: msgspec.Raw | None) -> Iterator[tuple[str, int]]:
    """`{"entry":{"key":..,"value":..},"entry":..}`, as Jersey writes a map, or `{"entry":[..]}`."""
    plain = b"" if raw is None else bytes(raw)
    if _PLAIN_MAP.fullmatch(plain):  # as all of them are: twenty times faster than to read any JSON in order
        for key, amount in _PLAIN_ENTRY.findall(plain):
            yield key.decode(), whole(amount.decode())
        return
    value = _parsed(raw)
    for name, entry in value if isinstance(value, Pairs) else ():
        if name != "entry":
            continue
        for each in entry if isinstance(entry, list) and not isinstance(entry, Pairs) else (entry,):
            pair: dict[str, Any] = dict(each) if isinstance(each, Pairs) else {}
            key, amount = pair.get("key"), pair.get("value")
            if isinstance(key, str) and isinstance(amount, str) and amount.lstrip("-").isdecimal():
                yield key, whole(amount)


def _is_list(raw: msgspec.Raw) -> bool:
    value = _parsed(raw)
    first = value[0][1] if isinstance(value, Pairs) and value else None
    return isinstance(first, list) and not isinstance(first, Pairs)


def _parsed(raw: msgspec.Raw | None) -> JsonValue:
    try:
        return None if raw is None else parse_ordered(bytes(raw))
    except (ValueError, RecursionError):
        return None


def _shown_map(seconds: Mapping[str, int], *, is_list: bool) -> str:
    entries = [
        json.dumps({"key": name, "value": str(amount)}, separators=(",", ":")) for name, amount in seconds.items()
    ]
    if is_list:
        return f'{{"entry":[{",".join(entries)}]}}'
    return "{" + ",".join(f'"entry":{entry}' for entry in entries) + "}"


def _raw(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())
