"""Queue of the policy that a name means, and who may put an application into it, by submitting or moving it there."""

from collections.abc import Callable, Collection, Iterable

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy, is_same_queue, parent_of
from shim.errors import ForbiddenError
from shim.federation.core.federation_view import FederationView, find_queue, reserved_name, submitted_name
from shim.ports.clock import Clock
from shim.queues.core.queue_rules import GroupsOf, is_listed, may_submit
from shim.queues.core.share_load import owner_of

_ANYBODY = "*"


class QueueAccess:
    """The access lists of the policy.

    Args:
        view: Tells what a name means at a sub-cluster: its scheduler takes the last part of a path for the whole.
    """

    def __init__(
        self, policy: Callable[[], SharePolicy], view: FederationView, groups_of: GroupsOf, clock: Clock
    ) -> None:
        self._policy = policy
        self._view = view
        self._groups_of = groups_of
        self._clock = clock

    @property
    def is_restricted(self) -> bool:
        """True if there is a queue that not everybody may submit to."""
        return any(_ANYBODY not in queue.submit for queue in self._policy().queues)

    def full_path(self, queue: str) -> str:
        """The path of a leaf below a queue of the policy that is told by its last part alone, as schedulers take it.

        A name that is known already, or that means different leaves, or a queue that has another name at a sub-cluster,
        stays as it is.
        """
        policy = self._policy()
        if "." in queue or policy.find(queue) is not None:
            return queue
        now_s = self._clock.now_s()
        found = {
            (path, "" if (owner := owner_of(policy, each, path)) is None else owner.path)
            for each in self._view.subclusters
            for path, report in self._view.look(each, now_s).queues.items()
            if report.is_leaf and path.rpartition(".")[2] == queue
        }
        path, owned_by = found.pop() if len(found) == 1 else (queue, queue)
        return path if path.startswith(f"{owned_by}.") else queue

    def check_submission(self, application_id: ApplicationId, queue: str, user: str) -> None:
        """Refuse a submission to a queue that the policy names, or to one below it, if the user may not make it.

        Raises:
            ForbiddenError: The user may not.
        """
        if not self.is_restricted:
            return
        named = self._policy().find(queue)
        meant = [named] if named is not None else [self._meant_at(each, queue) for each in self._view.subclusters]
        self._check(application_id, meant, user)

    def move_target(self, application_id: ApplicationId, home: SubClusterId, queue: str, user: str | None) -> str:
        """How the application's home names the queue that a move names, as of a submission.

        A name that the home has for a queue of its own means that one; of others it is told its own name.

        Args:
            user: Whose move it is; None for one to whom access lists do not apply.

        Raises:
            ForbiddenError: The user may not submit there.
        """
        seen = self._view.look(home, self._clock.now_s())
        report = find_queue(seen, queue)
        is_its_own = report is not None and is_same_queue(report.path, queue)
        name = queue if is_its_own else self._policy().name_at(home, queue)
        if user is not None:
            self._check(application_id, [self._meant_at(home, name)], user)
        return submitted_name(seen, name)

    def asked_name(self, subcluster: SubClusterId, queue: str, *, is_plan: bool = False) -> str:
        """How a question to a sub-cluster names the queue that a client names, as a submission there would.

        Args:
            is_plan: Whether it is about the queue's reservations.
        """
        seen, name = self._view.look(subcluster, self._clock.now_s()), self._policy().name_at(subcluster, queue)
        return reserved_name(seen, name) if is_plan else submitted_name(seen, name)

    def check_reservation(self, subcluster: SubClusterId, queue: str, user: str) -> None:
        """Refuse a reservation in what a sub-cluster understands by a queue's name, if the user may not make it.

        Raises:
            ForbiddenError: The user may not submit there.
        """
        closed = self.closed_to(subcluster, self._policy().name_at(subcluster, queue), user)
        if closed is not None:
            raise ForbiddenError(f"User {user} does not have permission to reserve in queue {closed.path}")

    def closed_to(self, subcluster: SubClusterId, queue: str, user: str) -> FederatedQueue | None:
        """The queue of the policy that a sub-cluster's name for it means, if the user may not submit to it."""
        meant = self._meant_at(subcluster, queue)
        return None if meant is None or may_submit(meant, user, self._groups_of) else meant

    def closed_at(self, subcluster: SubClusterId, user: str) -> list[str]:
        """Paths at a sub-cluster of the queues that a user may not submit to."""
        policy = self._policy()
        told = self._view.look(subcluster, self._clock.now_s()).queues
        owners = {path: owner_of(policy, subcluster, path) for path in told}
        owners |= {queue.name_at(subcluster): queue for queue in policy.queues}
        return [
            path for path, owner in owners.items() if owner is not None and not may_submit(owner, user, self._groups_of)
        ]

    def administers(
        self, subcluster: SubClusterId, queue: str, user: str, groups: Callable[[], Collection[str]]
    ) -> bool:
        """Return whether a user administers a queue, as a sub-cluster calls it, or one above it.

        Args:
            groups: Tells his groups; asked only where a queue names groups.
        """
        policy = self._policy()
        owner = policy.find_at(subcluster, queue) or owner_of(policy, subcluster, queue)
        known = {each.path: each for each in policy.queues} if owner is not None else {}
        while owner is not None:
            if is_listed(owner.administer, user, lambda _: groups()):
                return True
            owner = known.get(parent_of(owner.path, known))
        return False

    def _meant_at(self, subcluster: SubClusterId, queue: str) -> FederatedQueue | None:
        policy, report = self._policy(), find_queue(self._view.look(subcluster, self._clock.now_s()), queue)
        if report is not None:
            return owner_of(policy, subcluster, report.path)
        return policy.find_at(subcluster, queue) or owner_of(policy, subcluster, queue)

    def _check(self, application_id: ApplicationId, queues: Iterable[FederatedQueue | None], user: str) -> None:
        for queue in queues:
            if queue is not None and not may_submit(queue, user, self._groups_of):
                message = f"User {user} does not have permission to submit {application_id} to queue {queue.path}"
                raise ForbiddenError(message)
