import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.scheduling.queue_spells import QueueSpells

STEP = 2.0**0.25
"""A horizon is rounded up by less."""


def spells_of(*lasted_s):
    """Spells that lasted so long, with a second between them; nobody waits by now, whenever that is."""
    spells, now_s = QueueSpells(), 0.0
    spells.hear(now_s, 0.0)
    for each_s in lasted_s:
        spells.hear(now_s + each_s, each_s)
        now_s += each_s + 1.0
        spells.hear(now_s, 0.0)
    return spells, now_s


@given(st.floats(0.001, 1e9))
def test_a_first_spell_is_expected_to_last_as_long_again_and_a_task_counts_twice_that(waited_s):
    spells, now_s = spells_of()
    assert 2.0 * waited_s * 0.999 <= spells.horizon_s(now_s + waited_s) <= 2.0 * waited_s * STEP * 1.001


def test_spells_that_lasted_longer_tell_how_long_this_one_may_last_yet():
    spells, now_s = spells_of(3.0, 10.0, 30.0)
    # after 5 s: 5 s of the second are left, 25 s of the third, and as long again
    assert spells.horizon_s(now_s + 5.0) == pytest.approx(2.0 * (5.0 + 25.0 + 5.0) / 3.0, rel=STEP - 1.0)
    # after 40 s: as long again
    assert spells.horizon_s(now_s + 40.0) == pytest.approx(80.0, rel=STEP - 1.0)


def test_somebody_waits_until_the_newest_moment_at_which_nobody_did_anywhere():
    spells = QueueSpells()
    for at_s, waited_s in ((5.0, 2.0), (6.0, 0.0), (9.0, 2.5), (10.0, 9.0)):
        spells.hear(at_s, waited_s)
    assert spells.horizon_s(14.5) == 16.0, "since 6.5 s"


def test_that_nobody_waits_is_no_spell_however_seldom_it_is_told():
    spells = QueueSpells()
    for at_s in (10.0, 40.0, 70.0):
        spells.hear(at_s, 0.0)
    assert spells.horizon_s(71.0) == 2.0


def test_a_spell_counts_for_as_long_as_it_was_heard_of():
    spells = QueueSpells()
    for at_s, waited_s in ((10.0, 4.0), (12.0, 6.0), (50.0, 0.0)):
        spells.hear(at_s, waited_s)
    # after 1 s: 5 s of those 6 are left, and as long again
    assert spells.horizon_s(51.0) == pytest.approx(2.0 * (5.0 + 1.0) / 2.0, rel=STEP - 1.0)


@given(st.lists(st.floats(0.01, 1e6), min_size=300, max_size=600))
def test_old_spells_are_forgotten(lasted_s):
    kept, of_the_last = spells_of(*lasted_s), spells_of(*lasted_s[-256:])
    waited_s = 0.5
    kept_s, last_s = (spells.horizon_s(now_s + waited_s) for spells, now_s in (kept, of_the_last))
    assert kept_s == pytest.approx(last_s, rel=STEP - 1.0)
