"""Use of an application, sub-cluster by sub-cluster, and the sum of it.

Each ResourceManager counts the containers that it granted itself, and no other. So the parts of an application that
spans may be added: nothing is in two of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from shim.domain.ids import SubClusterId

Amounts = Mapping[str, int]
"""Whole numbers by name; the names are those of the tables in `shim.protocol.rest.usage`."""
Life = tuple[int, int]
"""Start of a ResourceManager's process, and of the application there: counters may begin anew with either."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Use of an application as one ResourceManager reports it.

    Attributes:
        spent: Counters, that grow as long as a ResourceManager lives.
        holds: What the application has now; without those that the ResourceManager does not tell.
    """

    spent: Amounts = field(default_factory=dict)
    holds: Amounts = field(default_factory=dict)


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class PartUsage:
    """Use of one sub-cluster by an application, as far as it is known.

    Attributes:
        seen: The largest counters of this life.
        lost: What earlier lives had counted, and the ResourceManager has forgotten.
        as_of_s: When that was; seconds since the epoch.
    """

    life: Life
    seen: Amounts = field(default_factory=dict)
    lost: Amounts = field(default_factory=dict)
    holds: Amounts = field(default_factory=dict)
    as_of_s: float = 0.0

    @property
    def spent(self) -> Amounts:
        """Amounts used there in all lives of the ResourceManager."""
        return _sum(self.seen, self.lost)

    def after(self, told: Usage, life: Life, as_of_s: float) -> "PartUsage":
        """The same with what was told since; an answer that is older than the last changes nothing.

        A counter that falls within a life was rounded another way, and is taken as it was. One that falls with a new
        life lost what had ended by then: that is kept beside it, so that the sum never falls.
        """
        if as_of_s < self.as_of_s:
            return self
        if life == self.life:
            seen, lost = _largest(self.seen, told.spent), self.lost
        else:
            forgotten = {name: max(0, amount - told.spent.get(name, 0)) for name, amount in self.seen.items()}
            seen, lost = told.spent, _sum(self.lost, forgotten)
        return replace(self, life=life, seen=seen, lost=lost, holds=told.holds, as_of_s=as_of_s)


@dataclass(frozen=True, slots=True)
class Account:
    """The parts of one application.

    Attributes:
        home: Where its ApplicationMaster runs; None while no home has told of it.
        parts: By sub-cluster, the home's included.
    """

    home: SubClusterId | None = None
    parts: Mapping[SubClusterId, PartUsage] = field(default_factory=dict)

    def whole(self, told: Usage) -> Usage:
        """The home's present report, with the last one of every other sub-cluster added.

        Args:
            told: By the home; holdings that it does not tell are told by nobody, as the application has ended then.
        """
        own = None if self.home is None else self.parts.get(self.home)
        others = [part for name, part in self.parts.items() if name != self.home]
        spent = told.spent if own is None else _sum(_largest(told.spent, own.seen), own.lost)
        for part in others:
            spent = _sum(spent, part.spent)
        holds = {name: amount + sum(part.holds.get(name, 0) for part in others) for name, amount in told.holds.items()}
        return Usage(spent, holds)


def _sum(one: Amounts, other: Amounts) -> Amounts:
    return {
        name: one.get(name, 0) + other.get(name, 0) for name in (*one, *(each for each in other if each not in one))
    }


def _largest(one: Amounts, other: Amounts) -> Amounts:
    names = (*one, *(each for each in other if each not in one))
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in names}
