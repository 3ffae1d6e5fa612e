"""Pages for people: the clusters, the applications with where they run and why there, one application, the nodes.

Every value that came from outside is escaped where it enters a page, and an address becomes a link only if it is one of
http or https. No page has a script.
"""

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from html import escape
from typing import Any

import msgspec

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import HomeDecision, Waited
from shim.errors import NotFoundError, StoreError
from shim.federation.view_rights import ViewRights
from shim.identity.service import Caller
from shim.protocol.rest.identifiers import path_application
from shim.server.rest.backend import Backend
from shim.server.rest.inspection_shown import told_of_deadline

_MOST_ROWS = 1000
_LONGEST_CELL = 300

STYLE = """\
:root { color-scheme: light dark; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 110rem; padding: 0 1.5rem 3rem; }
nav { display: flex; gap: 1.2rem; align-items: baseline; padding: .8rem 0; border-bottom: 1px solid #8886; }
nav b { font-size: 1.15rem; }
h1 { font-size: 1.3rem; margin: 1.2rem 0 .6rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .7rem; border-bottom: 1px solid #8884; vertical-align: top; }
th { position: sticky; top: 0; background: Canvas; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.RUNNING, .SUCCEEDED { color: #137333; }
.FAILED, .KILLED, .LOST, .RETIRED { color: #b3261e; }
.ACCEPTED, .RECOVERING, .CORDONED, .DRAINING { color: #9a6700; }
p.note { color: #777; }
pre { white-space: pre-wrap; }
"""

_COLUMNS: tuple[tuple[str, str], ...] = (
    ("ID", "id"),
    ("User", "user"),
    ("Name", "name"),
    ("Application Type", "applicationType"),
    ("Application Tags", "applicationTags"),
    ("Queue", "queue"),
    ("Application Priority", "priority"),
    ("StartTime", "startedTime"),
    ("LaunchTime", "launchTime"),
    ("FinishTime", "finishedTime"),
    ("State", "state"),
    ("FinalStatus", "finalStatus"),
    ("Running Containers", "runningContainers"),
    ("Allocated CPU VCores", "allocatedVCores"),
    ("Allocated Memory MB", "allocatedMB"),
    ("Progress", "progress"),
    ("Tracking UI", "trackingUI"),
)
"""The columns of a ResourceManager's list, and the member of an application in each."""

_TIMES = frozenset({"startedTime", "launchTime", "finishedTime"})
_NUMBERS = frozenset({"priority", "runningContainers", "allocatedVCores", "allocatedMB", "progress"})


class Pages:
    """Renders pages from the view.

    Args:
        states: One word for how each cluster is, what operators said included.
        rights: Who may be told why an application is where it is.
    """

    def __init__(self, backend: Backend, states: Callable[[], Mapping[SubClusterId, str]], rights: ViewRights) -> None:
        self._backend = backend
        self._rights = rights
        self._states = states

    async def applications(self, caller: Caller, states: Collection[str] = ()) -> str:
        """The newest applications of all sub-clusters; those in some states alone, if any are named."""
        read = await self._backend.applications.applications(viewer=self._rights.viewer(caller))
        wanted = [each for each in read.documents if not states or each.summary.state.value in states]
        shown = wanted[:_MOST_ROWS]
        rows = [
            [*_application_cells(msgspec.json.decode(document.raw)), _text(document.summary.home_subcluster)]
            for document in shown
        ]
        heads = [*(name for name, _ in _COLUMNS), "Cluster"]
        note = f"{len(shown)} of {len(wanted)} applications, newest first."
        return self._page("Applications", f"<p class=note>{note}</p>{_table(heads, rows)}")

    def clusters(self) -> str:
        """Page of the state of each sub-cluster."""
        now_s, states = self._backend.clock.now_s(), self._states()
        rows = []
        for item in self._backend.view.subclusters:
            look = self._backend.view.look(item, now_s)
            age = "never reported" if look.age_s == float("inf") else f"{look.age_s:.1f} s"
            rows.append(
                [
                    _text(item),
                    f'<td class="{escape(states[item])}">{escape(states[item])}</td>',
                    _text(age),
                    _text(look.version),
                    _number(len(look.nodes)),
                    _number(look.running),
                    _number(look.capacity.memory_mib),
                    _number(look.used.memory_mib),
                    _text(look.failure),
                ]
            )
        heads = ["Cluster", "State", "Age", "Hadoop", "Nodes", "Live applications", "Memory MB", "Used MB", "Trouble"]
        return self._page("Clusters", _table(heads, rows))

    def nodes(self, states: Collection[str] = ()) -> str:
        """The nodes of all sub-clusters; those in some states alone, if any are named."""
        now_s = self._backend.clock.now_s()
        rows = [
            [
                _text(report.rack),
                f'<td class="{escape(report.state)}">{escape(report.state)}</td>',
                _text(str(report.node)),
                _number(report.used.memory_mib),
                _number(report.total.memory_mib),
                _number(report.used.vcores),
                _number(report.total.vcores),
                _text(", ".join(report.labels)),
                _text(item),
            ]
            for item in self._backend.view.subclusters
            for report in self._backend.view.look(item, now_s).nodes
            if not states or report.state in states
        ]
        heads = ["Rack", "State", "Node", "Mem Used", "Mem Total", "VCores Used", "VCores Total", "Labels", "Cluster"]
        return self._page("Nodes", _table(heads, rows))

    async def application(self, text: str, caller: Caller) -> str:
        """One application, where it runs and why there."""
        application_id = path_application(text)
        try:
            read = await self._backend.applications.application(application_id, viewer=self._rights.viewer(caller))
        except NotFoundError:
            return self._page("Application", f"<p>Application not found: {escape(text)}</p>")
        document = read.document
        members = msgspec.json.decode(document.raw)
        members = {"cluster": document.summary.home_subcluster, **members}
        rows = [
            [_text(name), _value(name, value)] for name, value in members.items() if not isinstance(value, (dict, list))
        ]
        why = await self._why(application_id, caller)
        return self._page(f"Application {application_id}", f"{_table(['', ''], rows)}<h1>Why there</h1>{why}")

    async def _why(self, application_id: ApplicationId, caller: Caller) -> str:
        try:
            record = await self._backend.store.find(application_id)
        except StoreError:
            return "<p class=note>The store cannot be asked now.</p>"
        if record is None:
            return "<p class=note>It was not submitted through this federation: no choice was made.</p>"
        if not self._rights.may_see(caller, application_id, record.submission.user, record.home_subcluster):
            return "<p class=note>Told to its user and to operators alone.</p>"
        waited = "" if record.waited is None else f"<p>{escape(_told_of_waiting(record.waited))}</p>"
        found = self._backend.deadline_of(application_id, record)
        deadline = "" if found is None else f"<p>Deadline: {escape(told_of_deadline(found))}</p>"
        return waited + deadline + _decision(record.decision)

    def rows(self, title: str, heads: Sequence[str], rows: Iterable[Sequence[object]], *, note: str = "") -> str:
        """A page of one table: texts, and numbers to the right."""
        cells = ([_number(each) if isinstance(each, int) else _text(str(each)) for each in row] for row in rows)
        told = f"<p class=note>{escape(note)}</p>" if note else ""
        return self._page(title, f"{told}{_table(heads, cells)}")

    def _page(self, title: str, content: str) -> str:
        missing = ", ".join(self._backend.missing())
        warning = f"<p class=FAILED>Late or absent: {escape(missing)}</p>" if missing else ""
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)} - Heddle</title>'
            '<link rel="stylesheet" href="/static/heddle.css"></head>\n<body><nav><b>Heddle</b>'
            '<a href="/cluster">Applications</a><a href="/cluster/cluster">Clusters</a>'
            '<a href="/cluster/nodes">Nodes</a><a href="/cluster/nodelabels">Node labels</a>'
            '<a href="/cluster/scheduler">Queues</a><a href="/console/">Console</a></nav>\n'
            f"{warning}<h1>{escape(title)}</h1>\n{content}\n</body></html>\n"
        )


def _told_of_waiting(waited: Waited) -> str:
    seconds = (waited.until_ms - waited.since_ms) / 1000
    return f"It waited for its queue's turn for {seconds:.1f} s, from {_time(waited.since_ms)}: {waited.reason}"


def _decision(decision: HomeDecision) -> str:
    rows = [
        [
            _text(candidate.subcluster),
            _text("" if candidate.score is None else f"{candidate.score:.3f}"),
            _text(candidate.reason),
            _text(f"{candidate.age_s:.1f} s"),
        ]
        for candidate in decision.candidates
    ]
    return f"<p>{escape(decision.reason)}</p>{_table(['Cluster', 'Score', 'Reason', 'Age of the view'], rows)}"


def _application_cells(members: dict[str, Any]) -> list[str]:
    identifier = str(members.get("id", ""))
    linked = f'<td><a href="/cluster/app/{escape(identifier, quote=True)}">{escape(identifier)}</a></td>'
    return [linked, *(_value(name, members.get(name)) for _, name in _COLUMNS[1:])]


def _value(name: str, value: Any) -> str:
    if value is None:
        return "<td></td>"
    if name in _TIMES:
        return _text(_time(value))
    if name in _NUMBERS:
        return _number(value)
    text = str(value)
    if name == "trackingUrl" and text.startswith(("http://", "https://")):
        return f'<td><a rel="noreferrer noopener" href="{escape(text, quote=True)}">{escape(text)}</a></td>'
    if name in ("state", "finalStatus"):
        return f'<td class="{escape(text, quote=True)}">{escape(text)}</td>'
    return _text(text)


def _time(value_ms: Any) -> str:
    if not isinstance(value_ms, int) or value_ms <= 0:
        return "N/A"
    return f"{dt.datetime.fromtimestamp(value_ms / 1000, dt.UTC):%Y-%m-%d %H:%M:%S} UTC"


def _text(value: str) -> str:
    shown = value if len(value) <= _LONGEST_CELL else f"{value[:_LONGEST_CELL]}..."
    return f"<td>{escape(shown)}</td>"


def _number(value: Any) -> str:
    return f"<td class=number>{escape(str(value))}</td>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
