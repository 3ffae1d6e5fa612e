"""Altruistic jobs from look to look, and how they are told to people with their debits and credits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shim.domain.credits import NO_CREDITS
from shim.domain.ids import ContainerId
from shim.domain.job_graphs import Stage, StagesOfJob
from shim.ports.queue_stores import CreditRow
from shim.queues.core.job_watch import StageSeen
from shim.queues.core.yielding import Yield, YieldedStage

__all__ = ["AltruismAccount", "shown_account"]

_MS = 1000


@dataclass(slots=True)
class AltruismAccount:
    """State of a job.

    Attributes:
        latest: What it puts off now.
        has_given: Whether anything of its share was ever free for others.
        is_shadow: Whether it is only told so.
        stages: Its graph; None if that is not known.
        seen: What is known of each stage.
    """

    queue: str
    user: str
    latest: Yield = field(default_factory=Yield)
    is_shadow: bool = False
    has_given: bool = False
    stages: StagesOfJob | None = None
    seen: tuple[StageSeen, ...] = ()


def shown_account(
    account: AltruismAccount, parts: Sequence[CreditRow], lent: Mapping[ContainerId, float]
) -> dict[str, Any]:
    """Give an account as a plain JSON object.

    Args:
        account: Of a job.
        parts: What it gave and received.
        lent: Those of its containers that it was lent, and when.
    """
    latest, stages = account.latest, account.stages
    credits_ = sum((part.credits for part in parts), start=NO_CREDITS)
    return {
        "queue": account.queue,
        "shadow": account.is_shadow,
        "unknown": latest.reason,
        "graph": "" if stages is None else stages.graph.name,
        "graph_from": "" if stages is None else stages.source,
        "ends_by_ms": None if latest.ends_by_s is None else int(latest.ends_by_s * _MS),
        "share": round(latest.share, 4),
        "given_s": round(credits_.given_s, 1),
        "received_s": round(credits_.received_s, 1),
        "lent_containers": len(lent),
        "lent_since_ms": int(min(lent.values()) * _MS) if lent else None,
        "puts_off": [_shown_yield(stage) for stage in latest.stages],
        "stages": [] if stages is None else _shown_stages(stages, account.seen),
    }


def _shown_yield(stage: YieldedStage) -> dict[str, Any]:
    return {
        "stage": stage.name,
        "containers": stage.count,
        "next_at_ms": None if stage.next_start_s == float("inf") else int(stage.next_start_s * _MS),
        "waits_for": list(stage.waits_for),
    }


def _shown_stages(stages: StagesOfJob, seen: tuple[StageSeen, ...]) -> list[dict[str, Any]]:
    graph = stages.graph.stages
    return [_shown_stage(stage, graph, each) for stage, each in zip(graph, seen, strict=True)]


def _shown_stage(stage: Stage, graph: tuple[Stage, ...], seen: StageSeen) -> dict[str, Any]:
    return {
        "stage": stage.name,
        "tasks": seen.tasks,
        "memory_mib": seen.size.memory_mib,
        "vcores": seen.size.vcores,
        "waits_for": [graph[parent].name for parent in stage.waits_for],
        "waiting": seen.waiting,
        "running": len(seen.running_since_s),
        "ended": seen.ended,
        "task_s": None if seen.seconds is None else round(seen.seconds, 1),
        "sure": _sureness(seen),
    }


def _sureness(seen: StageSeen) -> str:
    """Say how much of a stage is known."""
    counted = "tasks counted by its ApplicationMaster; " if seen.is_counted else ""
    times = counted + f"times of {seen.times_from} ({seen.n_times})" if seen.times_from else "no times as yet"
    return times if seen.waiting is not None else f"{times}; tasks left not known"
