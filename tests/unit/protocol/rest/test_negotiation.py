"""Content negotiation, against every recorded answer of the web services."""

import pytest

from shim.protocol.rest.negotiation import (
    FailureForm,
    NegotiationFailure,
    Representation,
    accepts_gzip,
    failure_for,
    negotiate,
    page_failure,
)
from shim.testing.recorded import RecordedExchange, recorded_exchanges

_FORMS = {
    Representation.JSON.value: Representation.JSON,
    Representation.XML.value: Representation.XML,
}


def _is_web_service(exchange: RecordedExchange) -> bool:
    return exchange.path.startswith("/ws/v1/cluster") and exchange.method in ("GET", "POST", "PUT")


SUCCESSES = [
    exchange
    for exchange in recorded_exchanges().values()
    if _is_web_service(exchange) and exchange.header("content-type") in _FORMS
]
FAILURES = [
    exchange
    for name, exchange in recorded_exchanges().items()
    if name.startswith("negotiation/info") and exchange.status in (400, 500, 503)
]
WRONG_METHODS = [exchange for name, exchange in recorded_exchanges().items() if name.startswith("http/method.")]


def test_there_are_recorded_answers():
    assert len(SUCCESSES) > 900
    assert len(FAILURES) > 5
    assert len(WRONG_METHODS) > 20


def test_every_recorded_success_has_the_negotiated_form():
    wrong = [
        exchange.name
        for exchange in SUCCESSES
        if negotiate(exchange.accept) is not _FORMS[exchange.header("content-type") or ""]
    ]
    assert wrong == []


@pytest.mark.parametrize("exchange", FAILURES, ids=[exchange.name for exchange in FAILURES])
def test_every_recorded_failure_is_the_negotiated_one(exchange):
    failure = negotiate(exchange.accept)

    assert isinstance(failure, NegotiationFailure)
    assert failure.status == exchange.status
    shown = (exchange.header("content-type") or "").partition(";")[0]
    assert failure.media_type == shown


@pytest.mark.parametrize("exchange", WRONG_METHODS, ids=[exchange.name for exchange in WRONG_METHODS])
def test_a_wrong_method_is_answered_in_the_recorded_form(exchange):
    failure = failure_for(exchange.accept)

    assert failure.status == exchange.status == 503
    assert (exchange.header("content-type") or "") == f"{failure.media_type};charset=null"
    assert (failure.form is FailureForm.XML) == exchange.body.startswith(b"<?xml")


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("*/*", Representation.JSON),
        ("", Representation.JSON),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Representation.XML),
    ],
)
def test_t2_browsers_get_xml_and_programs_json(accept, form):
    assert negotiate(accept) is form


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("text/html", FailureForm.HTML_PAGE),
        ("text/html;q=0", FailureForm.EMPTY),
        ("text/html;q=0,text/plain;q=0.1", FailureForm.TEXT_PAGE),
    ],
)
def test_what_has_no_quality_gets_no_page(accept, form):
    assert negotiate(accept) == NegotiationFailure(500, form, form.value if form is not FailureForm.EMPTY else "")
    assert page_failure(accept, 404).form is form


@pytest.mark.parametrize("value", ["gzip", "GZIP", "deflate, gzip;q=0", "x-gzip"])
def test_the_word_gzip_is_enough(value):
    assert accepts_gzip(value)


def test_other_encodings_are_not_used():
    assert not accepts_gzip("deflate, br")
