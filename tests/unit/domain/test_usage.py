"""Accounts add what several ResourceManagers tell: nothing falls, and nothing counts twice."""

from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import SubClusterId
from shim.domain.usage import Account, PartUsage, Usage

EAST, WEST = SubClusterId("east"), SubClusterId("west")
LIFE, NEXT = (1, 1), (2, 1)


def told(memory, **holds):
    return Usage({"memory_mib_s": memory}, holds)


def test_a_counter_that_falls_within_a_life_stays_as_it_was():
    part = PartUsage(LIFE).after(told(100), LIFE, 1.0).after(told(99), LIFE, 2.0)
    assert part.spent == {"memory_mib_s": 100}
    assert part.after(told(101), LIFE, 3.0).spent == {"memory_mib_s": 101}


def test_what_a_new_life_has_forgotten_is_kept_beside_it():
    part = PartUsage(LIFE).after(told(100), LIFE, 1.0).after(told(30), NEXT, 2.0)
    assert part.spent == {"memory_mib_s": 100}
    assert part.after(told(50), NEXT, 3.0).spent == {"memory_mib_s": 120}
    kept = PartUsage(LIFE).after(told(100), LIFE, 1.0).after(told(110), NEXT, 2.0)
    assert kept.spent == {"memory_mib_s": 110}, "a restart that forgets nothing counts nothing twice"


def test_an_old_answer_changes_nothing():
    part = PartUsage(LIFE).after(told(100, containers=2), NEXT, 5.0)
    assert part.after(told(10), LIFE, 4.0) is part


def test_the_whole_is_the_home_as_it_tells_now_with_the_others_as_told_last():
    west = PartUsage(LIFE).after(told(50, containers=3, vcores=9), LIFE, 1.0)
    account = Account(EAST, {EAST: PartUsage(LIFE).after(told(100), LIFE, 1.0), WEST: west})
    assert account.whole(told(107, containers=2)) == Usage({"memory_mib_s": 157}, {"containers": 5})
    assert account.whole(told(90)) == Usage({"memory_mib_s": 150}, {}), (
        "not less than before; it holds nothing any more"
    )
    assert Account(None, {WEST: west}).whole(told(1)).spent == {"memory_mib_s": 51}


@given(
    st.lists(
        st.tuples(st.sampled_from([EAST, WEST]), st.integers(0, 3), st.integers(0, 100), st.booleans()), max_size=30
    )
)
def test_a_whole_never_falls_and_is_the_sum_where_nothing_restarts(steps):
    parts, before, lives = {}, 0, {EAST: 1, WEST: 1}
    for number, (name, _, amount, restarts) in enumerate(steps):
        lives[name] += restarts
        known = parts.get(name, PartUsage((lives[name], 1)))
        parts[name] = known.after(told(amount), (lives[name], 1), float(number))
        home = parts.get(EAST, PartUsage(LIFE))
        whole = Account(EAST, parts).whole(Usage(home.seen)).spent.get("memory_mib_s", 0)
        assert whole >= before
        before = whole
    if not any(restarts for *_, restarts in steps):
        largest = [max((amount for each, _, amount, _ in steps if each == name), default=0) for name in (EAST, WEST)]
        assert before == sum(largest)
