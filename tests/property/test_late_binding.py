"""Late binding: two schedulers are asked for the same containers, and the first that grants binds.

The ledger, the schedulers and the ApplicationMaster are those of `test_relay_ledger`: whatever is lost, late or
restarted, the ApplicationMaster gets no more than it wants, what is left over is released, and each of the schedulers
that were drawn believes in the end in exactly what is wanted.
"""

from collections import Counter

from hypothesis import settings

from shim.multicluster.core import CapacitySplitter
from shim.multicluster.core.splitter import may_have
from tests.property.test_relay_ledger import HOME, NAMES, OTHERS, Relay
from tests.support.examples import examples

DRAWN = (HOME, OTHERS[0])


class AllAtOnce(CapacitySplitter):
    """Asks both for everything, unless the queue may not have so many, or one of them refuses."""

    def __init__(self):
        super().__init__(move_after_beats=2)
        self._late = set()

    def split(self, demand, capacities):
        drawn = [room.subcluster for room in capacities if room.subcluster in DRAWN and may_have(room, demand)]
        if demand.is_limited or len(drawn) < len(DRAWN):
            self._late.discard(demand.key)
            return super().split(demand, [room for room in capacities if room.subcluster in DRAWN])
        self._late.add(demand.key)
        return dict.fromkeys(drawn, demand.wanted)

    def has_spares(self, key):
        return key in self._late


class LateBindingRelay(Relay):
    def a_splitter(self):
        return AllAtOnce()

    def heddle_is_killed(self):
        """A restarted scheduler may tell once more of the end of what was granted second, and so was never given."""
        super().heddle_is_killed()
        self.master.may_hear_of_strangers = True

    def most_pending(self, key):
        return max(scheduler.pending[key] for scheduler in self.schedulers.values())

    def what_is_asked_for_is_what_is_wanted(self):
        wanted = +self.master.wanted
        asked = {name: +self.schedulers[name].pending for name in NAMES}
        for name in NAMES:
            assert asked[name] == (wanted if name in DRAWN else Counter())


TestLateBinding = LateBindingRelay.TestCase
TestLateBinding.settings = settings(max_examples=examples(120), stateful_step_count=15, deadline=None)
