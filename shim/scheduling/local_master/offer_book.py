"""Room that a Local Master keeps for one Global Master for a short time, on the nodes where it is."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shim.domain.capacity_bids import CapacityNotice, CapacityOffer, OfferCounts, UnreportedContainers
from shim.domain.launches import ContainerKind
from shim.scheduling.local_master.node_capacity import NodeCapacity, Places

_MOST_TOLD = 256


@dataclass(slots=True)
class PersistentOffer:
    """Containers of one kind for which room is kept.

    Attributes:
        to: For whom, as a proposal's sender is named.
        until_s: When that is over.
    """

    to: str
    kind: ContainerKind
    until_s: float
    places: Places = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of containers; none is kept without a place."""
        return sum(self.places.values())


class OfferBook:
    """The offers that stand. It never reads a clock: times are told, in seconds by one clock.

    Args:
        nodes: What they are subtracted from.
        changed: Called whenever there may be more room for others, or less.

    Attributes:
        standing: In the order in which they were made.
    """

    def __init__(self, nodes: NodeCapacity, changed: Callable[[], None]) -> None:
        self._nodes = nodes
        self._changed = changed
        self.standing: list[PersistentOffer] = []
        self._counts: dict[str, OfferCounts] = {}

    def make(self, to: str, kind: ContainerKind, places: Places, until_s: float) -> None:
        """Keep room on these nodes, which have it."""
        self._nodes.give_back(kind, {row: -count for row, count in places.items()})
        self._changed()
        made = sum(places.values())
        for each in self.standing:
            if (each.to, each.kind, each.until_s) == (to, kind, until_s):
                each.places = dict(Counter(each.places) + Counter(places))
                break
        else:
            self.standing.append(PersistentOffer(to, kind, until_s, dict(places)))
        self._count(to, made=made)

    def left_to(self, to: str) -> Counter[ContainerKind]:
        """Containers that are still offered to somebody."""
        found = Counter[ContainerKind]()
        for each in self.standing:
            if each.to == to:
                found[each.kind] += each.count
        return found

    @property
    def counts(self) -> Mapping[str, OfferCounts]:
        """Fate of all offers so far, by whose they were."""
        return self._counts

    def forget(self, to: str) -> None:
        """Offer somebody nothing who is no more, and keep no count of it."""
        self.trim(to, {})
        self._counts.pop(to, None)

    def to_others(self, than: str) -> int:
        """Number of containers that are offered to anybody else."""
        return sum(each.count for each in self.standing if each.to != than)

    # ------------------------------------------------------------------ room for a moment

    def lift(self, to: str) -> Sequence[PersistentOffer]:
        """Take the offers to somebody away, as he may use their room; `put_back` has what is left of them."""
        lifted = [each for each in self.standing if each.to == to]
        self._remove(lifted)
        return lifted

    def put_back(self, lifted: Iterable[PersistentOffer], kind: ContainerKind, used: int) -> None:
        """Keep on offering what was not used; what has no room any more is offered no more.

        Args:
            lifted: As `lift` gave them.
            kind: Of the containers that were promised instead.
            used: How many of these.
        """
        for each in lifted:
            taken = min(used, each.count) if each.kind == kind else 0
            used -= taken
            self._count(each.to, taken=taken)
            self._lay(each, each.count - taken)

    def has_room_besides(self, kind: ContainerKind, count: int) -> bool:
        """Return whether there would be room for so many containers of a kind if nothing were offered."""
        for each in self.standing:
            self._nodes.give_back(each.kind, each.places)
        has_room = self._nodes.count(kind) >= count
        for each in self.standing:
            self._nodes.give_back(each.kind, {row: -held for row, held in each.places.items()})
        return has_room

    # ------------------------------------------------------------------ ends

    def lay_again(self) -> None:
        """Lay the offers on nodes of which nothing is counted on but promises; what has no room ends."""
        offers, self.standing = self.standing, []
        for each in offers:
            self._lay(each, each.count)

    def trim(self, to: str, wanted: Mapping[ContainerKind, int]) -> None:
        """Offer no more than somebody wants now."""
        left = dict(wanted)
        for each in self.lift(to):
            keep = min(each.count, left.get(each.kind, 0))
            left[each.kind] = left.get(each.kind, 0) - keep
            self._count(to, returned=each.count - keep)
            self._lay(each, keep)

    def expire(self, at_s: float) -> None:
        """End the offers whose time is over."""
        over = [each for each in self.standing if each.until_s <= at_s]
        self._remove(over)
        for each in over:
            self._count(each.to, expired=each.count)

    def believe(self, told: Iterable[CapacityOffer], at_s: float) -> None:
        """Believe what a Local Master tells: these stand, and no others."""
        self._remove(list(self.standing))
        for each in told:
            places = self._nodes.take(each.kind, each.count)
            if places:
                self.standing.append(PersistentOffer(each.to, each.kind, at_s + each.for_s, places))
        self._changed()

    def told(self, at_s: float, promised: Sequence[UnreportedContainers] = ()) -> CapacityNotice:
        """Tell of the offers that stand, and what became of all so far; of very many offers the oldest.

        Args:
            at_s: Now.
            promised: What is spoken for by promises.
        """
        offers = (
            CapacityOffer(each.to, each.kind, each.count, each.until_s - at_s) for each in self.standing[:_MOST_TOLD]
        )
        return CapacityNotice(tuple(promised), tuple(offers), dict(self._counts))

    # ------------------------------------------------------------------ books

    def _lay(self, offer: PersistentOffer, count: int) -> None:
        """Keep so many of an offer's containers, as far as there is room for them."""
        offer.places = self._nodes.take(offer.kind, count) if count > 0 else {}
        self._count(offer.to, returned=max(0, count) - offer.count)
        if offer.places:
            self.standing.append(offer)
            self._changed()

    def _remove(self, offers: Sequence[PersistentOffer]) -> None:
        if not offers:
            return
        self._changed()
        for each in offers:
            self._nodes.give_back(each.kind, each.places)
        gone = set(map(id, offers))
        self.standing = [each for each in self.standing if id(each) not in gone]

    def _count(self, to: str, *, made: int = 0, taken: int = 0, returned: int = 0, expired: int = 0) -> None:
        known = self._counts.get(to, OfferCounts())
        self._counts[to] = replace(
            known,
            made=known.made + made,
            taken=known.taken + taken,
            returned=known.returned + returned,
            expired=known.expired + expired,
        )
