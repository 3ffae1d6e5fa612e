"""The policy of shares, put together: the versions in the store, who waits, and who lets them start."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from adapters.hdfs import WebAccess, folder_at
from adapters.spark import SparkEventLogs, SparkStages
from adapters.tez import TezPlanFiles, TezVertexCounts
from shim.app.runtime import Runtime
from shim.app.settings import preemption_settings, queue_defaults, share_settings
from shim.app.tls_files import ClientTLSFiles, ReloadedContext
from shim.config.loader import Config
from shim.config.policy_files import parse_policy, policy_text
from shim.domain.ids import SubClusterId
from shim.domain.placement_rules import PlacementRules
from shim.domain.queues import PLAIN, UNORDERED, ContainerOrder, FederatedQueue, SharePolicy
from shim.domain.subclusters import Admission
from shim.errors import ConfigError
from shim.multicluster.service import MultiClusterService
from shim.ports.job_graphs import JobCounts, JobPlans
from shim.queues.admission import AdmissionQueue
from shim.queues.altruism import AltruismService, AltruismWorld
from shim.queues.credits import CreditBook, CreditKeeping
from shim.queues.engines import EngineGraphs
from shim.queues.job_counts import JobCountReader
from shim.queues.job_plans import JobPlanReader
from shim.queues.job_reading import PlannedFor
from shim.queues.load_meter import UnnamedQueues
from shim.queues.outline_reader import FormerRunKeeping, OutlineReader, OutlineWorld
from shim.queues.policies import PolicyService
from shim.queues.preemption import PreemptionService, PreemptionWorld
from shim.queues.preemption_log import PreemptionLog
from shim.queues.share_history import ShareHistory
from shim.queues.starting import Starting
from shim.scheduling.job_outlines import JobOutlines
from shim.scheduling.queue_policies import goes_by_graphs, orders_stages, predicts_by_runs
from shim.submission.service import SubmissionService
from shim.telemetry.shares import QueueGauges

_LIFE_BYTES = 8
_HDFS_CONNECT_S = 1.0
_HDFS_LIMIT_S = 4.0
_TOLD = ("share", "entitlement", "used", "held", "wanted", "borrowed", "lent")


@dataclass(frozen=True, slots=True)
class SharesOfQueues:
    """The parts that enforce shares."""

    policies: PolicyService
    room: AdmissionQueue
    acts: PreemptionLog
    book: CreditBook
    credits: CreditKeeping
    runs: FormerRunKeeping
    over_time: ShareHistory
    _runtime: Runtime
    _unnamed: UnnamedQueues
    graphs: EngineGraphs = field(default_factory=EngineGraphs)
    outlines: JobOutlines = field(default_factory=JobOutlines)

    def name_at(self, subcluster: SubClusterId, queue: str) -> str:
        return self.policy().name_at(subcluster, queue)

    def container_order(self, queue: str) -> ContainerOrder:
        """Return the order in which a queue's applications get containers."""
        found = self._queue(queue)
        return UNORDERED if found is None else found.containers

    def orders_asks(self, queue: str) -> bool:
        found = self.policy().find(queue)
        return found is not None and found.orders_asks

    def left_to_masters(self, queue: str) -> Mapping[SubClusterId, int]:
        """Return how many containers that come free next a queue leaves to ApplicationMasters at each sub-cluster."""
        return self.room.load().left_to_masters(queue)

    def by_arrival(self, queue: str) -> frozenset[SubClusterId]:
        """Return the sub-clusters that serve a queue's applications in the order of their arrival."""
        return self.room.load().by_arrival(queue)

    def rules(self) -> PlacementRules:
        """Return what operators want of places now."""
        return self.policy().rules

    def shadow_policy(self, queue: str) -> str:
        """Name the policy that plans in a queue beside the one in force, only to be compared; `none` for no such."""
        found = self._queue(queue)
        return "none" if found is None else found.shadow

    def goes_by_graphs(self, queue: str) -> bool:
        """Return whether a queue's policy reads the graphs of its jobs, in force or in the shadow."""
        return _has_policy(self._queue(queue), goes_by_graphs)

    def predicts(self, queue: str) -> bool:
        """Return whether a queue's policy predicts by former runs, in force or in the shadow."""
        return _has_policy(self._queue(queue), predicts_by_runs)

    def orders_stages(self, queue: str) -> bool:
        """Return whether a queue's policy has stages in the order of a plan, in force or in the shadow."""
        return _has_policy(self._queue(queue), orders_stages)

    def _queue(self, path: str) -> FederatedQueue | None:
        found = self.policy().find(path)
        return found if found is not None and found.path == path else None

    def gauges(self) -> Iterator[QueueGauges]:
        """Yield the figures of each queue from the last admission round."""
        counts = self.room.counts()
        acts_of: dict[str, dict[str, int]] = {}
        for (queue, stage), count in self.acts.counts.items():
            acts_of.setdefault(queue, {})[stage.value] = count
        for path, status in self.room.latest.statuses.items():
            parts = {name: getattr(status, name) for name in _TOLD}
            yield QueueGauges(path, counts.get(path, 0), parts, acts_of.get(path, {}))

    def read(self) -> Mapping[str, Mapping[SubClusterId, str]]:
        """Queues whose ApplicationMasters' calls are read, each with what sub-clusters call it that call it otherwise.

        Their applications may span, or their asks may be held back.
        """
        return {queue.path: queue.names for queue in self.policy().queues if queue.is_read}

    def policy(self) -> SharePolicy:
        return self._unnamed.completed(self.policies.current)

    def preemption(self, service: MultiClusterService, altruism: AltruismService) -> PreemptionService:
        """Make the service that withholds asks and takes containers back.

        Args:
            altruism: Knows which containers were lent, and who needs them back: they go first.
        """
        return PreemptionService(
            PreemptionWorld(
                policy=self.policy,
                view=self._runtime.view,
                room=self.room,
                log=self.acts,
                clock=self._runtime.clock,
                interval_s=self._runtime.config.shares.interval_s,
                lent=altruism.lent,
                needs=altruism.needs,
                shares=altruism.shares,
            ),
            lambda: service.spans,
            preemption_settings(self._runtime.config),
        )

    def altruism(self, service: MultiClusterService) -> AltruismService:
        """The service that has jobs put off what they do not need now."""
        world = AltruismWorld(
            policy=self.policy,
            view=self._runtime.view,
            room=self.room,
            graphs=self.graphs,
            random=self._runtime.random,
            clock=self._runtime.clock,
            credits=self.book,
            interval_s=self._runtime.config.shares.interval_s,
        )
        return AltruismService(world, lambda: service.spans)

    def outline_reader(self, service: MultiClusterService) -> OutlineReader:
        """The reader of the outlines of jobs whose policies go by graphs."""
        world = OutlineWorld(
            goes_by_graphs=self.goes_by_graphs,
            predicts=self.predicts,
            orders_stages=self.orders_stages,
            view=self._runtime.view,
            graphs=self.graphs,
            runs=self.room.former_runs,
            clock=self._runtime.clock,
            interval_s=self._runtime.config.shares.interval_s,
        )
        return OutlineReader(world, self.outlines, lambda: service.spans)

    def job_plans(self, service: MultiClusterService) -> JobPlanReader:
        """The reader of the plans of jobs, where altruism or a policy goes by them."""
        config = self._runtime.config
        places = partial(folder_at, access=access_to_jobs(self._runtime))
        tez, spark = config.tez.staging, config.spark.event_logs
        sources: list[JobPlans] = [TezPlanFiles(tez, places)] if tez else []
        sources += [SparkEventLogs(spark, places)] if spark else []
        return JobPlanReader(self.graphs, sources, lambda: self._planned_for(service), self._runtime.clock)

    def job_counts(self, service: MultiClusterService) -> JobCountReader:
        """The reader of their ApplicationMasters' counts."""
        config, managers = self._runtime.config, self._runtime.managers
        sources: list[JobCounts] = []
        sources += [TezVertexCounts(managers)] if config.tez.staging and config.tez.ask_masters else []
        sources += [SparkStages(managers)] if config.spark.ask_drivers else []
        return JobCountReader(self.graphs, sources, lambda: self._planned_for(service), self._runtime.clock)

    def _planned_for(self, service: MultiClusterService) -> list[PlannedFor]:
        """Jobs of queues that are altruistic, or whose policy goes by graphs."""
        policy, view = self.policy(), self._runtime.view
        return [
            PlannedFor(attempt.id.application, known.summary.application_type, attempt.user, attempt.home_subcluster)
            for attempt in (span.attempt for span in service.spans)
            if (queue := policy.find(attempt.queue)) is not None
            and (queue.altruism or _has_policy(queue, goes_by_graphs))
            and (known := view.applications.find(attempt.id.application)) is not None
        ]

    def starting(self, submissions: SubmissionService, is_mine: Callable[[str], bool]) -> Starting:
        return Starting(
            room=self.room,
            submissions=submissions,
            store=self._runtime.stores.state,
            view=self._runtime.view,
            clock=self._runtime.clock,
            interval_s=self._runtime.config.shares.interval_s,
            is_mine=is_mine,
        )


def access_to_jobs(runtime: Runtime) -> WebAccess:
    """Access to gateways of HDFS at which plans and event logs of jobs lie.

    Raises:
        ConfigError: The file of their CAs cannot be used.
    """
    hdfs, tls = runtime.config.hdfs, None
    if hdfs.ca_file is not None:
        files = ClientTLSFiles(is_verified=True, ca=hdfs.ca_file, section="hdfs", whom="HDFS")
        tls = ReloadedContext(files, runtime.clock.monotonic_s).now
    prove = runtime.clusters.prove
    return WebAccess(hdfs.user, hdfs.nodes, _HDFS_CONNECT_S, _HDFS_LIMIT_S, tls=tls, prove=prove)


def _has_policy(queue: FederatedQueue | None, is_such: Callable[[str], bool]) -> bool:
    """True if a queue's policy, in force or in the shadow, is such a one."""
    return queue is not None and any(map(is_such, (queue.containers, queue.shadow)))


def open_shares(
    runtime: Runtime, admissions: Mapping[SubClusterId, Admission], policy: SharePolicy | None = None
) -> SharesOfQueues:
    """Put the parts together; nothing runs yet, and the policy of the configuration file holds.

    Args:
        policy: Holds whatever the configuration file and the store say; None for what they say.
    """
    config, stores = runtime.config, runtime.stores

    def parse(text: str, source: str) -> SharePolicy:
        return _parsed(config, text, source) if policy is None else policy

    unnamed = UnnamedQueues(runtime.view, queue_defaults(config) if policy is None else PLAIN)
    service = PolicyService(stores.policies, policy_text(config.policy), parse, runtime.clock)
    room = AdmissionQueue(
        policy=lambda: unnamed.completed(service.current),
        view=runtime.view,
        admissions=admissions,
        store=stores.state,
        clock=runtime.clock,
        groups_of=runtime.groups_of,
        settings=share_settings(config.shares),
    )
    book = CreditBook(lambda: runtime.random.randbytes(_LIFE_BYTES).hex())
    keeping = CreditKeeping(book, stores.credits, runtime.clock)
    over_time = ShareHistory(lambda: room.latest.statuses, runtime.clock)
    runs = FormerRunKeeping(room.former_runs, stores.runs, runtime.clock)
    return SharesOfQueues(service, room, PreemptionLog(stores.acts), book, keeping, runs, over_time, runtime, unnamed)


def _parsed(config: Config, text: str, source: str) -> SharePolicy:
    """A policy's text, whether it is that of the configuration file or came later.

    Raises:
        ConfigError: It cannot be read, or asks for what needs a secret and there is none.
    """
    names = [each.id for each in config.subclusters]
    policy = parse_policy(text, source=source, subclusters=names, defaults=queue_defaults(config))
    sealed = {
        "span": [queue.path for queue in policy.spanning],
        "preemptable": [queue.path for queue in policy.sharing if queue.preemptable],
        "altruism": [queue.path for queue in policy.queues if queue.altruism],
    }
    for name, queues in sealed.items():
        if queues and config.security.secret_file is None:
            message = f"{queues[0]} is, and security.secret_file is not set: what is kept of it is sealed with it"
            raise ConfigError(source, f"queue.{name}", message)
    return policy
