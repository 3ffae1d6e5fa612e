"""The order of containers among the applications of each queue, as the policy has it now."""

from collections.abc import Callable

from shim.domain.allocations import AskKey
from shim.domain.ids import ApplicationId, ContainerId, SubClusterId
from shim.domain.launches import Waiting, WorkEstimate
from shim.federation.core.federation_view import FederationView
from shim.ports.attempt_calls import Attempt
from shim.ports.clock import Clock
from shim.scheduling.durations import DurationModel
from shim.scheduling.global_master.recurring_jobs import RecurringJobModels, recurring_key
from shim.scheduling.global_master.waiting_table import CONTAINER_ORDERS, Ahead, WaitingTable

__all__ = ["AttemptTurn", "ContainerOrders"]


class ContainerOrders:
    """The tables of all queues.

    Args:
        order_of: The order that a queue has now, by its full path: one of `CONTAINER_ORDERS`, or another word for none.
        clock: For how long somebody was overtaken.
        overtaken_s: Who was overtaken for longer goes first.
        view: What is known of applications, by which they are known again.
    """

    def __init__(self, order_of: Callable[[str], str], clock: Clock, overtaken_s: float, view: FederationView) -> None:
        self._order_of = order_of
        self._clock = clock
        self._overtaken_s = overtaken_s
        self._view = view
        self._everything = DurationModel()
        self._tables: dict[str, WaitingTable] = {}

    def turn_of(self, attempt: Attempt) -> "AttemptTurn":
        """An attempt's place among those of its queue."""
        if attempt.queue not in self._tables:
            self._tables[attempt.queue] = WaitingTable(
                self._overtaken_s, RecurringJobModels(self._everything), self._kin_of
            )
        return AttemptTurn(self._tables[attempt.queue], attempt, lambda: self._order_of(attempt.queue), self._clock)

    def _kin_of(self, application: ApplicationId) -> str:
        document = self._view.find(application)
        return "" if document is None else recurring_key(document.summary)


class AttemptTurn:
    """One attempt among those of its queue; where those have no order, it is told of nobody, and told nothing."""

    def __init__(self, table: WaitingTable, attempt: Attempt, order: Callable[[], str], clock: Clock) -> None:
        self._table = table
        self._id = attempt.id
        self._order = order
        self._clock = clock

    @property
    def is_ordered(self) -> bool:
        """Whether the queue has an order now."""
        return self._order() in CONTAINER_ORDERS

    def before(self, subcluster: SubClusterId) -> tuple[Ahead, ...]:
        """See `WaitingTable.before`."""
        if not self.is_ordered:
            return ()
        return self._table.before(self._id, subcluster, self._order(), self._clock.now_s())

    def wait(self, key: AskKey, waiting: Waiting) -> None:
        """See `WaitingTable.tell`."""
        if self.is_ordered:
            self._table.tell(self._id, key, waiting, self._clock.now_s())

    def granted(self) -> None:
        """See `WaitingTable.granted`."""
        self._table.granted(self._id, self._clock.now_s())

    def begun(self, container: ContainerId, since_s: float | None) -> None:
        """See `WaitingTable.begun`: whatever the order is now, so that another one finds what it needs."""
        now_s = self._clock.now_s()
        self._table.begun(self._id, container, now_s if since_s is None else min(since_s, now_s))

    def ended(self, container: ContainerId, *, is_whole: bool) -> None:
        """See `WaitingTable.ended`."""
        self._table.ended(self._id, container, self._clock.now_s(), is_whole=is_whole)

    def estimate(self) -> WorkEstimate | None:
        """See `WaitingTable.reckoning`."""
        return self._table.estimate(self._id, self._order(), self._clock.now_s()) if self.is_ordered else None

    def leave(self) -> None:
        """See `WaitingTable.leave`."""
        self._table.leave(self._id)
