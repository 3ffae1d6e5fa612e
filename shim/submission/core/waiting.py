"""One sentence on why an application waits: for what, where, since when, and who has it.

It says what the rules of homes say of the sub-cluster where the application is, so that a choice, and what became of
it, are told in the same words.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from shim.domain.applications import ApplicationSummary, YarnApplicationState
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, ApplicationDocument, SubClusterState
from shim.domain.submissions import NOWHERE, Submission
from shim.federation.core.federation_view import SubClusterView, find_queue
from shim.federation.core.grants import nodes_of, told
from shim.protocol.wire_values import UNREADABLE
from shim.submission.core.home_rules import Question, reasons_to_wait

_MOST_HOLDERS = 2
_MOST_ASKED = 1000
_LONGEST = 300
_DAY_S = 86_400
_ANY = "*"
_MEMORY, _VCORES = "memory-mb", "vcores"
_UNSTARTED = {
    YarnApplicationState.NEW,
    YarnApplicationState.NEW_SAVING,
    YarnApplicationState.SUBMITTED,
    YarnApplicationState.ACCEPTED,
}


class _Capability(msgspec.Struct):
    memory: int | float | str = 0
    vCores: int | float | str = 0  # noqa: N815 - Hadoop's name


class _Request(msgspec.Struct):
    resourceName: str = ""  # noqa: N815 - Hadoop's name
    numContainers: int | float | str = 0  # noqa: N815 - Hadoop's name
    nodeLabelExpression: str | None = None  # noqa: N815 - Hadoop's name
    capability: _Capability | None = None


class _Told(msgspec.Struct):
    diagnostics: str | None = None
    allocatedMB: int | float | str = 0  # noqa: N815 - Hadoop's name
    allocatedVCores: int | float | str = 0  # noqa: N815 - Hadoop's name
    resourceRequests: list[_Request] | _Request | None = None  # noqa: N815 - Hadoop's name


_DECODER = msgspec.json.Decoder(_Told, strict=False)


@dataclass(frozen=True, slots=True)
class _Ask:
    """Containers of one size that an application waits for."""

    count: int
    size: ResourceVector
    label: str


def why_it_waits(
    document: ApplicationDocument, seen: SubClusterView | None, others: Iterable[ApplicationDocument], now_s: float
) -> str:
    """The sentence; empty for an application that waits for nothing, as far as is known.

    Args:
        document: The application's, as its home told it.
        seen: Its home; None for one that has none.
        others: Applications that the reader may know of: those that hold what it waits for are named.
        now_s: Seconds since the epoch.
    """
    summary, about = document.summary, _read(document)
    if summary.state.is_final or about is None:
        return ""
    since = _since(summary, seen, now_s)
    if summary.home_subcluster == NOWHERE or seen is None:
        said = about.diagnostics or "its turn has not come"
        cut = said.removeprefix("Waits in Heddle")
        return f"waits in Heddle{since}{cut if cut != said else f': {said}'}"
    asks = _asks(about)
    if summary.state not in _UNSTARTED:
        return _more_containers(summary, seen, asks, others)
    if summary.state is not YarnApplicationState.ACCEPTED:
        return f"waits{since} for {seen.subcluster} to take it{_away(seen)}"
    size = f" of {told(asks[0].size)}" if asks else ""
    begun = f"waits at {seen.subcluster}{since} for its ApplicationMaster"
    if away := _away(seen):
        return f"{begun}{size}{away}"
    ask = asks[0] if asks else _Ask(1, ResourceVector(), "")
    has_container = not asks and _whole(about.allocatedMB) > 0  # nothing stands against it any more
    cause = "" if has_container else _cause(summary, seen, ask, others, is_master=True)
    return f"{begun}: {cause or _words(about)}"


def _more_containers(
    summary: ApplicationSummary, seen: SubClusterView, asks: Sequence[_Ask], others: Iterable[ApplicationDocument]
) -> str:
    if not asks:
        return ""
    count = sum(ask.count for ask in asks)
    what = (
        f"1 container of {told(asks[0].size)}"
        if count == 1
        else f"{count} containers, the first of {told(asks[0].size)}"
    )
    cause = _cause(summary, seen, asks[0], others, is_master=False)
    return f"runs at {seen.subcluster}, and waits there for {what}{_away(seen) or (f': {cause}' if cause else '')}"


def _cause(
    summary: ApplicationSummary,
    seen: SubClusterView,
    ask: _Ask,
    others: Iterable[ApplicationDocument],
    *,
    is_master: bool,
) -> str:
    """What stands against a container of it: what lasts first, then what is scarce there, then the queue's limits."""
    submission = Submission(
        summary.application_id,
        summary.user,
        summary.name,
        summary.queue,
        ask.size,
        ask.label,
        is_unmanaged=False,
        body=b"",
        content_type="",
    )
    queue = find_queue(seen, summary.queue)
    reasons = reasons_to_wait(Question(submission, seen, Admission.OPEN, summary.queue, queue), is_master=is_master)
    lasting = next((reason for reason in reasons if reason.may_last), None)
    if lasting is not None:
        return f"perhaps for ever, as {lasting.text}"
    return _scarce(summary, seen, ask, others) or (reasons[0].text if reasons else "")


def _scarce(summary: ApplicationSummary, seen: SubClusterView, ask: _Ask, others: Iterable[ApplicationDocument]) -> str:
    """The type of which the nodes have less left than one container takes, and who holds most of it."""
    nodes = nodes_of(seen, ask.label)
    whole = sum((node.total for node in nodes), start=ResourceVector()) if nodes else seen.capacity
    used = sum((node.used for node in nodes), start=ResourceVector()) if nodes else seen.used
    for wanted, total, held, unit, field in (
        (ask.size.vcores, whole.vcores, used.vcores, "cores", "allocatedVCores"),
        (ask.size.memory_mib, whole.memory_mib, used.memory_mib, "MiB", "allocatedMB"),
    ):
        free = max(0, total - held)
        if wanted <= free or total <= 0:
            continue
        noun = "core" if unit == "cores" and wanted == 1 else unit
        return f"{wanted} {noun} wanted, {free} of {total} free{_holders(summary, seen, others, field)}"
    return ""


def _holders(
    summary: ApplicationSummary, seen: SubClusterView, others: Iterable[ApplicationDocument], field: str
) -> str:
    held: list[tuple[int, str]] = []
    for number, other in enumerate(others):
        if number >= _MOST_ASKED:
            break
        is_here = other.summary.home_subcluster == seen.subcluster and not other.summary.state.is_final
        if not is_here or other.summary.application_id == summary.application_id:
            continue
        about = _read(other)
        amount = _whole(getattr(about, field)) if about is not None else 0
        if amount > 0:
            held.append((amount, f"{_short(other.summary.name)} of {other.summary.user} holds {amount}"))
    held.sort(key=lambda each: -each[0])
    more = f", {len(held) - _MOST_HOLDERS} more hold the rest" if len(held) > _MOST_HOLDERS else ""
    return f" ({', '.join(text for _, text in held[:_MOST_HOLDERS])}{more})" if held else ""


def _away(seen: SubClusterView) -> str:
    if seen.state is SubClusterState.RUNNING and not seen.failure:
        return ""
    return f", but {seen.subcluster} last reported {seen.age_s:.0f} s ago"


def _words(about: _Told) -> str:
    """The ResourceManager's own, without the time before them."""
    text = (about.diagnostics or "").strip()
    text = text.partition("] ")[2] if text.startswith("[") and "] " in text else text
    text = text.partition("Details :")[0].strip()
    return text[:_LONGEST] or "its ResourceManager does not say what is missing"


def _since(summary: ApplicationSummary, seen: SubClusterView | None, now_s: float) -> str:
    if summary.started_at_ms <= 0:
        return ""
    at_s = summary.started_at_ms / 1000 - (
        seen.clock_skew_s if seen is not None and seen.age_s != float("inf") else 0.0
    )
    try:
        at = datetime.fromtimestamp(at_s, UTC)
    except (OverflowError, OSError, ValueError):
        return ""
    return f" since {at:%H:%M:%S} UTC" if abs(now_s - at_s) < _DAY_S else f" since {at:%Y-%m-%d %H:%M:%S} UTC"


def _asks(about: _Told) -> list[_Ask]:
    told_requests = about.resourceRequests
    requests = told_requests if isinstance(told_requests, list) else [told_requests] if told_requests else []
    return [
        _Ask(
            count,
            ResourceVector(_whole(each.capability.memory), _whole(each.capability.vCores)),
            each.nodeLabelExpression or "",
        )
        for each in requests
        if each.resourceName == _ANY and each.capability is not None and (count := _whole(each.numContainers)) > 0
    ]


def _read(document: ApplicationDocument) -> _Told | None:
    try:
        return _DECODER.decode(document.raw)
    except UNREADABLE:
        return None


def _whole(value: float | str) -> int:
    try:
        return max(0, int(float(value)))
    except (ValueError, OverflowError):
        return 0


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST // 5 else f"{name[: _LONGEST // 5]}..."
