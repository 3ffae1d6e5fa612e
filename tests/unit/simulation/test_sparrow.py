"""Sparrow's decisions: batches, draws, late binding, cancellation, queues."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.simulation.engine import seeded
from shim.simulation.sparrow import (
    Batch,
    Binding,
    ReservationQueue,
    Sampling,
    SparrowRules,
    SparrowScheduler,
    batches_of,
    draw_nodes,
    least_loaded,
)

BATCH = Batch(job=0, constraints=0, tasks=(0, 1))
OTHER = Batch(job=1, constraints=0, tasks=(0,))


def test_tasks_of_equal_constraints_form_one_batch():
    assert batches_of(3, (1, 0, 1), 3) == [Batch(3, 1, (0, 2)), Batch(3, 0, (1,))]
    assert batches_of(3, (), 2) == [Batch(3, 0, (0, 1))]


@given(st.integers(1, 9), st.integers(0, 40), st.integers(0, 9))
def test_no_node_is_drawn_twice_before_all_others_once(n_candidates, number, seed):
    candidates = range(100, 100 + n_candidates)
    drawn = Counter(draw_nodes(seeded(seed, "test"), candidates, number))
    counts = [drawn[node] for node in candidates]
    assert sum(counts) == number
    assert max(counts) - min(counts) <= 1


def test_a_draw_with_replacement_may_repeat():
    drawn = draw_nodes(seeded(1, "test"), range(2), 20, distinct=False)
    assert len(drawn) == 20
    assert abs(drawn.count(0) - 10) > 0


@pytest.mark.parametrize(
    ("sampling", "n_tasks", "nodes", "chosen"),
    [
        (Sampling.BATCH, 2, [7, 8, 9, 6], [9, 8]),
        (Sampling.PER_TASK, 2, [7, 8, 9, 6], [8, 9]),
    ],
)
def test_early_binding_takes_the_least_loaded_of_what_was_asked(sampling, n_tasks, nodes, chosen):
    loads = {6: 5, 7: 4, 8: 1, 9: -2}
    assert least_loaded(SparrowRules(sampling=sampling), n_tasks, nodes, loads) == chosen


@given(st.integers(1, 8), st.integers(1, 20), st.randoms(use_true_random=False))
def test_each_task_is_bound_once_and_every_other_reservation_is_cancelled(n_tasks, n_nodes, rng):
    batch = Batch(0, 0, tuple(range(n_tasks)))
    scheduler = SparrowScheduler(SparrowRules())
    reserved = scheduler.submit(batch, range(n_nodes), rng)
    rng.shuffle(reserved)
    bindings = [scheduler.bind(batch, node) for node in reserved]
    assert [binding.task for binding in bindings] == [*range(n_tasks), *[None] * n_tasks]
    assert Counter(bindings[n_tasks - 1].cancelled) == Counter(reserved[n_tasks:])
    assert all(not binding.cancelled for position, binding in enumerate(bindings) if position != n_tasks - 1)


def test_without_cancellation_left_over_reservations_stay():
    scheduler = SparrowScheduler(SparrowRules(cancellation=False))
    node, *_ = scheduler.submit(OTHER, range(5), seeded(1, "test"))
    assert scheduler.bind(OTHER, node) == Binding(0)
    assert scheduler.bind(OTHER, node) == Binding(None)


@pytest.mark.parametrize(("sampling", "n_nodes"), [(Sampling.NONE, 2), (Sampling.PER_TASK, 4), (Sampling.BATCH, 4)])
def test_the_number_of_probes_follows_the_rules(sampling, n_nodes):
    rules = SparrowRules(sampling=sampling, late_binding=False)
    assert len(SparrowScheduler(rules).submit(BATCH, range(100), seeded(1, "test"))) == n_nodes


def test_a_queue_serves_in_order_and_only_into_free_slots():
    queue = ReservationQueue(n_slots=1)
    queue.reserve(BATCH)
    queue.reserve(OTHER)
    assert queue.load == 1
    assert queue.due() is BATCH
    assert (queue.due(), queue.load) == (None, 1)
    queue.free()
    assert queue.due() is OTHER


def test_a_cancelled_reservation_is_not_served_and_a_late_cancellation_does_nothing():
    queue = ReservationQueue(n_slots=2)
    queue.reserve(BATCH)
    queue.reserve(BATCH)
    queue.cancel(BATCH)
    assert queue.due() is BATCH
    assert queue.due() is None
    queue.cancel(BATCH)
    assert queue.load == -1
