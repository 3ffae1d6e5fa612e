"""What is no graph of stages is refused, naming what is wrong."""

import numpy as np
import pytest

from altruism import Progress, StageGraph, StageGraphError
from fairness import ShapeMismatchError

DIAMOND = StageGraph.of([[0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0]], [1, 2, 3, 4], [[0.1]] * 4, [1.0] * 4)


def test_parents_come_before_children():
    assert DIAMOND.order == (0, 1, 2, 3)
    assert DIAMOND.reversed().order == (3, 2, 1, 0)
    assert DIAMOND.parents() == [[], [0], [0], [1, 2]]
    assert DIAMOND.children() == DIAMOND.reversed().parents()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        pytest.param(([[0, 1], [1, 0]], [1, 1], [[1], [1]], [1, 1]), StageGraphError, r"stages \[0, 1\]", id="a cycle"),
        pytest.param(([[1]], [1], [[1]], [1]), StageGraphError, r"stages \[0\]", id="a loop"),
        pytest.param(([[0, 0]], [1], [[1]], [1]), ShapeMismatchError, "needs has shape", id="edges"),
        pytest.param(([[0]], [1], [[1], [1]], [1]), ShapeMismatchError, "demand has shape", id="demands"),
        pytest.param(([[0]], [1], [[1]], [1, 2]), ShapeMismatchError, "duration has shape", id="durations"),
        pytest.param(([[0]], [-1], [[1]], [1]), ValueError, "tasks holds a negative", id="negative tasks"),
        pytest.param(([[0]], [1], [[1]], [np.inf]), ValueError, "must be finite", id="endless tasks"),
    ],
)
def test_what_is_no_graph_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        StageGraph.of(*arguments)


def test_mean_demand_weighs_stages_by_their_tasks():
    graph = StageGraph.of(np.zeros((2, 2)), [3, 1], [[0.1, 0.0], [0.5, 0.4]], [1, 1])
    np.testing.assert_allclose(graph.mean_demand(), [0.2, 0.1])
    assert StageGraph.of(np.zeros((0, 0)), [], np.zeros((0, 2)), []).mean_demand().tolist() == [0.0, 0.0]


def test_progress_counts_what_waits_and_what_runs():
    progress = Progress.of([0, 1, 3, 4], [0, 1], [1, 1], [2.0, 0.5])
    assert progress.unfinished().tolist() == [1, 2, 3, 4]
    assert progress.held(DIAMOND).tolist() == [0.2]
    assert progress.remaining_work(DIAMOND) == pytest.approx(0.1 * (8 * 1.0 + 2.5))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (([1], [0], [1, 1], [1.0]), "run_count has shape"),
        (([1], [0, 0], [1], [1.0]), "run_stage has shape"),
        (([1], [0], [1], [1.0, 2.0]), "run_stage has shape"),
        (([[1]], [0], [1], [1.0]), "waiting has 2 dimensions"),
        (([1], [[0]], [1], [1.0]), "run_stage has 2 dimensions"),
        (([1], [0], 1, [1.0]), "run_count has 0 dimensions"),
        (([1], [0], [1], [[1.0]]), "run_rest has 2 dimensions"),
    ],
)
def test_progress_of_other_axes_is_refused(given, named):
    with pytest.raises(ShapeMismatchError, match=named):
        Progress.of(*given)


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("odd", [-1, float("nan")])
def test_a_progress_of_less_than_nothing_is_refused(at, odd):
    given = [[1], [0], [1], [1.0]]
    given[at] = [odd]
    named = ("waiting", "run_stage", "run_count", "run_rest")[at]
    with pytest.raises(ValueError, match=f"{named} holds a negative amount or NaN"):
        Progress.of(*given)


def test_a_progress_keeps_what_it_was_given():
    progress = Progress.of([4, 0, 2, 9], [3, 1], [5, 6], [0.25, 7.5])
    assert [each.tolist() for each in (progress.waiting, progress.run_stage, progress.run_count)] == [
        [4, 0, 2, 9],
        [3, 1],
        [5, 6],
    ]
    assert progress.run_rest.tolist() == [0.25, 7.5]
    assert all(each.dtype == np.int64 for each in (progress.waiting, progress.run_stage, progress.run_count))
    assert Progress.of([1]).run_rest.size == Progress.of([1]).run_stage.size == 0
