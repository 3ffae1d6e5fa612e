"""A `Runtime` in memory: what the use cases are assembled on where there is no socket, no database and no chance."""

from collections.abc import Callable, Mapping
from random import Random

from shim.app.runtime import ReachableClusters, Runtime, new_view
from shim.config.loader import Config, parse
from shim.domain.ids import SubClusterId
from shim.errors import NeverReachedError, UnavailableError
from shim.federation.inspection import SubClusterDescription
from shim.ports.clock import Clock
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.ports.scheduler_login import SchedulerLogin, SchedulerLogins
from shim.store.stores import Stores
from shim.submission.crash_points import CrashPoints, nothing_happens
from shim.testing.stores import in_memory_stores

__all__ = ["NoSchedulers", "a_configuration", "a_runtime", "in_memory_clusters"]

_SECRET = b"s" * 32


class NoSchedulers:
    """Implements `SchedulerLogins`: no scheduler's address is known."""

    def log_in(self, subcluster: SubClusterId, token: bytes) -> SchedulerLogin:
        """See `SchedulerLogins`."""
        del token
        raise NeverReachedError(subcluster, "the address of its scheduler is not known")


def a_configuration(names: Mapping[SubClusterId, object], text: str = "") -> Config:
    """A configuration of some sub-clusters.

    Args:
        names: Of the sub-clusters.
        text: More of it, in TOML.
    """
    subclusters = "".join(f'\n[[subcluster]]\nid = "{name}"\nweb = "http://rm.{name}:8088"\n' for name in names)
    return parse(text + subclusters, source="heddle.toml", environment={})


def in_memory_clusters(
    managers: Mapping[SubClusterId, ResourceManager],
    *,
    logins: SchedulerLogins | None = None,
    guarded: frozenset[SubClusterId] = frozenset(),
) -> ReachableClusters:
    """Sub-clusters that are reached without a socket; none of their NodeManagers answers."""
    return ReachableClusters(
        managers=managers,
        logins=logins or NoSchedulers(),
        descriptions={name: SubClusterDescription((f"http://rm.{name}:8088",)) for name in managers},
        guarded=guarded,
        ask_node=dict.fromkeys(managers, _no_node),
    )


def a_runtime(
    clusters: ReachableClusters,
    clock: Clock,
    *,
    stores: Stores | None = None,
    config: str = "",
    groups_of: Callable[[str], frozenset[str]] = lambda _: frozenset(),
    crash_points: CrashPoints = nothing_happens,
    seed: str = "heddle",
) -> Runtime:
    """A runtime for the use cases of one process.

    Args:
        clusters: The sub-clusters.
        clock: For all times.
        stores: Outlive the process; new ones if None.
        config: Sections of the configuration, in TOML.
        groups_of: The groups of a user.
        crash_points: Called at each step of each submission.
        seed: Of all chance; two processes need two.
    """
    configuration = a_configuration(clusters.managers, config)
    return Runtime(
        config=configuration,
        clock=clock,
        random=Random(seed),  # noqa: S311 - repeatable on purpose
        clusters=clusters,
        stores=stores or in_memory_stores(clock),
        view=new_view(configuration),
        groups_of=groups_of,
        user="heddle",
        secret=_SECRET,
        crash_points=crash_points,
    )


async def _no_node(address: str, request: RestRequest) -> RestAnswer:
    raise UnavailableError(f"{address} does not answer {request.path}")
