"""Spanning put together: who speaks for applications in sub-clusters that are not their homes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, addresses_of
from adapters.yarn.scheduler_login import TokenLogins
from shim.app.connections import SubCluster
from shim.config.loader import Config
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.shares import SharePolicy
from shim.domain.subclusters import Admission
from shim.errors import ConfigError
from shim.federation.core.federation_view import FederationView
from shim.federation.epochs import Epochs
from shim.multicluster.capacity import SpanRooms
from shim.multicluster.home_containers import HomeContainers
from shim.multicluster.service import Spanning
from shim.multicluster.session_worker import SpanSettings
from shim.multicluster.sessions import SpanTools
from shim.multicluster.splitters import SpanMatching
from shim.multicluster.unmanaged import UnmanagedMasters
from shim.multicluster.watch import SpanWatch
from shim.ports.clock import Clock
from shim.ports.resource_manager import ResourceManager
from shim.ports.resource_manager_rpc import ResourceManagerRPC
from shim.ports.span_store import SpanStore
from shim.ports.state_store import StateStore
from shim.protocol.rest.submission_context import keeps_containers as keeps_by_rest
from shim.protocol.yarn.submissions import RPC_SUBMISSION
from shim.protocol.yarn.submissions import keeps_containers as keeps_by_rpc

__all__ = ["SpanWorld", "Spans", "open_spans"]

_log = structlog.get_logger("heddle.span")


@dataclass(frozen=True, slots=True)
class SpanWorld:
    """What spanning stands on."""

    config: Config
    clock: Clock
    subclusters: Mapping[SubClusterId, SubCluster]
    managers: Mapping[SubClusterId, ResourceManager]
    rpcs: Mapping[SubClusterId, ResourceManagerRPC]
    view: FederationView
    admissions: Mapping[SubClusterId, Admission]
    store: StateStore
    spans: SpanStore
    matching: SpanMatching
    policy: Callable[[], SharePolicy]


@dataclass(frozen=True, slots=True)
class Spans:
    """The service for ApplicationMasters, and the watch over what they have elsewhere."""

    service: Spanning
    watch: SpanWatch


async def open_spans(world: SpanWorld) -> Spans:
    """Put it together; nothing runs yet.

    Raises:
        ConfigError: If a queue spans, and two sub-clusters have the same epoch.
    """
    clock, view, config = world.clock, world.view, world.config
    epochs = Epochs(world.managers)
    if world.policy().spanning:
        await epochs.ask()
        _refuse_clashes(epochs)
        for name in epochs.homes_only:
            _log.warning("has no yarn.resourcemanager.epoch: a home, and no place to span to", subcluster=name)
    masters = UnmanagedMasters(world.rpcs, _logins(world), world.spans, clock)
    service = Spanning(
        SpanTools(
            masters=masters,
            store=world.spans,
            rooms=SpanRooms(view, world.admissions, clock, world.policy, epochs.may_span),
            matching=world.matching,
            clock=clock,
            settings=SpanSettings(beat_s=config.span.beat_s, lost_after_s=config.span.lost_after_s),
            keeps_containers=lambda application: _keeps_containers(world.store, application),
            at_home=HomeContainers(world.rpcs, clock).of,
        )
    )
    return Spans(service, SpanWatch(service, masters, world.spans, view, world.managers, epochs, clock))


def _refuse_clashes(epochs: Epochs) -> None:
    if epochs.clashes:
        told = ", ".join(f"{name} has {epoch}" for name, epoch in sorted(epochs.clashes.items()))
        message = (
            f"queues span, and sub-clusters have the same yarn.resourcemanager.epoch ({told}): ids of their containers "
            f"would collide. Give each its own, at least 1000 apart, and restart its ResourceManager"
        )
        raise ConfigError("the configuration", "queue.span", message)


def _logins(world: SpanWorld) -> TokenLogins:
    targets = {
        name: RPCTarget(name, addresses)
        for name, each in world.subclusters.items()
        if (addresses := addresses_of(each.description.scheduler_rpc))
    }
    poll = world.config.poll
    return TokenLogins(targets, RPCSettings(connect_timeout_s=poll.connect_timeout_s, timeout_s=poll.timeout_s))


async def _keeps_containers(store: StateStore, application: ApplicationId) -> bool:
    """Whether an application asked for its containers to outlive its attempts; no, if it did not come through here."""
    record = await store.find(application)
    if record is None:
        return False
    submission = record.submission
    if not submission.body:
        return False
    if submission.content_type == RPC_SUBMISSION:
        return keeps_by_rpc(submission.body)
    return keeps_by_rest(submission.body, media_type=submission.content_type)
