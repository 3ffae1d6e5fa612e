"""alsched: soft constraints as utilities; what is free now is divided so that all together have most of it.

A request is worth its budget at the places that it names, and that divided by its slowdown elsewhere. So scarce places
go to those who would lose most without them; nobody waits while any place will do. An ask whose locality is not relaxed
has a hard constraint, one that names no place has none. It is TetriSched without time: the same expressions by the same
wizard, and the same program over one quantum.

Source: Tumanov et al., SoCC 2012.
"""

from dataclasses import dataclass

from shim.scheduling.parameters import parameter
from shim.scheduling.policies.tetrisched import SpaceTime, SpaceTimeRules
from shim.scheduling.policy import CellChoice, Fact, Ordering, Placement, Policy, first_come


@dataclass(frozen=True, slots=True)
class UtilityRules:
    """What is worth how much."""

    slowdown: float = parameter(
        1.5,
        least=1.0,
        most=1000.0,
        meaning="How much less a place that an ask does not name is worth, where no tag `heddle-slowdown` says it.",
    )
    solves: bool = parameter(
        default=True,
        meaning="Whether the utility of all together is made as large as can be; else requests choose one by one.",
    )
    most_requests: int = parameter(
        40,
        unit="requests",
        least=1,
        most=10_000,
        meaning="So many of the first are weighed together; the others have what is left.",
    )


def alsched(rules: UtilityRules) -> Policy:
    both = SpaceTime(
        SpaceTimeRules(quanta=1, most_requests=rules.most_requests, slowdown=rules.slowdown),
        has_time=False,
        solves=rules.solves,
    )
    return Policy(
        "alsched",
        Ordering(first_come),
        Placement(CellChoice.BY_ROOM, kernel=both, rank=both.rank),
        summary="scarce places go to those who would lose most without them; the others start elsewhere at once",
        source="Tumanov et al., SoCC 2012",
        needs=frozenset({Fact.LOCALITY}),
        uses=frozenset({Fact.DEADLINES}),
        solver=both,
        solves_gangs=True,
        plans_in_cycles=rules.solves,
        rules=rules,
        remake=alsched,
    )


ALSCHED = alsched(UtilityRules())
