"""A splitter that carries plans out, together with its part in the queue's cycles: as an attempt and its ledger are."""

from collections import deque
from dataclasses import replace

from shim.multicluster.core.events import PlanEffect
from shim.multicluster.core.planned import PlannedSplitter


class DrivenSplitter:
    """Has the methods of `AskSplitter`; whatever it wants done is done before a method returns."""

    def __init__(self, cycles, attempt, queue_at, settings):
        self.splitter = PlannedSplitter(settings)
        self.plans = cycles.enter(attempt, queue_at, self.tell)
        self.last = None

    def split(self, demand, rooms):
        self.last = (demand, rooms)
        self.plans.heard()
        self.splitter.split(demand, rooms)
        self._carry_out()
        asked = self.splitter.split(demand, rooms)
        self._carry_out()
        return asked

    def tell(self, event):
        """A plan or a verdict: the asks are split anew, as the ledger does it."""
        self.splitter.take(event)
        if self.last is not None and self.last[0].wanted:
            self.splitter.split(*self.last)
        self._carry_out()

    def granted(self, key, subcluster, host=""):
        self.splitter.granted(key, subcluster, host)
        demand, rooms = self.last
        self.last = (replace(demand, wanted=demand.wanted - 1), rooms)
        self._carry_out()

    def drop(self, key):
        self.last = None
        self.splitter.drop(key)
        self._carry_out()

    def clear(self):
        self.last = None
        self.splitter.clear()
        self._carry_out()

    @property
    def repairs(self):
        return self.splitter.repairs

    def __getattr__(self, name):
        def call(*args, **kwargs):
            told = getattr(self.splitter, name)(*args, **kwargs)
            self._carry_out()
            return told

        return call

    @property
    def decisions(self):
        return self.splitter.decisions(self.plans.latest)

    def _carry_out(self):
        due = deque(self.splitter.drain())
        while due:
            effect = due.popleft()
            assert isinstance(effect, PlanEffect)
            for event in self.plans.carry_out(effect):
                self.splitter.take(event)
                due.extend(self.splitter.drain())
