"""Documents of matched containers of spanning applications, for Heddle's own web services."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from heddle import models
from shim.domain.allocations import NEAR_DATA
from shim.domain.launches import ConflictKind, Verdict, WorkEstimate
from shim.multicluster.core.splitter import AskDecision
from shim.multicluster.splitters import MatchingStatus

_MOST_NAMED = 3


def shown_matching(status: MatchingStatus) -> models.AsksStatus:
    """The part `asks` of `GET /heddle/v1/masters`."""
    said = Counter[Verdict]()
    for (_, verdict), count in status.verdicts.items():
        said[verdict] += count
    conflicts = Counter[ConflictKind]()
    for (_, kind), count in status.conflicts.items():
        conflicts[kind] += count
    return models.AsksStatus(
        verdicts={verdict.value: said[verdict] for verdict in Verdict},
        inconsistencies=status.inconsistencies,
        conflicts={kind.value: conflicts[kind] for kind in ConflictKind},
        repairs=status.repairs,
        fallbacks=status.fallbacks,
        promised=[models.Promised(name, count) for name, count in status.promised.items()],
        solves=models.Solves(status.solving, **status.solves),
    )


def shown_asks(decisions: Iterable[AskDecision]) -> list[dict[str, Any]]:
    """The part `asks` of an application's decision record, by priority: the newest decision on each."""
    return [_shown(each) for each in sorted(decisions, key=lambda each: each.key.priority)]


def _shown(decision: AskDecision) -> dict[str, Any]:
    key = decision.key
    return {
        "priority": key.priority,
        "request": key.allocation_request_id,
        "memory_mib": key.resource.memory_mib,
        "vcores": key.resource.vcores,
        "label": key.label,
        "wanted": decision.wanted,
        "by": decision.by,
        "rule": decision.rule,
        "reason": _reason(decision),
        "repairs": decision.repairs,
        "withheld": decision.withheld,
        "behind": list(decision.behind),
        "expects": None if decision.estimate is None else asdict(decision.estimate),
        "candidates": [
            {
                "cluster": each.subcluster,
                "room": each.room,
                "age_s": round(each.age_s, 3),
                "asked": decision.asked.get(each.subcluster, 0),
                "promised": decision.promised.get(each.subcluster, 0),
            }
            for each in decision.candidates
        ],
        "verdicts": [
            {
                "cluster": each.subcluster,
                "proposed": proposed,
                "accepted": each.accepted,
                "verdict": each.verdict.value,
                "age_s": None if each.age_s is None else round(each.age_s, 3),
                "reason": each.reason,
                "conflict": None if each.conflict is None else each.conflict.value,
            }
            for proposed, each in decision.verdicts
        ],
    }


def _reason(decision: AskDecision) -> str:
    return "; ".join(filter(None, (decision.gang, _why_it_waits(decision))))


def _why_it_waits(decision: AskDecision) -> str:
    if decision.reason and sum(decision.asked.values()) > decision.wanted:
        return f"by {decision.rule}: {decision.reason}"
    if decision.reason and decision.rule and decision.withheld:
        return f"{decision.withheld} wait in Heddle by {decision.rule}: {decision.reason}"
    if decision.reason and decision.rule:  # all are asked for: of what once held them back nothing counts but where
        return f"by {decision.rule}: {decision.reason}" if decision.reason.startswith(NEAR_DATA) else ""
    return decision.reason or _who_is_first(decision)


def _who_is_first(decision: AskDecision) -> str:
    if not decision.withheld or (decision.gang and not decision.behind):
        return ""
    more = len(decision.behind) - _MOST_NAMED
    names = [*decision.behind[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    why = f"as others of the queue go first: {', '.join(names)}" if names else "for the next plan of the queue"
    told = f"{decision.withheld} wait in Heddle, {why}"
    return told if decision.estimate is None else f"{told}; {_expectation(decision.estimate)}"


def _expectation(estimate: WorkEstimate) -> str:
    return (
        f"it is expected to need {estimate.work_s:.1f} s of containers yet, {estimate.container_s:.1f} s each by "
        f"{estimate.ended} that have ended, {estimate.running} that run and {estimate.others} applications, "
        f"{estimate.alike} of them like it"
    )
