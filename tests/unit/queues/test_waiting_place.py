"""What a client is told of its application's place."""

import pytest

from shim.queues.waiting_place import WaitingPlace


@pytest.mark.parametrize(
    ("expected_s", "told"),
    [(None, "3 of 9: full."), (90.0, "3 of 9; about 90 s at"), (600.0, "about 10 min at"), (9000.0, "about 2 h at")],
)
def test_position_and_time_are_told(expected_s, told):
    assert told in WaitingPlace(3, 9, expected_s).told("full")
