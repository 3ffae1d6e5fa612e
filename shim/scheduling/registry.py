"""Every scheduling policy by its name, with the facts that it needs: which runs on which workload in which world."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from shim.errors import BadRequestError
from shim.scheduling.packing import TETRIS
from shim.scheduling.parameters import named_values
from shim.scheduling.policies.carbyne import CARBYNE
from shim.scheduling.policies.delay import DELAY
from shim.scheduling.policies.graphene import GRAPHENE
from shim.scheduling.policies.heddle import HEDDLE, HEDDLE_ESTIMATES
from shim.scheduling.policies.jockey import JOCKEY
from shim.scheduling.policies.medea import MEDEA
from shim.scheduling.policies.megha import MEGHA
from shim.scheduling.policies.orders import DRF, FAIR, FEWEST_TASKS, FIFO, LEARNT_WORK
from shim.scheduling.policies.quincy import QUINCY
from shim.scheduling.policies.tetrisched import ALSCHED, TETRISCHED
from shim.scheduling.policy import Fact, Policy, World, refusal


@dataclass(frozen=True, slots=True)
class PolicyKind:
    """A line of the registry.

    Attributes:
        policy: What `run_cycle` takes; None for a system that has no cycle, as it never looks at a whole snapshot.
    """

    name: str
    summary: str
    source: str
    needs: frozenset[Fact]
    policy: Policy | None = None

    def refusal(self, world: World, known: frozenset[Fact] = frozenset()) -> str:
        """Reason why it cannot run in a world on a workload that tells these facts; empty if it can."""
        return refusal(self.name, self.needs, world, known)


def _kind(policy: Policy) -> PolicyKind:
    return PolicyKind(policy.name, policy.summary, policy.source, policy.needs, policy)


_WITHOUT_A_CYCLE = (
    PolicyKind(
        "sparrow",
        "batch sampling, late binding, proactive cancellation",
        "Ousterhout et al., SOSP 2013",
        frozenset({Fact.DIRECT_LAUNCH, Fact.NODE_QUEUES}),
    ),
    PolicyKind(
        "omega",
        "schedulers in parallel on shared state, conflicts found at commit",
        "Schwarzkopf et al., EuroSys 2013",
        frozenset({Fact.DIRECT_LAUNCH, Fact.SHARED_STATE}),
    ),
)

KINDS: Mapping[str, PolicyKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            *map(
                _kind,
                (
                    FIFO,
                    FAIR,
                    FEWEST_TASKS,
                    LEARNT_WORK,
                    DRF,
                    MEGHA,
                    HEDDLE,
                    HEDDLE_ESTIMATES,
                    DELAY,
                    TETRIS,
                    GRAPHENE,
                    CARBYNE,
                    QUINCY,
                    ALSCHED,
                    TETRISCHED,
                    JOCKEY,
                    MEDEA,
                ),
            ),
            *_WITHOUT_A_CYCLE,
        )
    }
)


def policy_for(name: str, world: World, known: frozenset[Fact] = frozenset()) -> Policy:
    """The policy of a name, for a world and a workload that tells some facts.

    Args:
        name: Of the registry, with values of parameters if others are wanted: `delay:node_s=3`.
        world: Where it shall run.

    Raises:
        BadRequestError: If there is none, or it cannot run there, or has no such parameter.
    """
    name, values = named_values(name)
    kind = KINDS.get(name)
    if kind is None:
        raise BadRequestError(f"there is no policy {name!r}: choose one of {', '.join(KINDS)}")
    why_not = kind.refusal(world, known)
    if kind.policy is None and not why_not:
        why_not = f"{name} has no scheduling cycle: `heddle simulate --compare {name}` runs it"
    if kind.policy is None or why_not:
        raise BadRequestError(why_not)
    return kind.policy.with_parameters(values)
