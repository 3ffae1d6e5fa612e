"""Promises to others as a rejection tells them, so that a Global Master believes what its Local Master has."""

from collections import Counter
from collections.abc import Iterable
from itertools import groupby, islice

from shim.domain.capacity_bids import UnreportedContainers
from shim.domain.launches import ContainerKind, TentativelyAllocated

__all__ = ["promises_in_order", "told_in_order"]

_MOST = 256


def told_in_order(promises: Iterable[tuple[ContainerKind, int]]) -> tuple[TentativelyAllocated, ...]:
    """Tell of promises in their order: more may be promised than there is room for, and the older have theirs first.

    Of very many the counts of each kind are told together, and of more than 256 kinds the first.

    Args:
        promises: Kind and count of each, the oldest first.
    """
    grouped = groupby(promises, key=lambda each: each[0])
    runs = [(kind, sum(count for _, count in run)) for kind, run in grouped]
    if len(runs) > _MOST:
        counts = Counter[ContainerKind]()
        for kind, count in runs:
            counts[kind] += count
        runs = list(counts.items())
    return tuple(TentativelyAllocated(kind, count) for kind, count in runs[:_MOST])


def promises_in_order(promises: Iterable[tuple[str, ContainerKind, int]]) -> tuple[UnreportedContainers, ...]:
    """Tell of promises in their order, with whose they are; those of one holder and kind in a row together.

    Args:
        promises: Holder, kind and count of each, the oldest first.
    """
    grouped = groupby(promises, key=lambda each: each[:2])
    runs = (UnreportedContainers(to, kind, sum(each[2] for each in run)) for (to, kind), run in grouped)
    return tuple(islice(runs, _MOST))
