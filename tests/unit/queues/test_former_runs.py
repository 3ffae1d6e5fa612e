"""Former runs of jobs outlive the process that learnt them, and reach whoever owns their queue next."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.ports.queue_stores import KeptRun
from shim.queues.former_runs import FormerRunKeeping
from shim.scheduling.durations import FormerRuns
from shim.scheduling.former_runs import FormerStage
from shim.simulation.stores import InMemoryFormerRunStore
from tests.doubles.clock import FakeClock

JOB = "ada SPARK nightly-#"
STAGES = (FormerStage((1.0, 2.5), 8, (), 3.0, 0.0, 9.0), FormerStage((4.0,), 1, (0,), 0.0, 9.0, 13.0))


class Heddles:
    """Processes over one store."""

    def __init__(self):
        self.clock, self.store = FakeClock(1_000_000.0), InMemoryFormerRunStore()

    def start(self):
        runs = FormerRuns()
        return runs, FormerRunKeeping(runs, self.store, self.clock)


@pytest.fixture
def heddles():
    return Heddles()


async def test_a_restart_has_the_runs_of_the_life_before(heddles):
    runs, keeping = heddles.start()
    runs.observe("root.etl", JOB, 9, 20.0)
    runs.observe_stages("root.etl", JOB, STAGES)
    await keeping.turn()
    again, keeping = heddles.start()
    assert again.of("root.etl", JOB) is None
    await keeping.turn()
    assert again.of("root.etl", JOB) == runs.of("root.etl", JOB)
    assert again.stages_of("root.etl", JOB) == STAGES
    assert again.of("root.other", JOB) is None


async def test_what_the_store_did_not_take_is_written_later(heddles):
    runs, keeping = heddles.start()
    runs.observe_stages("root.etl", JOB, STAGES)
    heddles.store.is_away = True
    await keeping.turn()
    runs.observe("root.etl", "ada SPARK other", 2, 4.0)
    heddles.store.is_away = False
    await keeping.turn()
    again, keeping = heddles.start()
    await keeping.turn()
    assert again.stages_of("root.etl", JOB) == STAGES
    assert again.of("root.etl", "ada SPARK other").containers == 2


async def test_one_process_hears_of_what_another_has_learnt(heddles):
    (mine, keeping), (others, their_keeping) = heddles.start(), heddles.start()
    await keeping.turn()
    others.observe_stages("root.etl", JOB, STAGES)
    await their_keeping.turn()
    heddles.clock.wall_s += 70.0
    await keeping.turn()
    assert mine.stages_of("root.etl", JOB) == STAGES
    assert dict(mine.changed()) == {}, "what was heard is not written once more"


async def test_what_was_learnt_here_goes_before_what_is_kept(heddles):
    runs, keeping = heddles.start()
    runs.observe("root.etl", JOB, 9, 20.0)
    await keeping.turn()
    again, keeping = heddles.start()
    again.observe("root.etl", JOB, 3, 3.0)
    heddles.store.is_away = True
    await keeping.turn()
    heddles.store.is_away = False
    heddles.clock.wall_s += 100.0
    await keeping.turn()
    assert again.of("root.etl", JOB).containers == 3


WELL = {"queue": "root.etl", "job": JOB, "run": [9, 2.0, 1], "stages": [[[1.0], 8, [], 0, 0, 1]]}
BAD = [
    "", "[]", "null", "{}", "[" * 100_000,
    *(
        json.dumps(WELL | part)
        for part in (
            {"run": [0, 2.0, 1]}, {"run": [9, -1.0, 1]}, {"run": [9, "nan", 1]}, {"run": 7}, {"run": [1e400, 1.0, 1]},
            {"stages": [[[], 8, [], 0, 0, 1]]}, {"stages": [[[1.0], 0, [], 0, 0, 1]]}, {"stages": [7]},
            {"stages": [[[1.0], 8, [0], 0, 0, 1]]},
            {"stages": [[[1.0], 8, [-1], 0, 0, 1]]}, {"stages": [[["inf"], 8, [], 0, 0, 1]]},
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
async def test_a_row_that_no_heddle_wrote_is_as_if_the_job_had_never_run(heddles, text):
    await heddles.store.keep([KeptRun("a", 1, text), KeptRun("b", 2, json.dumps(WELL | {"job": "other"}))])
    runs, keeping = heddles.start()
    await keeping.turn()
    assert runs.of("root.etl", JOB) is None
    assert runs.stages_of("root.etl", JOB) == ()
    assert runs.of("root.etl", "other").containers == 9


@given(st.text(max_size=50), st.text(max_size=50))
async def test_any_name_of_a_queue_or_job_comes_back(queue, name):
    heddles = Heddles()
    runs, keeping = heddles.start()
    runs.observe_stages(queue, f"ada SPARK {name}", STAGES)
    await keeping.turn()
    assert all(kept.text.isascii() for kept in heddles.store.runs.values())
    again, keeping = heddles.start()
    await keeping.turn()
    assert again.stages_of(queue, f"ada SPARK {name}") == STAGES
