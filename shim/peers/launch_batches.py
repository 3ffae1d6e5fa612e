"""Launches in frames that a Local Master takes: an ApplicationMaster may name as many places as it likes."""

from collections.abc import Iterator, Sequence

from shim.domain.launches import LaunchNews, LaunchProposal
from shim.protocol.peers import MAX_LAUNCHES

__all__ = ["batches", "fits"]

_MOST_PLACE_BYTES = 512 * 1024
"""Most that the places of the proposals in one frame take: a Local Master ends the link at a frame of 4 MiB."""
_BYTES_A_CHARACTER = 4  # at most, as UTF-8


def _size_of(proposal: LaunchProposal) -> int:
    """Most bytes that the places of a proposal take."""
    return sum(_BYTES_A_CHARACTER * len(place) + 3 for place in proposal.kind.places)


def fits(proposal: LaunchProposal) -> bool:
    """True if a frame has room for a proposal."""
    return _size_of(proposal) <= _MOST_PLACE_BYTES


def batches(
    proposals: Sequence[LaunchProposal], news: Sequence[LaunchNews]
) -> Iterator[tuple[Sequence[LaunchProposal], Sequence[LaunchNews]]]:
    """Contents of one frame each, in their order, news first; proposals that fit in none are left out."""
    while len(news) > MAX_LAUNCHES:
        yield (), news[:MAX_LAUNCHES]
        news = news[MAX_LAUNCHES:]
    some: list[LaunchProposal] = []
    size = 0
    for each in proposals:
        own = _size_of(each)
        if own > _MOST_PLACE_BYTES:
            continue
        if some and (len(some) == MAX_LAUNCHES or size + own > _MOST_PLACE_BYTES):
            yield some, news
            some, size, news = [], 0, ()
        some.append(each)
        size += own
    if some or news:
        yield some, news
