"""Accounts in Hadoop's application reports: what was used in all sub-clusters in the place of what the home told.

Source: `ApplicationResourceUsageReportPBImpl`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.message import DecodeError

from shim.domain.ids import ApplicationId
from shim.domain.usage import Account, Usage
from shim.errors import RemoteProtocolError
from shim.protocol.proto.messages import (
    ApplicationIdProto,
    ApplicationReportProto,
    ApplicationResourceUsageReportProto,
    GetApplicationReportResponseProto,
)
from shim.protocol.wire_values import text_of
from shim.protocol.yarn.submit_times import written_report
from shim.protocol.yarn.wire import application_of, entries_in, held

_SPENT: Mapping[str, str] = {
    "memory_mib_s": "memory_seconds",
    "vcore_s": "vcore_seconds",
    "preempted_memory_mib_s": "preempted_memory_seconds",
    "preempted_vcore_s": "preempted_vcore_seconds",
}
_MAPS: Mapping[str, str] = {
    "seconds/": "application_resource_usage_map",
    "preempted-seconds/": "application_preempted_resource_usage_map",
}
_REPORTS = 0x0A
"""Tag of `applications` in a list, and of the id in a report: field 1, with its length before it."""

Find = Callable[[ApplicationId], Account | None]


def with_account(payload: bytes, account: Account) -> bytes:
    """A serialized `GetApplicationReportResponseProto` with the account in it."""
    answer = GetApplicationReportResponseProto.FromString(payload)
    _put(answer.application_report, account)
    return answer.SerializeToString()


def with_accounts(payload: bytes, find: Find) -> bytes:
    """A serialized `GetApplicationsResponseProto` with accounts in it; reports of other applications stay as they are.

    Only the ids are read of those.
    """
    entries: list[bytes] = []
    seen, is_changed = 0, False
    try:
        for entry, raw in entries_in(payload):
            account = find(_id_of(raw))
            entries.append(entry if account is None else _accounted(raw, account))
            seen, is_changed = seen + len(entry), is_changed or account is not None
    except (RemoteProtocolError, DecodeError, ValueError, IndexError):
        return payload  # of another form than is known: as it came
    return b"".join(entries) if is_changed and seen == len(payload) else payload


def _accounted(raw: bytes, account: Account) -> bytes:
    report = ApplicationReportProto.FromString(raw)
    _put(report, account)
    return written_report(report)


def _id_of(report: bytes) -> ApplicationId:
    if not report or report[0] != _REPORTS:
        raise ValueError("a report begins with its id")
    length, at = _varint(report, 1)
    return application_of(ApplicationIdProto.FromString(report[at : at + length]))


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = payload[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:  # noqa: PLR2004 - the last byte of a number has no such bit
            return value, at


def _put(report: ApplicationReportProto, account: Account) -> None:
    """Add to a report what is used elsewhere; one that hides what is used is for somebody who may not know it."""
    usage = report.app_resource_Usage
    if not report.HasField("app_resource_Usage") or usage.memory_seconds < 0:
        return
    whole = account.whole(_usage(usage))
    for name, field in _SPENT.items():
        setattr(usage, field, held(usage, field, whole.spent.get(name, 0)))
    for prefix, field in _MAPS.items():
        _put_map(getattr(usage, field), prefix, whole.spent)
    _put_holds(usage, whole.holds)


def _usage(usage: ApplicationResourceUsageReportProto) -> Usage:
    spent = {name: max(0, getattr(usage, field)) for name, field in _SPENT.items()}
    for prefix, field in _MAPS.items():
        spent |= {prefix + text_of(each.key): each.value for each in getattr(usage, field)}
    holds = {
        "containers": usage.num_used_containers,
        "memory_mib": usage.used_resources.memory,
        "vcores": usage.used_resources.virtual_cores,
        "reserved_mib": usage.reserved_resources.memory,
        "reserved_vcores": usage.reserved_resources.virtual_cores,
    }
    return Usage(spent, {name: amount for name, amount in holds.items() if amount >= 0})


def _put_map(entries: Any, prefix: str, spent: Mapping[str, int]) -> None:
    seconds = {name[len(prefix) :]: amount for name, amount in spent.items() if name.startswith(prefix)}
    del entries[:]
    for name, amount in seconds.items():
        added = entries.add(key=name)
        added.value = held(added, "value", amount)


def _put_holds(usage: ApplicationResourceUsageReportProto, holds: Mapping[str, int]) -> None:
    """`needed` is what is used and what is reserved, `SchedulerApplicationAttempt.getResourceUsageReport`."""
    if "containers" in holds:
        usage.num_used_containers = held(usage, "num_used_containers", holds["containers"])
    for name, resource in (("", usage.used_resources), ("reserved_", usage.reserved_resources)):
        memory, vcores = (f"{name}mib", f"{name}vcores") if name else ("memory_mib", "vcores")
        added = (holds.get(memory, 0) - resource.memory, holds.get(vcores, 0) - resource.virtual_cores)
        for each in (resource, usage.needed_resources):
            each.memory = held(each, "memory", each.memory + max(0, added[0]))
            each.virtual_cores = held(each, "virtual_cores", each.virtual_cores + max(0, added[1]))
            _raise_types(each)


def _raise_types(resource: Any) -> None:
    """A resource tells memory and cores a second time, by the name of the type."""
    told = {"memory-mb": resource.memory, "vcores": resource.virtual_cores}
    for each in resource.resource_value_map:
        if each.key in told:
            each.value = told[each.key]
