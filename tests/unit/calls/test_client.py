"""Answers kept for the time when who gave them does not answer."""

from shim.calls.client import LastAnswers
from shim.domain.ids import SubClusterId

EAST = SubClusterId("east")


def test_an_answer_is_found_by_its_question_and_by_whom_it_is_for():
    told = LastAnswers()
    told.note(EAST, "getClusterNodes", b"running", "", b"two")
    told.note(EAST, "getClusterNodes", b"running", "", b"three")
    assert told.find(EAST, "getClusterNodes", b"running", "") == b"three"
    assert told.find(EAST, "getClusterNodes", b"lost", "") is None
    assert told.find(EAST, "getClusterNodes", b"running", "ada") is None


def test_the_oldest_answers_make_room():
    told = LastAnswers(most_bytes=3_000)
    for number in range(4):
        told.note(EAST, "getClusterNodes", b"%d" % number, "", b"x" * 900)
    gone = [told.find(EAST, "getClusterNodes", b"%d" % number, "") is None for number in range(4)]
    assert gone == [True, False, False, False]
    told.note(EAST, "getClusterNodes", b"4", "", b"x" * 4_000)
    assert told.find(EAST, "getClusterNodes", b"4", "") is None


def test_a_long_question_is_not_remembered():
    told = LastAnswers()
    told.note(EAST, "getClusterNodes", b"q" * 1_025, "", b"answer")
    assert told.find(EAST, "getClusterNodes", b"q" * 1_025, "") is None


def test_questions_count_as_their_answers_do():
    told = LastAnswers(most_bytes=3_000)
    for number in range(4):
        told.note(EAST, "getClusterNodes", b"%d" % number * 900, "", b"x")
    gone = [told.find(EAST, "getClusterNodes", b"%d" % number * 900, "") is None for number in range(4)]
    assert gone == [True, False, False, False]
