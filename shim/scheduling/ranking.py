"""Orders of what a cycle left waiting: what a policy that places by itself would start next if places came free."""

from collections.abc import Iterator, Sequence

from shim.scheduling.plan import Plan
from shim.scheduling.snapshot import RequestColumn, RequestTime, Snapshot


def waiting_after(snapshot: Snapshot, turns: Sequence[int], plan: Plan) -> Iterator[tuple[int, int]]:
    """Requests in their turn, each with how many of its containers a plan left waiting; without those it holds."""
    granted, held = plan.granted(), {hold.request for hold in plan.holds}
    counts = snapshot.requests.numbers[RequestColumn.COUNT]
    for row in turns:
        left = int(counts[row]) - granted.get(row, 0)
        if left > 0 and row not in held:
            yield row, left


def in_turn(
    snapshot: Snapshot,
    memory: dict[str, object],  # noqa: ARG001 - the signature of ranks
    turns: Sequence[int],
    plan: Plan,
) -> Iterator[tuple[int, int]]:
    return waiting_after(snapshot, turns, plan)


def longest_waiting(
    snapshot: Snapshot,
    memory: dict[str, object],
    turns: Sequence[int],
    plan: Plan,
) -> list[tuple[int, int]]:
    """List requests by since when they wait."""
    waited = snapshot.requests.times[RequestTime.SINCE_S]
    return sorted(
        in_turn(snapshot, memory, turns, plan),
        key=lambda each: float(waited[each[0]]),
    )
