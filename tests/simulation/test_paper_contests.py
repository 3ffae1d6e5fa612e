"""Each published system wins on a workload that it is for: contests of policies.md by one seed each."""

import pytest

from scripts.paper_contests import CONTESTS, Contest
from shim.scheduling.queue_policies import QUEUE_POLICIES

ONE_SEED = range(1, 2)


@pytest.mark.parametrize("contest", CONTESTS, ids=lambda contest: contest.system)
def test_the_system_needs_less_than_its_rivals(contest):
    verdict = contest.judge(ONE_SEED)
    assert verdict.lost_to == (), verdict.needs


def test_a_contest_is_lost_to_each_rival_that_needs_too_little():
    ways = {"own": lambda seed: 10.0 * seed, "near": lambda seed: 11.0 * seed, "far": lambda seed: 30.0 * seed}
    contest = Contest("own", "a claim", "s", ways, {"near": 1.2, "far": 2.0})
    verdict = contest.judge(range(1, 4))
    assert verdict.needs == {"own": 20.0, "near": 22.0, "far": 60.0}
    assert verdict.lost_to == ("near",)


def test_every_contest_is_of_a_policy_and_names_its_rivals():
    for contest in CONTESTS:
        assert contest.system.partition(",")[0] in QUEUE_POLICIES
        assert contest.least.keys() <= contest.ways.keys()
        assert next(iter(contest.ways)) not in contest.least
