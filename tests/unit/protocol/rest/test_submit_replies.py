"""What a ResourceManager says to a submission is read by its status and by whether the words are its own."""

import pytest

from shim.domain.submit_replies import Refusal, SubmitVerdict
from shim.protocol.rest.submit_replies import read_reply

OWN = b'{"RemoteException":{"exception":"E","javaClassName":"a.b.E","message":"too large"}}'
PAGE = b"<html>"
TAKEN, REFUSED, FAILED, UNCLEAR, GATEWAY = SubmitVerdict


@pytest.mark.parametrize(
    ("status", "body", "verdict"),
    [
        (200, b"", TAKEN),
        (202, OWN, TAKEN),
        *((status, PAGE, REFUSED) for status in (400, 401, 403, 405, 406, 411, 413, 415)),
        (404, OWN, REFUSED),
        (404, PAGE, UNCLEAR),
        *((status, OWN, FAILED) for status in (500, 502, 503, 504)),
        *((status, PAGE, GATEWAY) for status in (408, 502, 503, 504)),
        (408, OWN, GATEWAY),
        (500, PAGE, UNCLEAR),
        (302, PAGE, UNCLEAR),
        (499, OWN, UNCLEAR),
    ],
)
def test_the_table(status, body, verdict):
    assert read_reply(status, (), body).verdict is verdict


def test_the_words_are_read_and_kept_whole():
    headers = (("Content-Type", "application/json"),)
    refusal = read_reply(400, headers, OWN).refusal
    assert refusal == Refusal("a.b.E", "too large", 400, headers, OWN)
    assert refusal.text == OWN.decode()


@pytest.mark.parametrize("body", [b"", b"\xff", b"[]", b"{}", b'{"RemoteException":7}', b"[" * 100_000, PAGE])
def test_words_that_cannot_be_read_are_no_exception_of_ours(body):
    refusal = read_reply(400, (), body).refusal
    assert (refusal.java_class, refusal.message) == ("", "")
    assert refusal.text == body.decode("utf-8", "replace")


def test_words_that_came_by_rpc_are_shown_without_a_status():
    assert Refusal("a.b.E", "too large").text == "a.b.E: too large"
