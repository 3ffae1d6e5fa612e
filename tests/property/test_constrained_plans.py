"""Asks with a placement constraint that the cycles of a queue plan, whatever is lost, rejected or restarted.

The world is that of `test_constrained_asks.py`; plans and verdicts are those of `test_planned_asks.py`: what a plan
names that cannot be asked is asked of nobody, and nothing is asked for twice.
"""

from collections.abc import Mapping
from types import MappingProxyType

from hypothesis import settings
from hypothesis.stateful import invariant

from shim.domain.allocations import ConstraintHandling
from shim.domain.ids import SubClusterId
from tests.property.test_constrained_asks import ADDS, AT_HOME, NONE, PLACED, TOTALS, AddingRelay, ConstrainedRelay
from tests.property.test_planned_asks import PlannedRelay
from tests.property.test_relay_ledger import HOME, KEYS, NAMES, OTHERS
from tests.support.examples import examples

WEST, NORTH = OTHERS


class PlannedConstrainedRelay(PlannedRelay, ConstrainedRelay):
    """Every scheduler takes totals."""

    keys = (*KEYS, *PLACED)

    @invariant()
    def what_only_the_home_can_judge_is_planned_for_the_home_alone(self):
        for row in getattr(self, "rows", {}).values():
            assert row.key != AT_HOME or row.may_use <= {HOME}
            assert row.key not in PLACED or not any(self.handlings[name] is NONE for name in row.may_use - {HOME})


class PlannedAddingRelay(PlannedConstrainedRelay, AddingRelay):
    """Every scheduler adds up."""

    handlings: Mapping[SubClusterId, ConstraintHandling] = MappingProxyType(dict.fromkeys(NAMES, ADDS))


class PlannedMixedRelay(PlannedConstrainedRelay):
    """The home takes totals, one other adds up, and one refuses such calls."""

    handlings: Mapping[SubClusterId, ConstraintHandling] = MappingProxyType({HOME: TOTALS, WEST: ADDS, NORTH: NONE})


TestPlannedConstrained = PlannedConstrainedRelay.TestCase
TestPlannedAdding = PlannedAddingRelay.TestCase
TestPlannedMixed = PlannedMixedRelay.TestCase
for case in (TestPlannedConstrained, TestPlannedAdding, TestPlannedMixed):
    case.settings = settings(max_examples=examples(40), stateful_step_count=15, deadline=None)
