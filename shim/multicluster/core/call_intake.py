"""Intake of an ApplicationMaster's calls: what it asks for, gives back and wants changed; and its undoing."""

from collections import Counter
from collections.abc import Iterable, Mapping

from shim.domain.allocations import ANY, AllocateCall, Ask, AskKey
from shim.domain.ids import ContainerId
from shim.multicluster.core.ask_group import AskGroup, rows_by_key
from shim.multicluster.core.asks import AskBook
from shim.multicluster.core.containers import ContainerBook, ContainerState
from shim.multicluster.core.conversations import Conversations
from shim.multicluster.core.master_side import MasterSide
from shim.multicluster.core.session import Session

__all__ = ["CallIntake"]


class CallIntake:
    """The ledger's books, as far as calls change them."""

    def __init__(self, asks: AskBook, containers: ContainerBook, talk: Conversations, master: MasterSide) -> None:
        self._asks = asks
        self._containers = containers
        self._talk = talk
        self._master = master
        self._before: tuple[Mapping[AskKey, AskGroup | None], frozenset[str]] | None = None

    def take(self, call: AllocateCall) -> None:
        """Book a new call."""
        talk, home = self._talk, self._talk.home
        self._master.call = call
        self._before = self._asks.snapshot(rows_by_key(call.asks)), talk.blacklist
        self._asks.tell(call.asks, self._containers.on_way(), adds=home.adds)
        self._asks.count_call()
        self._take_back(call.asks)
        talk.is_told = True
        talk.blacklist = (talk.blacklist | set(call.blacklist_additions)) - set(call.blacklist_removals)
        for container in call.releases:
            self._owner(container).releases[container] = None
            self._containers.give_back(container, is_used=not self._master.was_just_given(container))
        for update in call.updates:
            self._owner(update.container).updates.append(update)

    def settle(self) -> None:
        """The call has its answer: it is not undone any more."""
        self._before = None

    def undo(self) -> None:
        """The home refused the call whole: nothing of it is said again, or every later one would be refused."""
        call, self._master.call = self._master.call, None
        if self._before is not None:
            before, self._talk.blacklist = self._before
            self._asks.restore(before)
            self._before = None
        for container in call.releases if call is not None else ():
            if self._containers.find(container) is None:
                self._talk.home.releases.pop(container, None)

    def _take_back(self, asks: Iterable[Ask]) -> None:
        """Release what the ApplicationMaster wanted and has not been given, if it wants less than that by now."""
        waiting, home = self._containers.on_way(), self._talk.home
        said = [ask for ask in asks if ask.place == ANY and not home.adds_up(ask.key)]
        surplus = Counter({ask.key: waiting[ask.key] - ask.count for ask in said})
        for container in reversed(self._containers.in_state(ContainerState.QUEUED)):
            if container.key is not None and surplus[container.key] > 0:
                surplus[container.key] -= 1
                container.become_surplus()
                self._talk.of(container.subcluster).releases[container.id] = None

    def _owner(self, container: ContainerId) -> Session:
        """Return the session whose scheduler gave a container: the home's, if nobody knows."""
        known = self._containers.find(container)
        return self._talk.home if known is None else self._talk.of(known.subcluster)
