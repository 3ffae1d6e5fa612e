"""Reasons why containers wait, as people are told."""

import pytest

from shim.domain.allocations import AskKey
from shim.domain.resources import ResourceVector
from shim.multicluster.core.splitter import AskDecision
from shim.server.rest.asks_shown import shown_asks

KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))


def reason(**fields):
    decision = AskDecision(KEY, 4, {}, {}, by="heddle", candidates=(), verdicts=(), repairs=0, **fields)
    (shown,) = shown_asks([decision])
    return shown["reason"]


@pytest.mark.parametrize(
    ("behind", "told"),
    [
        ((), "4 wait in Heddle, for the next plan of the queue"),
        (("a",), "4 wait in Heddle, as others of the queue go first: a"),
        (tuple("abcde"), "4 wait in Heddle, as others of the queue go first: a, b, c, 2 more"),
    ],
)
def test_who_goes_first_is_named_if_anybody_does(behind, told):
    assert reason(reason="", withheld=4, behind=behind) == told


def test_what_is_asked_for_needs_no_reason():
    assert reason(reason="", withheld=0) == ""
    assert reason(reason="no room", withheld=0, rule="tetris") == ""


def test_a_policy_that_holds_back_says_why():
    assert reason(reason="no room", withheld=4, rule="tetris") == "4 wait in Heddle by tetris: no room"
