"""What was proposed for asks and is waited for, and what people are told of it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from shim.domain.allocations import AskKey
from shim.domain.ids import SubClusterId
from shim.domain.launches import LaunchVerdict, WorkEstimate
from shim.domain.verdicts import Verdict
from shim.multicluster.core.splitter import Demand

__all__ = ["AskDecision", "Launch", "LaunchGroup", "Weighed"]

_MOST_VERDICTS = 12


@dataclass(frozen=True, slots=True)
class Weighed:
    """A sub-cluster as it was weighed for some asks.

    Attributes:
        room: Containers that could be had there by the view.
        age_s: Of that view.
    """

    subcluster: SubClusterId
    room: int
    age_s: float


@dataclass(frozen=True, slots=True)
class AskDecision:
    """What the newest split of some asks rested on, for people.

    Attributes:
        wanted: Containers that no scheduler has granted.
        asked: How many each sub-cluster is asked for.
        promised: How many of those have a tentative allocation.
        by: Which splitter decided; `reason` says why it was not the matching one.
        verdicts: The newest of these asks, each with how many were proposed.
        repairs: Promises that were not kept in time, and taken back.
        withheld: Containers that nobody is asked for, as other attempts go first; `behind` names those.
        estimate: What the order expects of the attempt, if it goes by learnt durations.
    """

    key: AskKey
    wanted: int
    asked: Mapping[SubClusterId, int]
    promised: Mapping[SubClusterId, int]
    by: str
    reason: str
    candidates: tuple[Weighed, ...]
    verdicts: tuple[tuple[int, LaunchVerdict], ...]
    repairs: int
    withheld: int = 0
    behind: tuple[str, ...] = ()
    estimate: WorkEstimate | None = None


@dataclass(slots=True)
class Launch:
    """A proposal, while its containers are waited for.

    Attributes:
        proposed: How many containers it was for.
        count: How many of them somebody still waits for.
        is_pending: Whether nobody has answered yet.
        is_told: Whether the ledger knows to ask for them.
        stands: Whether they were asked for before they were proposed: they stay so if they are rejected.
        honoured: How many were granted; `withdrawn` likewise.
    """

    number: int
    subcluster: SubClusterId
    proposed: int
    count: int
    is_pending: bool
    is_told: bool
    stands: bool = False
    honoured: int = 0
    withdrawn: int = 0


@dataclass(slots=True)
class LaunchGroup:
    """The launches of asks with one key, oldest first.

    Attributes:
        taken_back: What was asked for before its verdict, which rejected it.
        forgiven: Beats without a grant that do not count any more, as nothing is asked for there since then.
        deaf: For how many splits each sub-cluster has granted nothing though it has room.
    """

    launches: list[Launch] = field(default_factory=list)
    taken_back: Counter[SubClusterId] = field(default_factory=Counter)
    verdicts: list[tuple[int, LaunchVerdict]] = field(default_factory=list)
    repairs: int = 0
    forgiven: dict[SubClusterId, int] = field(default_factory=dict)
    deaf: Counter[SubClusterId] = field(default_factory=Counter)

    def starved(self, subcluster: SubClusterId, demand: Demand) -> int:
        """For how many beats a sub-cluster has granted nothing of what it is asked for."""
        return max(0, demand.starved.get(subcluster, 0) - self.forgiven.get(subcluster, 0))

    def hears(self, subcluster: SubClusterId) -> None:
        """A sub-cluster granted something."""
        self.forgiven.pop(subcluster, None)
        self.deaf.pop(subcluster, None)

    def at(self, subcluster: SubClusterId) -> list[Launch]:
        """Those that the ledger asks a sub-cluster for."""
        return [each for each in self.launches if each.is_told and each.subcluster == subcluster]

    def promised(self, subcluster: SubClusterId) -> int:
        """How many containers a sub-cluster is asked for with a tentative allocation."""
        return sum(each.count for each in self.at(subcluster) if not each.is_pending)

    def matched(self, subcluster: SubClusterId) -> int:
        """How many a sub-cluster is asked for that were proposed to it."""
        return sum(each.count for each in self.at(subcluster))

    def awaited(self) -> int:
        """How many containers are asked for nowhere until somebody answers."""
        return sum(each.count for each in self.launches if each.is_pending and not each.is_told)

    def take(self, launch: Launch, verdict: LaunchVerdict) -> None:
        """Take in what was said to a proposal. Silence stands in nobody's way: the ResourceManager has the word."""
        launch.is_pending = False
        self.note(launch.proposed, verdict)
        if verdict.verdict is Verdict.UNVERIFIED:
            return
        rejected = min(launch.count, launch.proposed - verdict.accepted)
        launch.count -= rejected
        if launch.is_told and not launch.stands:
            self.taken_back[launch.subcluster] += rejected

    def note(self, proposed: int, verdict: LaunchVerdict) -> None:
        """Keep a verdict for people."""
        self.verdicts.append((proposed, verdict))
        del self.verdicts[:-_MOST_VERDICTS]

    def tidy(self) -> None:
        """Forget launches that nobody waits for any more."""
        self.launches = [each for each in self.launches if each.count]
