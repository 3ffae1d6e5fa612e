"""A Tez session of several DAGs in an altruistic queue: each is planned by its own graph, and does all its work."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from shim.lab import Lab
from tests.support.altruism_jobs import AltruismJobs, SleepingDag, policy_of
from tests.support.heddle_process import HeddleProcess
from tests.support.spanning import spanning_secret

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

FIRST = SleepingDag("first", {"scan": (6, 3000), "end": (1, 1000)}, {"end": ("scan",)})
SECOND = SleepingDag(
    "second",
    {"orders": (12, 5000), "items": (8, 5000), "joined": (2, 5000), "end": (1, 1000)},
    {"joined": ("orders", "items"), "end": ("joined",)},
)


def _planned(told: Mapping[str, Any], dag: SleepingDag) -> bool:
    """Whether a plan was told of this DAG: of its graph alone, with the time at which it ends."""
    waits = {row["stage"]: set(row["waits_for"]) for row in told["stages"]}
    is_its = waits == {stage: set(dag.needs.get(stage, ())) for stage in dag.stages}
    tasks = {row["stage"]: row["tasks"] for row in told["stages"]}
    return bool(is_its and tasks == {stage: count for stage, (count, _) in dag.stages.items()} and told["ends_by_ms"])


def test_every_dag_of_a_session_is_planned_by_its_own_graph_and_does_all_its_work(lab: Lab, tmp_path: Path) -> None:
    done = tmp_path / "done"
    more = policy_of(tmp_path, altruism=1.0, span=False)
    seen: list[dict[str, Any]] = []
    with spanning_secret(tmp_path), HeddleProcess(lab, tmp_path, more=more) as heddle:
        jobs = AltruismJobs(lab, tmp_path, heddle)
        with jobs.asking() as http, ThreadPoolExecutor(1) as pool:
            session = pool.submit(jobs.session, "session", FIRST, SECOND, done=done)
            while wait([session], timeout=0.5).not_done:
                seen += [told for _, told in jobs.told_of_altruism(http)]
            printed = session.result()

    assert printed.count("state SUCCEEDED") == 2, printed
    tasks = {
        f"{dag.name}.{stage}.{task}" for dag in (FIRST, SECOND) for stage in dag.stages for task in _of(dag, stage)
    }
    assert {file.name.rpartition(".")[0] for file in done.iterdir()} == tasks
    graphs = [told["graph"] for told in seen if told["stages"]]
    assert list(dict.fromkeys(graphs)) == ["first", "second"], graphs
    assert {told["graph_from"] for told in seen if told["stages"]} == {"the session's recovery log"}
    reasons = dict.fromkeys((told["graph"], told["unknown"]) for told in seen)
    assert any(_planned(told, SECOND) for told in seen), f"the second was not planned: {list(reasons)}"
    strange = {(told["graph"], row["stage"]) for told in seen for row in told["puts_off"]}
    assert all(stage in {"first": FIRST, "second": SECOND}[graph].stages for graph, stage in strange), strange


def _of(dag: SleepingDag, stage: str) -> range:
    """Numbers of a stage's tasks."""
    return range(dag.stages[stage][0])
