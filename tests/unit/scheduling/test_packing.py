"""Tetris: scores to the digit, its knobs, and its choices against a slow search that scores everything anew."""

from hypothesis import given, settings
from hypothesis import strategies as st

from shim.scheduling.packing import PackingRules, tetris
from tests.support.cycle_scenes import CycleScene
from tests.support.examples import examples

PACKING = tetris(PackingRules(short_jobs=0.0, fairness=0.0))


def placed(policy, scene):
    return [(grant.request, grant.place) for grant in scene.decide(policy).grants]


def test_what_uses_the_room_that_there_is_goes_first():
    # in parts of a node of (8, 8) with room (8, 2): (4, 1) scores 0.5 x 1 + 0.125 x 0.25 = 0.53125, (2, 2) 0.3125
    scene = CycleScene([[8, 2], [0, 0]])
    scene.free[1] = (0, 8)
    wide, square = scene.ask(9, (4, 1), arrived_s=5.0), scene.ask(9, (2, 2))
    assert placed(PACKING, scene)[:2] == [(wide, 0), (wide, 0)]
    assert square not in [request for request, _ in placed(PACKING, scene)]


def test_short_jobs_go_first_when_they_count_enough():
    scene = CycleScene([[4, 4]])
    long = scene.ask(9, (4, 4), expected_s=100.0)
    short = scene.ask(1, (2, 2), expected_s=1.0)
    assert placed(PACKING, scene)[0] == (long, 0)
    assert placed(tetris(PackingRules(short_jobs=5.0, fairness=0.0)), scene)[0] == (short, 0)


def test_near_one_only_the_job_that_has_least_is_looked_at():
    scene = CycleScene([[8, 8]])
    scene.ask(9, (4, 4), job=scene.job(running=5.0))
    poor = scene.ask(9, (1, 1), job=scene.job(running=1.0))
    assert placed(tetris(PackingRules(short_jobs=0.0, fairness=0.9)), scene)[0] == (poor, 0)


def slow_packing(free, asks, short_jobs):
    """Every score anew for each container, without arrays."""
    size = [max(1, *(node[kind] for node in free)) for kind in (0, 1)]
    left, found = [count for count, _, _ in asks], []
    work = [count * seconds * (a / size[0] + b / size[1]) for count, (a, b), seconds in asks]
    for number, node in enumerate(free):
        room = list(node)
        while True:
            fitting = [at for at, (_, (a, b), _) in enumerate(asks) if left[at] and a <= room[0] and b <= room[1]]
            if not fitting:
                break
            aligned = {
                at: sum(asks[at][1][kind] / size[kind] * room[kind] / size[kind] for kind in (0, 1)) for at in fitting
            }
            mean_work = sum(work[at] for at in fitting) / len(fitting)
            penalty = short_jobs * sum(aligned.values()) / len(fitting) / mean_work
            scores = {at: aligned[at] - penalty * work[at] for at in fitting}
            found.append(max(scores.values()) - 1e-9)
            best = next(at for at in fitting if scores[at] > found[-1])
            found[-1] = (best, number)
            left[best] -= 1
            room = [room[kind] - asks[best][1][kind] for kind in (0, 1)]
    return found


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=4),
    st.lists(
        st.tuples(
            st.integers(1, 4), st.tuples(st.integers(1, 4), st.integers(1, 4)), st.sampled_from([1.0, 3.0, 7.0, 20.0])
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([0.0, 1.0]),
)
def test_it_chooses_as_the_slow_search_does(free, asks, short_jobs):
    scene = CycleScene(free)
    rows = [
        scene.ask(count, demand, expected_s=seconds, arrived_s=float(at))
        for at, (count, demand, seconds) in enumerate(asks)
    ]
    found = placed(tetris(PackingRules(short_jobs, 0.0)), scene)
    assert [(rows.index(row), node) for row, node in found] == slow_packing(free, asks, short_jobs)
