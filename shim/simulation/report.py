"""Results as documents for programs and as rows for people."""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from shim.simulation.results import RunOutcome, Summary
from shim.simulation.run import Setting

_DIGITS = 6


def document(outcome: RunOutcome, setting: Setting) -> dict[str, Any]:
    """One run as a JSON object; times in seconds, a number that does not exist is null."""
    decisions = Summary.of(outcome.decision_s)
    n_tasks = outcome.workload.n_tasks
    return {
        "policy": outcome.policy,
        "trace": outcome.workload.name,
        "workers": setting.n_workers,
        "gms": setting.n_gms,
        "lms": setting.n_lms,
        "seed": setting.seed,
        "job_delay_s": _summary(outcome.delay()),
        "short": _summary(outcome.delay(short=True)),
        "long": _summary(outcome.delay(short=False)),
        "messages_per_task": round(outcome.messages_per_task, _DIGITS),
        "inconsistencies": {kind: outcome.inconsistencies[kind] for kind in ("internal", "external")},
        "utilisation": round(outcome.utilisation, _DIGITS),
        "wall_s": _number(outcome.wall_s),
        "estimates": outcome.uses_estimates,
        "job_response_s": _summary(Summary.of(outcome.responses_s)),
        "messages": dict(sorted(outcome.messages.items())),
        "bytes_per_task": round(outcome.size_bytes.total() / n_tasks, _DIGITS),
        "repartitions": outcome.repartitions,
        "decision_s": {"p50": _number(decisions.p50), "p99": _number(decisions.p99)},
        "jobs": len(outcome.workload.jobs),
        "tasks": n_tasks,
        "tasks_left_out": outcome.workload.left_out,
    }


def _summary(summary: Summary) -> dict[str, float | None]:
    return {name: _number(getattr(summary, name)) for name in ("mean", "p50", "p95", "p99", "max")}


def _number(value: float) -> float | None:
    return round(value, _DIGITS) if math.isfinite(value) else None


COLUMNS: Sequence[tuple[str, str]] = (
    ("POLICY", "policy"),
    ("SEED", "seed"),
    ("MEAN s", "mean"),
    ("P50", "p50"),
    ("P95", "p95"),
    ("P99", "p99"),
    ("SHORT", "short"),
    ("LONG", "long"),
    ("MSG/TASK", "messages"),
    ("INTERNAL", "internal"),
    ("EXTERNAL", "external"),
    ("BORROWED", "repartitions"),
    ("UTIL %", "utilisation"),
    ("DECISION us", "decision"),
    ("WALL s", "wall"),
)
"""Headings of the table, and the key of each in a row."""


def row(outcome: RunOutcome, setting: Setting) -> dict[str, str]:
    """One run as a row of text. SHORT and LONG are mean delays; `+est` marks a policy that was told durations."""
    delay = outcome.delay()
    decisions = Summary.of(outcome.decision_s)
    return {
        "policy": outcome.policy + ("+est" if outcome.uses_estimates else ""),
        "seed": str(setting.seed),
        "mean": _text(delay.mean),
        "p50": _text(delay.p50),
        "p95": _text(delay.p95),
        "p99": _text(delay.p99),
        "short": _text(outcome.delay(short=True).mean),
        "long": _text(outcome.delay(short=False).mean),
        "messages": _text(outcome.messages_per_task),
        "internal": str(outcome.inconsistencies["internal"]),
        "external": str(outcome.inconsistencies["external"]),
        "repartitions": str(outcome.repartitions),
        "utilisation": _text(100.0 * outcome.utilisation),
        "decision": _text(1e6 * decisions.p50),
        "wall": _text(outcome.wall_s),
    }


def rows(results: Sequence[tuple[RunOutcome, Setting]]) -> list[Mapping[str, str]]:
    """A row for each run, and under the runs of a policy with several seeds one with their mean and range."""
    table: list[Mapping[str, str]] = []
    by_policy: defaultdict[str, list[tuple[RunOutcome, Setting]]] = defaultdict(list)
    for outcome, setting in results:
        by_policy[outcome.policy].append((outcome, setting))
    for runs in by_policy.values():
        table.extend(row(outcome, setting) for outcome, setting in runs)
        if len(runs) > 1:
            table.append(_over_seeds([outcome for outcome, _ in runs]))
    return table


def _over_seeds(outcomes: Sequence[RunOutcome]) -> Mapping[str, str]:
    means = [outcome.delay().mean for outcome in outcomes]
    return {
        "policy": f"{outcomes[0].policy}, {len(outcomes)} seeds",
        "mean": f"{_text(statistics.fmean(means))} ({_text(min(means))}..{_text(max(means))})",
        "p99": _text(statistics.fmean(outcome.delay().p99 for outcome in outcomes)),
        "messages": _text(statistics.fmean(outcome.messages_per_task for outcome in outcomes)),
        "utilisation": _text(100.0 * statistics.fmean(outcome.utilisation for outcome in outcomes)),
    }


def _text(value: float) -> str:
    """Three significant digits, no exponent; `-` for a number that does not exist."""
    if not math.isfinite(value):
        return "-"
    if value == 0 or abs(value) >= 100:  # noqa: PLR2004 - from 100 on three digits are all whole
        return f"{value:.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
