"""Spanning put together: who speaks for applications in sub-clusters that are not their homes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from shim.app.runtime import Runtime
from shim.app.settings import reach, session_settings
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import SharePolicy
from shim.domain.subclusters import Admission
from shim.errors import ConfigError
from shim.multicluster.capacity import ClusterCapacities, Epochs
from shim.multicluster.core.crossings import Crossings
from shim.multicluster.running_containers import RunningContainers
from shim.multicluster.service import MultiClusterService
from shim.multicluster.sessions import SessionTools
from shim.multicluster.splitters import AttemptMatching
from shim.multicluster.unmanaged import UnmanagedAMs
from shim.multicluster.watch import SessionWatch
from shim.ports.resource_manager import ResourceManager
from shim.ports.state_store import StateStore
from shim.protocol.rest.submission_context import keeps_containers as keeps_by_rest
from shim.protocol.yarn.submissions import RPC_SUBMISSION
from shim.protocol.yarn.submissions import keeps_containers as keeps_by_rpc

_log = structlog.get_logger("heddle.span")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """Service of ApplicationMasters whose calls are read, and the watch over what they have elsewhere."""

    service: MultiClusterService
    watch: SessionWatch
    epochs: Epochs
    crossings: Crossings

    async def check(self, policy: SharePolicy) -> None:
        """Ask the sub-clusters for their epochs, if a queue spans.

        Raises:
            ConfigError: If a queue spans, and two sub-clusters have the same epoch.
        """
        if not policy.spanning and not any(queue.spans_by_need for queue in policy.queues):
            return
        await self.epochs.ask()
        if not policy.spanning:
            return
        _refuse_clashes(self.epochs)
        for name in self.epochs.homes_only:
            _log.warning("has no yarn.resourcemanager.epoch: a home, and no place to span to", subcluster=name)


def open_spans(
    runtime: Runtime,
    managers: Mapping[SubClusterId, ResourceManager],
    admissions: Mapping[SubClusterId, Admission],
    matching: AttemptMatching,
    policy: Callable[[], SharePolicy],
) -> Spans:
    """Put it together; nothing runs yet, and nothing is asked.

    Args:
        policy: Which queues span, as it is now.
    """
    clock, view, stores = runtime.clock, runtime.view, runtime.stores
    rpcs, epochs = runtime.rpcs, Epochs(managers)
    reached = reach(runtime.config)
    crossings = Crossings(lambda home: reached.get(home, frozenset()))
    unmanaged_ams = UnmanagedAMs(rpcs, runtime.clusters.logins, stores.spans, clock)
    service = MultiClusterService(
        SessionTools(
            unmanaged_ams=unmanaged_ams,
            store=stores.spans,
            capacities=ClusterCapacities(
                view,
                admissions,
                clock,
                policy,
                epochs.may_span,
                epochs.constraints,
                lambda home: crossings.reach(home, clock.monotonic_s()),
            ),
            matching=matching,
            clock=clock,
            settings=session_settings(runtime.config),
            keeps_containers=lambda application: _keeps_containers(stores.state, application),
            running=RunningContainers(rpcs, clock).of,
            crossings=crossings,
        )
    )
    return Spans(
        service=service,
        watch=SessionWatch(service, unmanaged_ams, stores.spans, view, managers, epochs, clock),
        epochs=epochs,
        crossings=crossings,
    )


def _refuse_clashes(epochs: Epochs) -> None:
    if epochs.clashes:
        told = ", ".join(f"{name} has {epoch}" for name, epoch in sorted(epochs.clashes.items()))
        message = (
            f"queues span, and sub-clusters have the same yarn.resourcemanager.epoch ({told}): ids of their containers "
            f"would collide. Give each its own, at least 1000 apart, and restart its ResourceManager"
        )
        raise ConfigError("the configuration", "queue.span", message)


async def _keeps_containers(store: StateStore, application: ApplicationId) -> bool:
    """True if an application asked for its containers to outlive its attempts; False if it came elsewhere."""
    record = await store.find(application)
    if record is None:
        return False
    submission = record.submission
    if not submission.body:
        return False
    if submission.content_type == RPC_SUBMISSION:
        return keeps_by_rpc(submission.body)
    return keeps_by_rest(submission.body, media_type=submission.content_type)
