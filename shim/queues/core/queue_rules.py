"""Into which queue a submission goes, and who may do what with a queue."""

from collections.abc import Callable, Collection
from fnmatch import fnmatchcase

from shim.domain.queues import FederatedQueue, QueueMapping, SharePolicy

GroupsOf = Callable[[str], Collection[str]]
"""The groups of a user; asked only where a rule names groups."""

_GROUP = "group:"
_ANY = "*"


def default_queue_names() -> tuple[str, ...]:
    """Names by which a submission leaves the choice of the queue to others."""
    return ("", "default", "root.default")


def map_queue(policy: SharePolicy, *, queue: str, user: str, application: str, groups_of: GroupsOf) -> str:
    """The queue of a submission: by the first mapping that fits, else as asked for.

    Args:
        queue: As asked for; empty for none.
    """
    leaves_it_open = queue in default_queue_names()
    for mapping in policy.mappings:
        if (leaves_it_open or mapping.overrides) and _fits(mapping, user, application, groups_of):
            return mapping.queue
    return queue


def may_submit(queue: FederatedQueue, user: str, groups_of: GroupsOf) -> bool:
    return is_listed(queue.submit, user, groups_of) or may_administer(queue, user, groups_of)


def may_administer(queue: FederatedQueue, user: str, groups_of: GroupsOf) -> bool:
    """True if a user may end applications of others that wait in a queue."""
    return is_listed(queue.administer, user, groups_of)


def is_listed(names: Collection[str], user: str, groups_of: GroupsOf) -> bool:
    if _ANY in names or (user in names and not user.startswith(_GROUP)):
        return True
    groups = {name.removeprefix(_GROUP) for name in names if name.startswith(_GROUP)}
    return bool(groups) and not groups.isdisjoint(groups_of(user))


def _fits(mapping: QueueMapping, user: str, application: str, groups_of: GroupsOf) -> bool:
    if mapping.user and mapping.user != user:
        return False
    if mapping.application and not fnmatchcase(application, mapping.application):
        return False
    return not mapping.group or mapping.group in groups_of(user)
