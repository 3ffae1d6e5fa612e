"""Reasons why containers wait, as people are told."""

from dataclasses import replace

import pytest

from shim.domain.allocations import NEAR_DATA, AskKey
from shim.domain.ids import SubClusterId
from shim.domain.launches import ConflictKind, LaunchVerdict, Verdict, WorkEstimate
from shim.domain.resources import ResourceVector
from shim.multicluster.core.splitter import AskDecision, Weighed
from shim.multicluster.splitters import MatchingStatus
from shim.server.rest.asks_shown import shown_asks, shown_matching

EAST, WEST = SubClusterId("east"), SubClusterId("west")
EXPECTED = (
    "it is expected to need 10.0 s of containers yet, 2.5 s each by 3 that have ended, 4 that run and 6 applications, "
    "5 of them like it"
)
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


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"asked": {EAST: 3, WEST: 2}, "reason": "spare", "rule": "sparrow"}, "by sparrow: spare"),
        ({"asked": {EAST: 3, WEST: 1}, "reason": "spare", "rule": "sparrow"}, ""),
        ({"reason": f"{NEAR_DATA} 15 s", "rule": "fifo"}, f"by fifo: {NEAR_DATA} 15 s"),
        ({"reason": "no view", "withheld": 2}, "no view"),
        ({"reason": "no view"}, "no view"),
        ({"rule": "tetris", "withheld": 2}, "2 wait in Heddle, for the next plan of the queue"),
        ({"rule": "tetris", "behind": ("a",)}, ""),
        ({"withheld": 2, "gang": "3 of 4 are held"}, "3 of 4 are held"),
        (
            {"withheld": 2, "gang": "3 of 4 are held", "behind": ("a",)},
            "3 of 4 are held; 2 wait in Heddle, as others of the queue go first: a",
        ),
        ({"withheld": 2, "behind": tuple("abc")}, "2 wait in Heddle, as others of the queue go first: a, b, c"),
        (
            {"withheld": 2, "behind": tuple("abcd")},
            "2 wait in Heddle, as others of the queue go first: a, b, c, 1 more",
        ),
        (
            {"withheld": 2, "estimate": WorkEstimate(10.0, 2.5, 3, 4, 5, 6)},
            f"2 wait in Heddle, for the next plan of the queue; {EXPECTED}",
        ),
    ],
)
def test_a_reason_is_of_what_waits_or_was_asked_for_twice(fields, told):
    asked = fields.pop("asked", {})
    fields = {"reason": "", **fields}
    decision = AskDecision(KEY, 4, asked, {}, by="heddle", candidates=(), verdicts=(), repairs=0, **fields)
    assert shown_asks([decision])[0]["reason"] == told


def test_what_was_weighed_asked_promised_and_said_is_shown_by_priority():
    said = LaunchVerdict(WEST, 1, Verdict.REJECTED, 1, "full", 0.12345, conflict=ConflictKind.CLAIMED)
    unheard = LaunchVerdict(EAST, 2, Verdict.UNVERIFIED, 0)
    first, then = (
        AskDecision(
            replace(KEY, priority=priority),
            4,
            {EAST: 3},
            {EAST: 2},
            by="heddle",
            reason="",
            candidates=(Weighed(EAST, 5, 1.23456), Weighed(WEST, 0, 0.5)),
            verdicts=((4, said), (2, unheard)),
            repairs=7,
        )
        for priority in (3, 20)
    )
    shown = shown_asks([then, first])
    assert [each["priority"] for each in shown] == [3, 20]
    assert (shown[0]["wanted"], shown[0]["repairs"], shown[0]["expects"]) == (4, 7, None)
    assert shown[0]["candidates"] == [
        {"cluster": "east", "room": 5, "age_s": 1.235, "asked": 3, "promised": 2},
        {"cluster": "west", "room": 0, "age_s": 0.5, "asked": 0, "promised": 0},
    ]
    assert shown[0]["verdicts"] == [
        {
            "cluster": "west",
            "proposed": 4,
            "accepted": 1,
            "verdict": Verdict.REJECTED.value,
            "age_s": 0.123,
            "reason": "full",
            "conflict": ConflictKind.CLAIMED.value,
        },
        {
            "cluster": "east",
            "proposed": 2,
            "accepted": 0,
            "verdict": Verdict.UNVERIFIED.value,
            "age_s": None,
            "reason": "",
            "conflict": None,
        },
    ]


def test_what_masters_said_is_added_up_over_clusters_and_what_was_never_said_is_none():
    status = MatchingStatus(
        verdicts={(EAST, Verdict.REJECTED): 2, (WEST, Verdict.REJECTED): 3, (EAST, Verdict.ACCEPTED): 4},
        conflicts={(EAST, ConflictKind.USED): 1, (WEST, ConflictKind.USED): 4},
        promised={EAST: 6},
        solves={"solved": 8, "unsolved": 9},
        solving=1,
        repairs=10,
        fallbacks=11,
    )
    shown = shown_matching(status)
    said = {Verdict.REJECTED.value: 5, Verdict.ACCEPTED.value: 4}
    assert shown.verdicts == dict.fromkeys((each.value for each in Verdict), 0) | said
    assert shown.conflicts == dict.fromkeys((each.value for each in ConflictKind), 0) | {ConflictKind.USED.value: 5}
    assert (shown.inconsistencies, shown.repairs, shown.fallbacks) == (5, 10, 11)
    assert [(each.cluster, each.containers) for each in shown.promised] == [("east", 6)]
    assert (shown.solves.solving, shown.solves.solved, shown.solves.unsolved) == (1, 8, 9)
