"""The policy of shares, put together: the versions in the store, who waits, and who lets them start."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from shim.app.groups import group_directory
from shim.config.loader import Config
from shim.config.queues import parse_policy, policy_text
from shim.domain.ids import SubClusterId
from shim.domain.shares import UNORDERED, ContainerOrder, SharePolicy
from shim.domain.subclusters import Admission
from shim.errors import ConfigError
from shim.federation.core.federation_view import FederationView
from shim.multicluster.service import Spanning
from shim.ports.act_store import ActStore
from shim.ports.clock import Clock
from shim.ports.policy_store import PolicyStore
from shim.ports.state_store import StateStore
from shim.queues.admission import WaitingRoom
from shim.queues.core.entitle import ShareSettings
from shim.queues.core.preemption_effects import PreemptionSettings
from shim.queues.policies import PolicyService
from shim.queues.preemption import PreemptionService, PreemptionWorld
from shim.queues.preemption_log import PreemptionLog
from shim.queues.starting import Starting
from shim.submission.service import SubmissionService
from shim.telemetry.shares import QueueGauges

__all__ = ["SharesOfQueues", "open_shares"]

_SETTLE_S = 5.0
_POLLS_TO_SETTLE = 3
_TOLD = ("share", "entitlement", "used", "held", "wanted", "borrowed", "lent")


@dataclass(frozen=True, slots=True)
class SharesOfQueues:
    """The parts that enforce shares."""

    policies: PolicyService
    room: WaitingRoom
    acts: PreemptionLog
    _config: Config
    _view: FederationView
    _store: StateStore
    _clock: Clock

    def name_at(self, subcluster: SubClusterId, queue: str) -> str:
        """What a sub-cluster calls a queue."""
        return self.policies.current.name_at(subcluster, queue)

    def container_order(self, queue: str) -> ContainerOrder:
        """Which of a queue's applications has containers first."""
        found = next((each for each in self.policies.current.queues if each.path == queue), None)
        return UNORDERED if found is None else found.containers

    def gauges(self) -> Iterator[QueueGauges]:
        """How each queue stood when it was last decided who starts."""
        counts = self.room.counts()
        acts_of: dict[str, dict[str, int]] = {}
        for (queue, stage), count in self.acts.counts.items():
            acts_of.setdefault(queue, {})[stage.value] = count
        for path, standing in self.room.latest.standings.items():
            parts = {name: getattr(standing, name) for name in _TOLD}
            yield QueueGauges(path, counts.get(path, 0), parts, acts_of.get(path, {}))

    def read(self) -> Mapping[str, Mapping[SubClusterId, str]]:
        """Queues whose ApplicationMasters' calls are read, each with what sub-clusters call it that call it otherwise.

        Their applications may span, or their asks may be held back.
        """
        policy = self.policy()
        held_back = (queue for queue in policy.sharing if queue.preemptable)
        return {queue.path: queue.names for queue in (*policy.spanning, *held_back)}

    def policy(self) -> SharePolicy:
        """The policy that holds."""
        return self.policies.current

    def preemption(self, service: Spanning) -> PreemptionService:
        """Who holds asks back and asks containers back.

        Args:
            service: Knows the attempts whose calls are read.
        """
        shares, poll = self._config.shares, self._config.poll
        return PreemptionService(
            PreemptionWorld(
                policy=self.policy,
                view=self._view,
                room=self.room,
                log=self.acts,
                clock=self._clock,
                interval_s=shares.interval_s,
            ),
            lambda: service.spans,
            PreemptionSettings(
                persist_s=shares.preempt_after_s,
                grace_s=shares.preempt_grace_s,
                settle_s=max(_SETTLE_S, _POLLS_TO_SETTLE * poll.interval_s),
            ),
        )

    def starting(self, submissions: SubmissionService, is_mine: Callable[[str], bool]) -> Starting:
        """Who lets start what waits."""
        return Starting(
            room=self.room,
            submissions=submissions,
            store=self._store,
            view=self._view,
            clock=self._clock,
            interval_s=self._config.shares.interval_s,
            is_mine=is_mine,
        )


def open_shares(
    config: Config,
    view: FederationView,
    admissions: Mapping[SubClusterId, Admission],
    store: StateStore,
    policies: PolicyStore,
    acts: ActStore,
    clock: Clock,
) -> SharesOfQueues:
    """Put the parts together; nothing runs yet, and the policy of the configuration file holds."""
    subclusters = [each.id for each in config.subclusters]

    def parse(text: str, source: str) -> SharePolicy:
        policy = parse_policy(text, source=source, subclusters=subclusters)
        sealed = {
            "span": [queue.path for queue in policy.spanning],
            "preemptable": [queue.path for queue in policy.sharing if queue.preemptable],
        }
        for name, queues in sealed.items():
            if queues and config.security.secret_file is None:
                message = f"{queues[0]} is, and security.secret_file is not set: what is kept of it is sealed with it"
                raise ConfigError(source, f"queue.{name}", message)
        return policy

    service = PolicyService(policies, policy_text(config.queues, config.mappings), parse, clock)
    room = WaitingRoom(
        policy=lambda: service.current,
        view=view,
        admissions=admissions,
        store=store,
        clock=clock,
        groups_of=group_directory(),
        settings=ShareSettings(ahead=config.shares.ahead, absent_after_s=config.shares.absent_after_s),
    )
    return SharesOfQueues(service, room, PreemptionLog(acts), config, view, store, clock)
