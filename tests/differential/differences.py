"""Every difference between a ResourceManager and Heddle over it that remains, with its reason.

`differences.md` is made of this table (`python -m tests.differential.differences`). A row applies to a pair of
answers; what it says is different is not compared for them. A row that applies to no request of a whole run fails.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.support.raw_http import RawAnswer, RawRequest

_ACCEPTED = 202
Applies = Callable[[RawRequest, RawAnswer, RawAnswer], bool]


class Aspect:
    """What of an answer is different."""

    STATUS = "status"
    HEADERS = "headers"
    BODY = "body"


@dataclass(frozen=True, slots=True)
class Difference:
    """One row.

    Attributes:
        name: Short.
        resource_manager: What it does.
        heddle: What Heddle does.
        reason: Why that is right.
        aspects: What is not compared where the row applies.
        applies: Whether it is about a request and its two answers.
        always: Whether every run must meet it.
    """

    name: str
    resource_manager: str
    heddle: str
    reason: str
    aspects: frozenset[str]
    applies: Applies
    always: bool = True


def _all(*aspects: str) -> frozenset[str]:
    return frozenset(aspects or (Aspect.STATUS, Aspect.HEADERS, Aspect.BODY))


def _is_page(answer: RawAnswer) -> bool:
    return (answer.header("content-type") or "").startswith(("text/html", "text/plain"))


def _path(request: RawRequest) -> str:
    return request.target.partition("?")[0].partition(";")[0].rstrip("/")


_INFO = re.compile(r"/ws/v1/cluster(/info)?")
_UNREADABLE = b"UnmarshalException"

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "not found in XML",
        "answers 500 with an empty body or a stack trace to a client that prefers XML",
        "answers 404 with a `RemoteException` in XML",
        "the error handler's forward fails; the resource is not there",
        _all(),
        lambda _, rm, ours: rm.status == 500 and ours.status == 404,
    ),
    Difference(
        "head of an error",
        "answers HEAD of what is not found with 405",
        "answers HEAD as GET, without the body",
        "the 404 page of the servlet container does not take HEAD",
        _all(),
        lambda request, rm, _: request.method == "HEAD" and rm.status == 405,
    ),
    Difference(
        "identity of the cluster",
        "`id` and `startedOn` are the start of the process",
        "both are the federation's, fixed at its first start",
        "ids that Heddle issues begin with it; it outlives every ResourceManager",
        _all(Aspect.BODY),
        lambda request, rm, _: bool(_INFO.fullmatch(_path(request))) and rm.status == 200,
    ),
    Difference(
        "ids of the federation",
        "issues ids that begin with its own start",
        "issues ids that begin with the time stamp of its own process",
        "newest is largest, whichever cluster an application runs on",
        _all(Aspect.BODY),
        lambda request, rm, _: _path(request).endswith("/new-application") and rm.status == 200,
    ),
    Difference(
        "methods that HTTP does not have",
        "answers 503 to a method such as FOO",
        "answers 400 and closes the connection",
        "what is not understood is not passed on",
        _all(),
        lambda request, *_: request.method == "FOO",
    ),
    Difference(
        "tokens of web services",
        "issues delegation tokens for web services (`op=GETDELEGATIONTOKEN`)",
        "issues none, and refuses a request that asks for one or shows one with 403",
        "clients name the user or keep the cookie",
        _all(Aspect.BODY),
        lambda request, rm, ours: (
            (rm.status == ours.status == 403 and "X-Hadoop-Delegation-Token" in dict(request.headers))
            or ("delegation=" in request.target and rm.status == ours.status == 403)
        ),
    ),
    Difference(
        "name of nobody",
        "has one message in which a call without a user differs from one of the static user",
        "passes a call without a user on as the static user",
        "the audit logs of the clusters name the same user",
        _all(Aspect.BODY),
        lambda _, rm, __: b"got type null" in rm.body,
    ),
    Difference(
        "text of pages",
        "HTML pages of the servlet container and of the web application",
        "short pages of the same status, with a policy that allows no script",
        "pages are for people",
        _all(Aspect.HEADERS, Aspect.BODY),
        lambda _, rm, ours: rm.status == ours.status and _is_page(rm) and _is_page(ours),
    ),
    Difference(
        "description of a resource",
        "OPTIONS answers a WADL that names Java classes",
        "OPTIONS answers a WADL of the same methods",
        "no client of YARN reads it; `Allow` is the same",
        _all(Aspect.BODY),
        lambda request, *_: request.method == "OPTIONS",
    ),
    Difference(
        "headers of OPTIONS",
        "has the time at which the WADL was generated (`Last-Modified`)",
        "does not",
        "it is generated for each answer",
        _all(Aspect.HEADERS),
        lambda request, rm, _: request.method == "OPTIONS" and rm.header("last-modified") is not None,
    ),
    Difference(
        "text of a body that cannot be read",
        "shows the message of its parser",
        "shows the message of another parser, with the same status and exception",
        "the words of a Java library",
        _all(Aspect.BODY),
        lambda _, rm, ours: rm.status == ours.status and (_UNREADABLE in rm.body or b"MessageException" in rm.body),
    ),
    Difference(
        "document types",
        "expands the entities of a document type in an XML body",
        "refuses a body with a document type",
        "entities read files and grow without bound",
        _all(),
        lambda request, *_: b"<!DOCTYPE" in request.body,
    ),
    Difference(
        "empty user name",
        "answers 500 with a stack trace to `user.name=`",
        "answers 400 with the same message",
        "the caller's mistake",
        _all(),
        lambda request, rm, _: rm.status == 500 and "user.name=" in request.target,
    ),
    Difference(
        "names of users",
        "takes nearly any text for a user's name",
        "answers 400 to a name that no account system has: too long, with `:` or `,` and the like, or without a first "
        "component",
        "such a name means something else in a list of users, in a path or in a header",
        _all(),
        lambda request, _, ours: "user.name=" in request.target and ours.status == 400 and b"a user name" in ours.body,
    ),
    Difference(
        "order of lists",
        "lists applications in the order of a hash table, and `limit` cuts that",
        "lists by `startedTime` (when it was submitted), newest first, whoever issued the id; `limit` cuts that",
        "whoever asks for the last ten wants the last ten",
        _all(Aspect.BODY),
        lambda request, rm, _: "limit=" in request.target and rm.status == 200,
    ),
    Difference(
        "several mistakes of one kind",
        "of several unknown states or words of `deSelects` names the one that a hash table yields first",
        "names the first in the request",
        "one has to be named",
        _all(Aspect.BODY),
        lambda _, rm, ours: any(
            words in rm.body and words in ours.body for words in (b"Invalid application-state", b"Invalid deSelects")
        ),
    ),
    Difference(
        "a known id by another user",
        "answers 202 to a submission under a known id and ignores it, whoever sends it",
        "answers 409 unless it is the same submission of the same user",
        "a client that was answered 202 believes that its job runs",
        _all(),
        lambda request, rm, ours: request.method == "POST" and rm.status == 202 and ours.status == 409,
    ),
    Difference(
        "signals to containers",
        "lets anybody signal any container",
        "lets the application's owner and Heddle's admins; what is no container's id is 400",
        "a signal ends a container",
        _all(),
        lambda request, _, ours: "/signal/" in request.target and ours.status in (400, 403, 404),
    ),
    Difference(
        "cookie",
        "signs `hadoop.auth` with its own secret; the cookie has no `SameSite`",
        "signs it with Heddle's secret, and forbids browsers to send it from other sites",
        "the cookie is for Heddle",
        _all(),
        lambda *_: False,
        always=False,
    ),
    Difference(
        "framing",
        "sends JSON in chunks",
        "sends a length",
        "the answer is whole before it is sent",
        _all(),
        lambda *_: False,
        always=False,
    ),
    Difference(
        "size of bodies",
        "takes bodies of any size and depth",
        "answers 413 above `[server] max_body_bytes`, 400 beyond 64 levels",
        "one client may not use up the memory of all",
        _all(),
        lambda *_: False,
        always=False,
    ),
    Difference(
        "waiting for nodes",
        "answers `bulk-activities` after as many heartbeats of its nodes as asked, however long that takes",
        "waits 30 s for that, and no longer for a cluster that falls silent: it is named in `Heddle-Missing`",
        "all else is answered within 2 s",
        _all(),
        lambda *_: False,
        always=False,
    ),
    Difference(
        "browsers of other sites",
        "lets a page of any site send changes",
        "answers 403 to a change whose `Origin` is another site",
        "`user.name` is in every such page's reach",
        _all(),
        lambda *_: False,
        always=False,
    ),
    Difference(
        "bodies that parsers read differently",
        "takes a field that stands twice, a list or an object where a value should be, attributes, other namespaces",
        "answers 400; what is sent to a cluster is written anew from what was understood",
        "access lists and limits hold for what the cluster reads",
        _all(),
        lambda request, rm, ours: bool(request.body) and rm.status in (200, 202) and ours.status == 400,
    ),
    Difference(
        "names without end",
        "takes names, queues and tags of any length; a queue of 30,000 parts ends its JVM",
        "answers 400 to what is longer than the table in `shim/domain/limits.py`",
        "one request may not end a cluster",
        _all(),
        lambda *_: False,
        always=False,
    ),
    Difference(
        "queues that do not exist",
        "takes a submission to an unknown queue, or to a parent, and lets the application fail, unless a placement "
        "rule puts it elsewhere",
        "answers 400 in the words of that failure where no cluster has the queue; one that names no queue goes to a "
        "cluster whatever its rules",
        "a client learns at once what is wrong",
        _all(),
        lambda _, rm, ours: rm.status == _ACCEPTED and ours.status == 400 and b"to unknown queue" in ours.body,
        always=False,
    ),
    Difference(
        "paths of queues",
        "before Hadoop 3.3 a CapacityScheduler knows `root.prod` only as `prod`",
        "takes either, and names it to such a cluster by its last part, if no other leaf has that",
        "clusters differ in version",
        _all(),
        lambda *_: False,
        always=False,
    ),
    Difference(
        "ApplicationMasters that never start",
        "takes one above the maximum capacity of its queue, or of one above it, and keeps it ACCEPTED for ever",
        "answers 400 with the largest container that the queue can get in any cluster",
        "nobody would start it, and nobody would say so",
        _all(),
        lambda *_: False,
        always=False,
    ),
    Difference(
        "largest container of a new id",
        "reports its own maximum",
        "reports the least of the clusters that the caller's queue may use, or the queue's `containers_up_to`",
        "the application meets one of them",
        _all(),
        lambda *_: False,
        always=False,
    ),
    Difference(
        "sums and unions",
        "reports its own nodes, amounts, resource types, node labels and access lists",
        "adds amounts and counts of all clusters, and lists each type, label and right that one of them has; maxima "
        "of queues are the smallest",
        "what asks for a type or a label by its ApplicationMaster, or by a tag "
        "(`heddle-containers-up-to=yarn.io/gpu:1`), goes where it is; doctor names what is not everywhere",
        _all(),
        lambda *_: False,
        always=False,
    ),
    Difference(
        "configuration of the scheduler",
        "has one",
        "with more than one cluster asks for `?cluster=ID`",
        "each cluster has its own",
        _all(),
        lambda *_: False,
        always=False,
    ),
    Difference(
        "targets of `doAs`",
        "a proxy user may act for any user whom its rules allow",
        "not for another proxy user",
        "that one's rights would come with it",
        _all(),
        lambda *_: False,
        always=False,
    ),
)


def applying(request: RawRequest, rm: RawAnswer, ours: RawAnswer) -> list[Difference]:
    """The rows that are about a request and its two answers."""
    return [difference for difference in DIFFERENCES if difference.applies(request, rm, ours)]


def page() -> str:
    """`docs/clients/differences.md`."""
    rows = "\n".join(f"| {row.name} | {row.resource_manager} | {row.heddle} | {row.reason} |" for row in DIFFERENCES)
    return (
        "# Where Heddle answers differently from a ResourceManager\n\n"
        "<!-- written by tests/differential/differences.py: change its table instead -->\n\n"
        "Heddle over one ResourceManager (Hadoop 3.4.2) and that ResourceManager are asked the same things in\n"
        "`tests/differential`: every recorded request that makes sense, and generated ones. Status, headers in their\n"
        "order and bodies are compared, fields that change by themselves aside. These differences remain.\n\n"
        "| | A ResourceManager | Heddle | Why |\n|---|---|---|---|\n"
        f"{rows}\n\n"
        "Every answer of Heddle also has `Heddle-As-Of` (when the oldest part of it was true), `X-Request-Id`, and\n"
        "`Heddle-Missing` when a sub-cluster is late or absent. `/conf`, `/jmx` and the pages hold what clients and\n"
        "monitors read, not everything.\n"
    )


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201 - its purpose
