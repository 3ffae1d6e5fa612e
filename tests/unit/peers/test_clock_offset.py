import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.peers.clock_offset import ClockOffset, shifted
from shim.testing.reports import a_report


@given(st.floats(-1e4, 1e4), st.lists(st.floats(0.0, 5.0), min_size=1, max_size=100))
def test_the_quickest_of_the_last_messages_tells_the_difference(difference_s, ways_s):
    offset = ClockOffset()
    for number, way_s in enumerate(ways_s):
        sent_at_s = 1e9 + number
        offset.note(sent_at_s=sent_at_s, received_at_s=sent_at_s + difference_s + way_s)
    told = difference_s + min(ways_s[-30:])
    assert offset.offset_s == pytest.approx(told if abs(told) >= 0.5 else 0.0, abs=0.51 if abs(told) < 0.51 else 1e-5)


def test_a_clock_that_was_set_is_followed_before_long():
    offset = ClockOffset()
    for difference_s in [0.0] * 40 + [60.0] * 30:
        offset.note(sent_at_s=1e9, received_at_s=1e9 + difference_s)
    assert offset.offset_s == 60.0


def test_who_does_not_say_when_is_believed():
    offset = ClockOffset()
    offset.note(sent_at_s=0.0, received_at_s=1e9)
    assert offset.offset_s == 0.0


def test_a_report_of_a_clock_that_agrees_is_the_same_report():
    report = a_report("east")
    assert shifted(report, 0.0) is report
