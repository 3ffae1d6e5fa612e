"""Answers of Heddle's own web services on applications and their logs: see `heddle.models`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field

from heddle.models import MiB, Model, Moment, Seconds

__all__ = [
    "Act",
    "AggregatedFile",
    "AggregatedLogs",
    "Altruism",
    "Application",
    "Applications",
    "Ask",
    "AskCandidate",
    "AskVerdict",
    "Candidate",
    "Choice",
    "ContainerFiles",
    "Deadline",
    "Expectation",
    "LogFile",
    "LogPart",
    "NodeLogs",
    "Place",
    "PutOff",
    "Rehoming",
    "Stage",
    "Verdict",
    "Waited",
    "Why",
]

Document = Annotated[
    Mapping[str, Any],
    Meta(
        description="The ResourceManager's own object of an application, untouched, with `cluster`, the id of its home,"
        " and, while it waits, `waits`: for what",
        extra_json_schema={"required": ["id", "cluster"]},
    ),
]


class Applications(Model):
    """Applications of all sub-clusters."""

    apps: Sequence[Document]


class Application(Model):
    """One application."""

    app: Document


class Candidate(Model):
    """A sub-cluster as it was weighed: higher scores are better, null is one that could not be chosen."""

    cluster: str
    score: float | None
    reason: str
    age_s: Seconds | None


class Verdict(Model):
    """Answer of a Local Master to the proposal of an application."""

    cluster: str
    verdict: str
    score: float | None
    reason: str
    age_s: Seconds | None


class Choice(Model):
    """The home that a submission would get now, null for none, and why."""

    home: str | None
    reason: str
    decided_by: str
    candidates: Sequence[Candidate]
    verdicts: Sequence[Verdict]


class Deadline(Model):
    """A deadline, and whether it will be met, as far as is known: `met` is `yes`, `no` or `unknown`."""

    at_ms: Moment
    left_s: Seconds
    met: str
    expected_end_ms: Moment | None
    known_from: str
    takes: str
    text: str


class Waited(Model):
    """Waiting of an application for its queue's turn."""

    submitted_at_ms: Moment
    started_at_ms: Moment
    waited_s: Seconds
    reason: str


class Act(Model):
    """An act of shares on an application: a container that was asked back or ended, for another queue."""

    at_ms: Moment
    done: str
    container: str
    cluster: str
    taker: str = field(name="for")
    reason: str


class Place(Model):
    """Place of a waiting application in its queue, from 1, and when its turn may be."""

    position: int
    of: int
    expected_s: Seconds | None


class Expectation(Model):
    """Work that an application is expected to need yet, by `ended` and `running` containers and others like it."""

    work_s: Seconds = 0.0
    container_s: Seconds = 0.0
    ended: int = 0
    running: int = 0
    alike: int = 0
    others: int = 0


class AskCandidate(Model):
    """A sub-cluster that containers may be asked of: its room, and how many are asked for and promised."""

    cluster: str
    room: int = 0
    age_s: Seconds = 0.0
    asked: int = 0
    promised: int = 0


class AskVerdict(Model):
    """Answer of a Local Master to proposed containers."""

    cluster: str
    proposed: int = 0
    accepted: int = 0
    verdict: str = ""
    age_s: Seconds | None = None
    reason: str = ""
    conflict: str | None = None


class Ask(Model):
    """Containers of one size and priority that an application asks for, and where Heddle asks for them."""

    priority: int
    request: int | None = None
    memory_mib: MiB = 0
    vcores: int = 0
    label: str = ""
    wanted: int = 0
    by: str = ""
    rule: str = ""
    reason: str = ""
    repairs: int = 0
    withheld: int = 0
    behind: Sequence[str] = ()
    expects: Expectation | None = None
    candidates: Sequence[AskCandidate] = ()
    verdicts: Sequence[AskVerdict] = ()


class PutOff(Model):
    """A stage of an altruistic job that is put off."""

    stage: str
    containers: int
    next_at_ms: Moment | None
    waits_for: Sequence[str]


class Stage(Model):
    """A stage of an altruistic job, and how much of it is known."""

    stage: str
    tasks: int | None
    memory_mib: MiB
    vcores: int
    waits_for: Sequence[str]
    waiting: int | None
    running: int
    ended: int
    task_s: Seconds | None
    sure: str


class Altruism(Model):
    """What a job puts off, gave and received, in seconds of the whole share of its queue."""

    queue: str
    shadow: bool
    unknown: str
    graph: str
    graph_from: str
    ends_by_ms: Moment | None
    share: float
    given_s: Seconds
    received_s: Seconds
    lent_containers: int
    lent_since_ms: Moment | None
    puts_off: Sequence[PutOff]
    stages: Sequence[Stage]


class Why(Model, kw_only=True):
    """The decision record of an application: why it is where it is, what it waits for, what was asked back from it.

    One that was not submitted through this federation lacks what a choice would tell.
    """

    waits: str | UnsetType = UNSET
    overtaken: str | UnsetType = UNSET
    application_id: str
    home: str | None
    submission: str | UnsetType = UNSET
    decided_at_ms: Moment | UnsetType = UNSET
    rejection: str | UnsetType | None = UNSET
    failed_attempts: int | UnsetType = UNSET
    last_failure: str | UnsetType = UNSET
    next_attempt_in_s: Seconds | UnsetType = UNSET
    deadline: Deadline | UnsetType = UNSET
    waited: Waited | UnsetType | None = UNSET
    reason: str
    decided_by: str | UnsetType = UNSET
    candidates: Sequence[Candidate]
    verdicts: Sequence[Verdict] | UnsetType = UNSET
    preemption: Sequence[Act] | UnsetType = UNSET
    place: Place | UnsetType | None = UNSET
    asks: Sequence[Ask]
    altruism: Altruism | UnsetType = UNSET


class Rehoming(Model):
    """The move of an application to another home; it goes on by itself while it is not `done`."""

    application_id: str
    user: str
    was: str
    home: str
    done: bool
    reason: str


class LogFile(Model):
    """A file of a container's logs."""

    file: str
    bytes: int


class ContainerFiles(Model):
    """Files of the logs of a container that runs, on its node."""

    container: str
    cluster: str
    node: str
    files: Sequence[LogFile]


class LogPart(Model):
    """A part of a file: `start` is the offset of its first byte, `size` the file's; null if the node does not tell.

    With a search there are also `matches`, the bytes that were `searched`, and whether older ones were left out.
    """

    container: str
    file: str
    text: str
    start: int | None
    size: int | None
    matches: int | UnsetType = UNSET
    searched: int | UnsetType = UNSET
    more: bool | UnsetType = UNSET


class AggregatedFile(Model):
    """A file that was aggregated."""

    container: str
    file: str
    bytes: int


class NodeLogs(Model):
    """What a node has aggregated; `wrong` says why that cannot be told."""

    cluster: str
    node: str
    wrong: str
    files: Sequence[AggregatedFile]


class AggregatedLogs(Model):
    """The aggregated logs of an application."""

    application: str
    nodes: Sequence[NodeLogs]
