"""Problems that a queue's next cycle would have solved, and how an answer is read once the world has moved on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from shim.domain.ids import NodeId
from shim.scheduling.plan import Plan
from shim.scheduling.policy import Problem, Solver
from shim.scheduling.queue_rows import QueueRows, RowKey
from shim.scheduling.snapshot import RequestColumn, Snapshot
from shim.scheduling.solving import improve

__all__ = ["AnswersNow", "StatedProblems"]


@dataclass(frozen=True, slots=True)
class StatedProblems:
    """Problems of a queue for solvers, and their answers.

    Attributes:
        order: The policy that asks, as `queue_policy` knows it.
        problems: Of nodes without a label (False), and of those with labels.
        snapshots: What they were stated on, likewise; good until the next change of the queue's rows.
        rows: What each row stood for: by the time of the answer it may stand for something else.
        nodes: By their rows, likewise.
        answers: As far as there are any, in time.
    """

    order: str
    problems: Mapping[bool, Problem]
    snapshots: Mapping[bool, Snapshot]
    rows: Mapping[int, RowKey]
    nodes: tuple[NodeId, ...]
    answers: Mapping[bool, object] = field(default_factory=dict)

    @classmethod
    def of(
        cls, order: str, problems: Mapping[bool, Problem], snapshots: Mapping[bool, Snapshot], rows: QueueRows
    ) -> "StatedProblems":
        """Note what the rows of problems stand for."""
        return cls(order, problems, snapshots, rows.by_row(), rows.node_names())

    def answers_for(self, rows: QueueRows) -> "AnswersNow | None":
        """Read the answers by what rows stand for at present; None if the nodes have changed."""
        return AnswersNow(self, rows.by_row()) if self.nodes == rows.node_names() else None


@dataclass(frozen=True, slots=True)
class AnswersNow:
    """Answers to problems that were stated a while ago.

    Attributes:
        rows: What each row stands for at present.
    """

    stated: StatedProblems
    rows: Mapping[int, RowKey]

    def improve(self, snapshot: Snapshot, solver: Solver, greedy: Plan, *, has_label: bool) -> Plan:
        """Give the better of a greedy plan and what an answer is worth now.

        Args:
            snapshot: What is known now.
            solver: Of the policy that asked.
            greedy: Its plan of `snapshot`.
            has_label: Which of the problems it is.
        """
        if has_label not in self.stated.answers:
            return greedy
        problem = replace(self.stated.problems[has_label], greedy=greedy)
        return improve(self._as_stated(snapshot), solver, problem, self.stated.answers[has_label])

    def _as_stated(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot in which rows want nothing that stand for something else by now, or are not to be planned."""
        requests = snapshot.requests
        live = set(requests.live.tolist())
        others = [row for row, key in self.stated.rows.items() if row not in live or self.rows.get(row) != key]
        if not others:
            return snapshot
        numbers = requests.numbers.copy()
        numbers[RequestColumn.COUNT, others] = 0
        return replace(snapshot, requests=replace(requests, numbers=numbers))
