from dataclasses import replace
from random import Random

from shim.domain.ids import SubClusterId
from shim.scheduling.sampled_clusters import SampledClusters
from tests.unit.scheduling.test_queue_table import FIRST, SECOND, a_request

NAMES = frozenset(map(SubClusterId, ("a", "b", "c", "d")))
REQUEST = replace(a_request(3), may_use=NAMES)


def drawing(seed):
    return SampledClusters(Random(seed))  # noqa: S311 - a test repeats itself


def test_a_request_keeps_its_sub_clusters_while_it_waits_and_a_later_one_draws_anew():
    samples = drawing(1)
    drawn = samples.of(FIRST, REQUEST, 1.0, 2)
    assert len(drawn) == 2
    assert drawn <= NAMES
    assert all(samples.of(FIRST, replace(REQUEST, wanted=wanted), 1.0, 2) == drawn for wanted in range(1, 9))
    assert any(samples.of(FIRST, REQUEST, float(since_s), 2) != drawn for since_s in range(2, 30))


def test_every_sub_cluster_is_drawn_by_somebody():
    samples = drawing(1)
    drawn = [samples.of(FIRST, REQUEST, float(since_s), 2) for since_s in range(60)]
    assert frozenset().union(*drawn) == NAMES
    assert len(set(drawn)) == 6, "each pair"


def test_one_that_grants_nothing_or_cannot_be_asked_gives_its_place_to_another():
    samples = drawing(2)
    first, second = sorted(samples.of(FIRST, REQUEST, 1.0, 2))
    now = samples.of(FIRST, replace(REQUEST, avoided=frozenset({first})), 1.0, 2)
    assert second in now
    assert first not in now
    assert second not in samples.of(FIRST, replace(REQUEST, may_use=NAMES - {second}), 1.0, 2)
    only = replace(REQUEST, may_use=frozenset({first, second}), avoided=frozenset({first}))
    assert samples.of(FIRST, only, 1.0, 2) == {first, second}, "where there is no other, it keeps its place"


def test_sub_clusters_that_have_the_data_are_drawn_first():
    local = replace(REQUEST, local={SubClusterId("d"): 2})
    samples = drawing(3)
    assert all(SubClusterId("d") in samples.of(FIRST, local, float(since_s), 2) for since_s in range(20))


def test_what_waits_no_more_is_forgotten():
    samples = drawing(1)
    for attempt in (FIRST, SECOND):
        samples.of(attempt, REQUEST, 1.0, 2)
    assert len(samples) == 2
    samples.keep([(SECOND, REQUEST.key)])
    assert len(samples) == 1
