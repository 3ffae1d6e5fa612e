"""Epochs of application ids: each process that issues ids does so under a cluster time stamp of its own.

A ResourceManager takes the time of its start as the cluster time stamp of its ids, so ids of two lives never meet,
whatever the second life remembers. Heddle does the same. A store that was restored from an old copy has forgotten
which sequence numbers were issued; it cannot forget the time of day.
"""

from collections.abc import Collection

from shim.domain.ids import ApplicationId

__all__ = ["sequence_above", "timestamp_of_epoch"]

_LARGEST_JUMP = 1_000_000  # a client may submit under any number; it must not use up the int32 of the sequence


def timestamp_of_epoch(now_ms: int, *, known: Collection[int], listed: Collection[ApplicationId]) -> int:
    """The cluster time stamp of a new epoch.

    Args:
        now_ms: Milliseconds since the epoch.
        known: Time stamps of every earlier epoch that the store remembers.
        listed: Applications that ResourceManagers know.

    Returns:
        A time stamp later than every known one, under which no listed application was issued.
    """
    taken = {application_id.cluster_timestamp for application_id in listed}
    stamp = max(now_ms, max(known, default=0) + 1)
    while stamp in taken:
        stamp += 1
    return stamp


def sequence_above(sequence: int, *, known: Collection[int], listed: Collection[ApplicationId]) -> int:
    """The first free sequence number: at least `sequence`, and above every listed one of a known epoch.

    Numbers more than a million ahead are ignored: a client made them up.
    """
    stamps = frozenset(known)
    ours = (each.sequence for each in listed if each.cluster_timestamp in stamps)
    return max([sequence, *(number + 1 for number in ours if number < sequence + _LARGEST_JUMP)])
