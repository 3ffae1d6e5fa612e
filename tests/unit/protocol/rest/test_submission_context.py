"""Submission contexts, against every recorded submission."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import ApplicationId
from shim.domain.resources import ResourceVector
from shim.domain.submissions import Refusal, SubmitVerdict
from shim.protocol.rest.bodies import MAX_DEPTH
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.submission_context import decode_submission, keeps_containers, read_reply, resources_of
from tests.doubles.recorded import recorded_exchange, recorded_exchanges

READABLE = ("application/json", "application/xml")
BODIES = [
    exchange
    for name, exchange in recorded_exchanges().items()
    if name.startswith("submit/")
    and exchange.method == "POST"
    and exchange.content_type in READABLE
    and exchange.status in (202, 400)
    and not any(word in name for word in ("gzip", "body_6MB", "body_300kB"))
]
STRICTER = {
    "submit/body_duplicate_keys": "application-name stands more than once",
    "submit/resource_string": "resource is a plain value",
    "submit/tags_plain_array": "application-tags stands more than once",
}
"""What a ResourceManager reads in one of several ways, and Heddle does not read."""
UNREADABLE = ("Could not parse application id", "UnmarshalException")
ID = "application_1_0001"


def _decode(body: bytes, media_type: str = "application/json"):
    return decode_submission(body, media_type=media_type, user="alice")


def test_there_are_recorded_submissions():
    assert len(BODIES) > 90


@pytest.mark.parametrize("exchange", BODIES, ids=[exchange.name for exchange in BODIES])
def test_what_the_resource_manager_could_read_is_read_and_nothing_else(exchange):
    answer = exchange.body.decode()
    if exchange.name in STRICTER:
        with pytest.raises(JavaError, match=STRICTER[exchange.name]):
            _decode(exchange.request_body, exchange.content_type)
        return
    if exchange.status == 202 or not any(word in answer for word in UNREADABLE):
        read = _decode(exchange.request_body, exchange.content_type)
        assert _decode(read.body, exchange.content_type) == read, "what is sent says what was understood"
        return
    with pytest.raises(JavaError) as caught:
        _decode(exchange.request_body, exchange.content_type)
    refused = caught.value.exception
    assert refused.status == 400
    if "Could not parse" in answer and "DOCTYPE" not in exchange.request_body.decode():
        assert refused.message is not None
        assert refused.message in answer


def test_t5_numbers_in_quotes_are_numbers():
    submission = _decode(
        b'{"application-id":"application_1_0001","resource":{"memory":"256","vCores":"2"},"unmanaged-AM":"true"}'
    )
    assert submission.resource == ResourceVector(256, 2)
    assert submission.is_unmanaged


def test_xml_and_json_of_one_context_say_the_same():
    exchange = recorded_exchange("submit/xml_ok")
    submission = _decode(exchange.request_body, "application/xml")
    assert str(submission.application_id).encode() in exchange.request_body
    assert submission.application_id.sequence == 12
    assert (submission.name, submission.queue) == ("xmlapp", "default")
    assert submission.resource.memory_mib > 0


@pytest.mark.parametrize(
    ("amount", "memory_mib"),
    [('"lots"', 0), ("256.7", 256), ("-1", -1), ("null", 0), ("9" * 400, 0), ("true", 0), ('"+7"', 7)],
)
def test_a_number_is_read_as_jaxb_reads_it(amount, memory_mib):
    body = f'{{"application-id":"{ID}","resource":{{"memory":{amount}}}}}'
    assert _decode(body.encode()).resource.memory_mib == memory_mib


@pytest.mark.parametrize(
    "body",
    [
        b'<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><application-submission-context/>',
        b'<!DOCTYPE a [<!ENTITY e "x">]><application-submission-context>&e;</application-submission-context>',
        b"<!DOCTYPE application-submission-context SYSTEM 'http://127.0.0.1/x.dtd'><application-submission-context/>",
        b"<application-submission-context>&undefined;</application-submission-context>",
    ],
)
def test_s25_document_types_and_entities_are_refused(body):
    with pytest.raises(JavaError) as caught:
        _decode(body, "application/xml")
    assert caught.value.exception.status == 400
    assert "root:" not in str(caught.value)


def test_s25_deep_nesting_is_refused_before_it_is_parsed():
    nested = b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1)
    with pytest.raises(JavaError, match="nested deeper"):
        _decode(nested)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_s25_numbers_that_json_does_not_have_are_refused(word):
    with pytest.raises(JavaError):
        _decode(f'{{"application-id":"{ID}","resource":{{"memory":{word}}}}}'.encode())


def test_s25_lone_surrogates_are_refused():
    with pytest.raises(JavaError, match="half of a pair of surrogates"):
        _decode(f'{{"application-id":"{ID}","application-name":"a\\ud800"}}'.encode())


@given(st.binary(max_size=300), st.sampled_from(READABLE))
def test_any_bytes_are_read_or_refused(body, media_type):
    with contextlib.suppress(JavaError):
        _decode(body, media_type)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=20))
def test_any_value_in_a_field_that_decides_is_understood_and_sent_or_refused(value):
    body = json.dumps(
        {"application-id": ID, "application-name": value, "queue": value, "resource": value, "unmanaged-AM": value}
    )
    with contextlib.suppress(JavaError):
        read = _decode(body.encode())
        sent = json.loads(read.body)
        assert sent.get("queue", "") == read.queue
        assert sent.get("application-name", "") == read.name


@pytest.mark.parametrize(
    "declaration", ["<!DOCTYPE a>", '<!DOCTYPE a [<!ENTITY e "x">]>', "<!DOCTYPE a SYSTEM 'x.dtd'>"]
)
def test_s25_a_document_type_alone_is_refused_whatever_else_is_right(declaration):
    whole = f"<application-submission-context><application-id>{ID}</application-id></application-submission-context>"
    assert _decode(whole.encode(), "application/xml").application_id == ApplicationId(1, 1)
    with pytest.raises(JavaError, match="document types are not allowed"):
        _decode(f"{declaration}{whole}".encode(), "application/xml")


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


@pytest.mark.parametrize(
    ("resource", "named"),
    [("hdfs://nn:8020/x", ["hdfs://nn"]), (5, []), (None, []), ({"url": "hdfs://nn/x"}, []), ("/x", []), ("", [])],
)
def test_a_file_names_its_file_system_by_a_text_alone(resource, named):
    entry = [{"key": "k", "value": {"resource": resource}}, {"key": "odd", "value": "text"}, "odd"]
    body = json.dumps({"am-container-spec": {"local-resources": {"entry": entry}}}).encode()
    with contextlib.suppress(JavaError):  # what is of another shape may be refused before
        assert list(resources_of(body, media_type="application/json")) == named


@pytest.mark.parametrize(
    ("told", "keeps"), [("true", True), ("false", False), ('"true"', True), ("null", False), (None, False)]
)
def test_whether_containers_outlive_an_attempt_is_what_the_context_says(told, keeps):
    member = "" if told is None else f',"keep-containers-across-application-attempts":{told}'
    body = f'{{"application-id":"application_1_0001"{member}}}'.encode()
    assert keeps_containers(body, media_type="application/json") is keeps
