"""Rights to see and change applications: `yarn.acl.enable` of Heddle's own, over all sub-clusters.

An application is for its user, for administrators of Heddle, for those who administer its queue or one above it by the
policy, and for whom its own lists name. Everybody else sees the row that a ResourceManager would show.

Where a sub-cluster has access lists itself, it is asked as who looks, and its answer is shown as it is.

Source: `ApplicationACLsManager`, `QueueACLsManager`, `ClientRMService.checkAccess` of Hadoop 3.4.2.

Applications as they are shown to whoever may not view them.

A ResourceManager with `yarn.acl.enable` shows the row and empties most of it. So does this, with two differences: what
is not listed here is left out, so that a member of a later Hadoop is hidden until somebody lists it; and diagnostics
and the tracking URL, which its web services show to everybody and its RPC to nobody, are shown to nobody.

Source: `AppInfo`, recorded answers of 2.10.2 and 3.4.2.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from shim.domain.access_lists import Access, Viewer
from shim.domain.application_columns import Mask
from shim.domain.applications import ApplicationSummary
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import ApplicationDocument
from shim.federation.application_acls import ApplicationACLBook
from shim.federation.core.federation_view import FederationView

Administers = Callable[[SubClusterId, str, str, Callable[[], Collection[str]]], bool]
"""Tells whether a user, by name or by his groups, administers a queue as a sub-cluster calls it, or one above it."""

Judge = Callable[[ApplicationSummary], bool]
"""Tells whether a viewer sees an application; remembers what it found out of queues."""

_MOST_HIDDEN = 20_000


class ApplicationAccess:
    """The rules, and the rows of those who may not see.

    Args:
        administers: Knows the policy's queues.
        groups_of: The groups of a user on this machine.
    """

    def __init__(
        self,
        book: ApplicationACLBook,
        view: FederationView,
        administers: Administers = lambda *_: False,
        groups_of: Callable[[str], frozenset[str]] = lambda _: frozenset(),
        *,
        guarded: frozenset[SubClusterId] = frozenset(),
        is_on: bool = False,
    ) -> None:
        self.book = book
        self.is_on = is_on
        self._view = view
        self._administers = administers
        self._groups_of = groups_of
        self._guarded = guarded
        self._hidden: OrderedDict[bytes, bytes] = OrderedDict()

    def may(self, viewer: Viewer, access: Access, summary: ApplicationSummary) -> bool:
        """Return whether a viewer may ask an application's home to show or change it; the home may refuse yet."""
        return summary.home_subcluster in self._guarded or self.has(viewer, access, summary)

    def has(self, viewer: Viewer, access: Access, summary: ApplicationSummary) -> bool:
        """Return whether a viewer has a right by what is known here; a sub-cluster with lists may know of more."""
        if viewer.sees_all or viewer.user == summary.user:
            return True
        groups = self._groups(viewer)
        if self.book.grants(summary.application_id, access, viewer.user, groups):
            return True
        return self._administers(summary.home_subcluster, summary.queue, viewer.user, groups)

    def judge(self, viewer: Viewer) -> Judge:
        """The rule for many applications at once."""
        groups = self._groups(viewer)
        granted = frozenset(self.book.visible_to(viewer.user, groups)) if not viewer.sees_all else frozenset()
        queues: dict[tuple[SubClusterId, str], bool] = {}

        def sees(summary: ApplicationSummary) -> bool:
            if viewer.sees_all or viewer.user == summary.user or summary.application_id in granted:
                return True
            if summary.home_subcluster in self._guarded:
                return True  # it was asked as the viewer
            key = (summary.home_subcluster, summary.queue)
            if key not in queues:
                queues[key] = self._administers(*key, viewer.user, groups)
            return queues[key]

        return sees

    def visible(self, viewer: Viewer) -> Mask | None:
        """The rows of the view's columns that a viewer sees; None for all."""
        if viewer.sees_all:
            return None
        columns, groups = self._view.applications.columns, self._groups(viewer)
        mask = columns.has_word("user", viewer.user)
        mask |= columns.has_any_id(self.book.visible_to(viewer.user, groups))
        queues = list(columns.words("queue"))
        for home in map(SubClusterId, columns.words("home")):
            own = {queue for queue in queues if self._administers(home, queue, viewer.user, groups)}
            if own:
                mask |= columns.has_word("home", home) & columns.has_any_word("queue", own)
        return mask

    def shown(self, document: ApplicationDocument, viewer: Viewer) -> ApplicationDocument:
        return document if self.judge(viewer)(document.summary) else self.hidden(document)

    def all_shown(self, documents: Sequence[ApplicationDocument], viewer: Viewer) -> Sequence[ApplicationDocument]:
        if viewer.sees_all:
            return documents
        sees = self.judge(viewer)
        return [document if sees(document.summary) else self.hidden(document) for document in documents]

    def hidden(self, document: ApplicationDocument) -> ApplicationDocument:
        summary = replace(document.summary, started_at_ms=0, finished_at_ms=0)
        return document.but(told=self.hidden_raw(document.raw), summary=summary, amounts=None)

    def hidden_raw(self, raw: bytes) -> bytes:
        """The JSON object of such a document; written once while the application does not change."""
        known = self._hidden.get(raw)
        if known is None:
            known = self._hidden[raw] = hidden_application(raw)
            if len(self._hidden) > _MOST_HIDDEN:
                self._hidden.popitem(last=False)
        return known

    def summary_of(self, application_id: ApplicationId) -> ApplicationSummary | None:
        """Find the summary of an application; None for one that nobody has told of."""
        known = self._view.applications.find(application_id)
        return None if known is None else known.summary

    def _groups(self, viewer: Viewer) -> Callable[[], Collection[str]]:
        return lambda: viewer.groups | self._groups_of(viewer.user)


_SHOWN = frozenset(
    {
        *("id", "user", "name", "queue", "state", "finalStatus", "progress", "trackingUI", "clusterId"),
        *("applicationType", "applicationTags", "priority", "unmanagedApplication"),
    }
)
_EMPTIED: Mapping[str, Any] = {
    **dict.fromkeys(("diagnostics",), "N/A"),
    **dict.fromkeys(("masterNodeId", "appNodeLabelExpression", "amNodeLabelExpression"), ""),
    **dict.fromkeys(("startedTime", "launchTime", "finishedTime", "elapsedTime"), 0),
    **dict.fromkeys(("allocatedMB", "allocatedVCores", "reservedMB", "reservedVCores", "runningContainers"), 0),
    **dict.fromkeys(("memorySeconds", "vcoreSeconds", "preemptedMemorySeconds", "preemptedVcoreSeconds"), 0),
    **dict.fromkeys(("queueUsagePercentage", "clusterUsagePercentage"), 0.0),
    **dict.fromkeys(("preemptedResourceMB", "preemptedResourceVCores"), 0),
    **dict.fromkeys(("numNonAMContainerPreempted", "numAMContainerPreempted"), 0),
}


def hidden_application(raw: bytes) -> bytes:
    """The JSON object of an application without what only its viewers may know; members keep their order."""
    members = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    shown = {name: _EMPTIED.get(name, value) for name, value in members.items() if name in _SHOWN or name in _EMPTIED}
    return msgspec.json.encode(shown)
