"""Live applications one by one, for whoever is given groups of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector
from shim.queues.core.share_load import LiveGroup


@dataclass(frozen=True, slots=True)
class LiveApplication:
    """An application on a sub-cluster; see `LiveGroup`."""

    home: SubClusterId
    queue: str
    user: str
    has_started: bool = True
    used: ResourceVector = ResourceVector()  # noqa: RUF009 - it is frozen
    left_mib_s: float = 0.0
    since_s: float = 0.0
    is_beginning: bool = False


def live_groups(applications: Iterable[LiveApplication]) -> list[LiveGroup]:
    """Applications, in the order of their arrival, as groups: the simplest way that there is."""
    found: dict[tuple[SubClusterId, str], list[LiveApplication]] = {}
    for each in applications:
        found.setdefault((each.home, each.queue), []).append(each)
    return [_group(home, queue, some) for (home, queue), some in found.items()]


def _group(home: SubClusterId, queue: str, some: list[LiveApplication]) -> LiveGroup:
    users: dict[str, int] = {}
    used: dict[str, tuple[int, int]] = {}
    for each in some:
        users[each.user] = users.get(each.user, 0) + 1
        memory_mib, vcores = used.get(each.user, (0, 0))
        used[each.user] = memory_mib + each.used.memory_mib, vcores + each.used.vcores
    return LiveGroup(
        home,
        queue,
        users,
        used,
        left=[each.left_mib_s or inf for each in some],
        held_mib=[each.used.memory_mib for each in some],
        has_started=[each.has_started for each in some],
        beginning=[each.left_mib_s or inf for each in some if each.is_beginning],
        unstarted_since_s=[each.since_s for each in some if not each.has_started],
    )
