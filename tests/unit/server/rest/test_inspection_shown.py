"""What `heddle app why` and the console are told of one application."""

import pytest

from shim.federation.deadline_outlook import DeadlineOutlook
from shim.server.rest.inspection_shown import shown_deadline


@pytest.mark.parametrize(("ends_s", "ends_ms"), [(1_700_000_040.5, 1_700_000_040_500), (None, None)])
def test_times_of_a_deadline_are_told_in_milliseconds_and_what_is_left_in_seconds(ends_s, ends_ms):
    shown = shown_deadline(DeadlineOutlook(1_700_000_060.25, 40.04, "yes", ends_s, "2 earlier runs", "2 containers"))
    assert (shown.at_ms, shown.expected_end_ms, shown.left_s) == (1_700_000_060_250, ends_ms, 40.0)
    assert (shown.met, shown.known_from, shown.takes) == ("yes", "2 earlier runs", "2 containers")
