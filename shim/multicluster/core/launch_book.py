"""What one attempt has proposed and was promised: by key, from the proposal to the grant."""

from collections.abc import Mapping

from shim.domain.allocations import AskKey
from shim.domain.ids import SubClusterId
from shim.domain.launches import LaunchVerdict, Waiting
from shim.multicluster.core.launch_groups import Launch, LaunchGroup
from shim.multicluster.core.match_turn import Launches, MatchTurn

__all__ = ["LaunchBook"]


class LaunchBook:
    """See the module.

    Args:
        launches: Where matches are verified.
        patience: Beats without a grant after which a tentative allocation is kept no longer.

    Attributes:
        repairs: Promises that were not kept.
    """

    def __init__(self, launches: Launches, patience: int) -> None:
        self._launches = launches
        self._patience = patience
        self._groups: dict[AskKey, LaunchGroup] = {}
        self.repairs = 0

    def group(self, key: AskKey) -> LaunchGroup:
        """Everything that was proposed for asks with a key."""
        return self._groups.setdefault(key, LaunchGroup())

    # ------------------------------------------------------------------ what others tell

    def granted(self, key: AskKey, subcluster: SubClusterId) -> None:
        """A container was granted: the oldest promise there is honoured."""
        self._launches.granted()
        group = self._groups.get(key)
        if group is not None:
            group.hears(subcluster)
        found = None if group is None else next((each for each in group.at(subcluster) if each.count), None)
        if group is None or found is None:
            self._launches.took(subcluster, key)
            return
        found.count -= 1
        found.honoured += 1
        self._tell(found)
        group.tidy()

    def judge(self, verdict: LaunchVerdict) -> bool:
        """Take in the verdict on a proposal; return whether somebody waits for it."""
        for group in self._groups.values():
            for launch in group.launches:
                if launch.is_pending and (launch.subcluster, launch.number) == (verdict.subcluster, verdict.number):
                    group.take(launch, verdict)
                    group.tidy()
                    return True
        return False

    # ------------------------------------------------------------------ proposals

    def propose(self, turn: MatchTurn, name: SubClusterId, count: int, *, stands: bool = False) -> int:
        """Propose; return how many containers are promised, or may yet be.

        Args:
            turn: Whose.
            name: Where.
            count: How many.
            stands: Whether these are asked for there already.
        """
        if count <= 0:
            return 0
        number, verdict = self._launches.propose(name, turn.demand.key, count, turn.places)
        is_told = stands or verdict is not None or name == turn.home
        launch = Launch(number, name, count, count, is_pending=verdict is None, is_told=False, stands=stands)
        if verdict is not None:
            turn.group.take(launch, verdict)
        launch.is_told = is_told
        if launch.count:
            turn.group.launches.append(launch)
        if is_told and not stands:
            turn.kept[name] += launch.count
        return launch.count

    # ------------------------------------------------------------------ promises that are none any more

    def drop(self, key: AskKey) -> None:
        """Nothing more of these asks is wanted."""
        group = self._groups.pop(key, None)
        if group is not None:
            self._launches.wait(key, Waiting())
            for launch in group.launches:
                self._withdraw(launch, launch.count)

    def clear(self) -> None:
        """Nothing is wanted any more."""
        for key in tuple(self._groups):
            self.drop(key)

    def withdraw_surplus(self, group: LaunchGroup, asked: Mapping[SubClusterId, int]) -> None:
        """Launches that are not asked for any more, the newest first."""
        for name in sorted({launch.subcluster for launch in group.launches}):
            surplus = group.matched(name) - asked.get(name, 0)
            for launch in reversed(group.at(name)):
                taken = min(launch.count, max(0, surplus))
                surplus -= taken
                self._withdraw(launch, taken)
        group.tidy()

    def forget_lost(self, group: LaunchGroup) -> None:
        """What others were granted was promised in vain: it is matched again, wherever there is room."""
        for launch in group.launches:
            if launch.is_told and not launch.is_pending:
                count = min(launch.count, self._launches.lost(launch.subcluster, launch.number))
                self._break(group, launch, count)
        group.tidy()

    def take_back(self, turn: MatchTurn) -> None:
        """What was promised and not granted in time is promised no longer; it goes on waiting, or elsewhere."""
        for name in sorted(turn.starving):
            for launch in turn.group.at(name):
                if not launch.is_pending:
                    turn.group.deaf[name] = self._patience
                    self._break(turn.group, launch, launch.count)
        turn.group.tidy()

    def _break(self, group: LaunchGroup, launch: Launch, count: int) -> None:
        group.repairs += count
        self.repairs += count
        self._withdraw(launch, count)

    def _withdraw(self, launch: Launch, count: int) -> None:
        if count:
            launch.count -= count
            launch.withdrawn += count
            self._tell(launch)

    def _tell(self, launch: Launch) -> None:
        self._launches.tell(launch.subcluster, launch.number, honoured=launch.honoured, withdrawn=launch.withdrawn)
