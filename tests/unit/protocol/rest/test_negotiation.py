"""Content negotiation, against every recorded answer of the web services."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.protocol.rest.negotiation import (
    AcceptHeaderError,
    FailureForm,
    NegotiationFailure,
    Representation,
    accepts_gzip,
    failure_for,
    negotiate,
    page_failure,
    page_types,
    read_accept,
)
from tests.doubles.recorded import RecordedExchange, recorded_exchanges

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


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", Representation.JSON),  # Java's HttpURLConnection
        ("*", Representation.JSON),
        ("application", Representation.JSON),
        ("application;charset=utf-8", Representation.JSON),
        ("*/xml", Representation.JSON),
        ("application/xml, *", Representation.XML),
        ("application/json;q=.1, application/xml;q=.1234", Representation.XML),
        ('application/json;charset="a;q=0.1,b";q=0.2, application/xml;q=0.1', Representation.JSON),
        ("*/*;;;q=0.3;", Representation.JSON),
    ],
)
def test_a_header_is_read_with_the_leniency_of_jersey(accept, chosen):
    assert negotiate(accept) is chosen


@pytest.mark.parametrize(
    ("accept", "status", "form", "media_type"),
    [
        ("*/*;q=1.5", 400, FailureForm.HTML_PAGE, "text/html"),
        ("*/*; q = 0.5", 400, FailureForm.HTML_PAGE, "text/html"),
        ("*/*;q=0.12345", 400, FailureForm.HTML_PAGE, "text/html"),
        ("*/*,,text/plain", 400, FailureForm.HTML_PAGE, "text/html"),
        ("text/html;q=0.5, application/json;q=3", 400, FailureForm.JSON_PAGE, "application/json"),
        ("text/html;q=0, text/plain;q=7", 400, FailureForm.TEXT_PAGE, "text/plain"),
        ('text/plain;q="0.4"', 500, FailureForm.TEXT_PAGE, "text/plain"),
        ("application/", 400, FailureForm.EMPTY, ""),
        ("application/ json", 400, FailureForm.EMPTY, ""),
        ("application/json(comment)", 400, FailureForm.EMPTY, ""),
        ('*/*;q=0.5"', 400, FailureForm.EMPTY, ""),
        ("application/json;a", 400, FailureForm.EMPTY, ""),
        ("*/*;q=0.8\xe9", 500, FailureForm.EMPTY, ""),
        ("text", 503, FailureForm.XML, "text/xml"),
        ("TEXT/JSON;q=0.4", 503, FailureForm.BARE_JSON, "TEXT/JSON; q=0.4"),
        ("foo/x-javascript", 503, FailureForm.BARE_JSON, "foo/x-javascript"),
        ("text/html, application/xhtml+xml", 503, FailureForm.XML, "application/xhtml+xml"),
        ("a/b+XML", 500, FailureForm.EMPTY, ""),
        ("Text/HTML", 500, FailureForm.EMPTY, ""),
    ],
)
def test_a_header_that_jersey_refuses_gets_the_page_that_jetty_reads_from_it(accept, status, form, media_type):
    assert negotiate(accept) == NegotiationFailure(status, form, media_type)


@pytest.mark.parametrize(
    ("accept", "ranges"),
    [
        ("a/b", [("a", "b", 1000, {})]),
        ("a", [("a", "*", 1000, {})]),
        (" a/b ; Q=.25 , c/d", [("c", "d", 1000, {}), ("a", "b", 250, {"q": ".25"})]),
        ("a/b;;;x=1;;y=2;", [("a", "b", 1000, {"x": "1", "y": "2"})]),
        ("a/b;,c/d;;", [("a", "b", 1000, {}), ("c", "d", 1000, {})]),
        ('a/b;x="1;2,3";q=0.5', [("a", "b", 500, {"x": "1;2,3", "q": "0.5"})]),
        (r'a/b;x="\"\\"', [("a", "b", 1000, {"x": '"\\'})]),
        ("a/b;X=1;x=2", [("a", "b", 1000, {"x": "2"})]),
        ("a/b;y=2;x=1", [("a", "b", 1000, {"x": "1", "y": "2"})]),
        ("*/*, a/*, a/b", [("a", "b", 1000, {}), ("a", "*", 1000, {}), ("*", "*", 1000, {})]),
        ("*/*, */b, a/b", [("a", "b", 1000, {}), ("*", "b", 1000, {}), ("*", "*", 1000, {})]),
        ("a/b;q=1, c/d;q=1.000, e/f;q=0., g/h;q=0", [
            ("a", "b", 1000, {"q": "1"}),
            ("c", "d", 1000, {"q": "1.000"}),
            ("g", "h", 0, {"q": "0"}),
            ("e", "f", -2000, {"q": "0."}),
        ]),
        ("a/b;q=.1234, c/d;q=0.12", [("a", "b", 123, {"q": ".1234"}), ("c", "d", 120, {"q": "0.12"})]),
        ("", []),
        (" \t", []),
    ],
)  # fmt: skip
def test_ranges_are_read_with_their_parameters_the_best_first(accept, ranges):
    wanted = [(kind, subtype, quality, tuple(sorted(given.items()))) for kind, subtype, quality, given in ranges]
    assert [(each.kind, each.subtype, each.quality, each.parameters) for each in read_accept(accept)] == wanted


@pytest.mark.parametrize(
    "accept",
    [
        *("a/b c", "a/b;x", "a/b;x=", "a/b;=1", "a /b", "a/ b", "a/b; x =1", 'a/b;x="1', ",a/b", "a/b,,c/d"),
        *("a/b;q=1.001", "a/b;q=2", "a/b;q=0.1234", "a/b;q=.", "a/b;q=.12345", "a/b;q=", "a/b;q=x", "a/b/c", ";q=1"),
    ],
)
def test_what_does_not_follow_the_grammar_is_refused(accept):
    with pytest.raises(AcceptHeaderError):
        read_accept(accept)


@pytest.mark.parametrize(
    ("accept", "types"),
    [
        ("a/b, c/d;q=0.5, e/f;q=0.7", ("a/b", "e/f", "c/d")),
        ("a/b;q=0, c/d", ("c/d",)),
        ("a/b;x=1;q=0.5", ("a/b;x=1",)),
        ('a/b;q="0.5", c/d;q=0.6', ("c/d", "a/b")),
        ("a/b;q", ("a/b;q",)),
        ('a/b;x="1,2", c/d', ('a/b;x="1,2"', "c/d")),
        ("", ()),
    ],
)
def test_pages_have_the_types_that_jetty_reads(accept, types):
    assert page_types(accept) == types


@given(st.text('*/;=,q.01" \\(ajsonxml\xe9', max_size=40))
def test_any_header_is_negotiated(accept):
    for found in (negotiate(accept), failure_for(accept), page_failure(accept, 405)):
        assert isinstance(found, Representation) or found.status in (400, 405, 500, 503)


@pytest.mark.parametrize(("length", "is_refused"), [(4096, False), (4097, True)])
def test_a_header_that_is_longer_than_any_browsers_is_not_read(length, *, is_refused):
    accept = "text/html".ljust(length)
    for refused in (negotiate(accept), failure_for(accept)):
        assert isinstance(refused, NegotiationFailure)
        assert (refused.status == 400, refused.form is FailureForm.EMPTY) == (is_refused, is_refused)


@pytest.mark.parametrize("status", [404, 405, 500])
@pytest.mark.parametrize(
    ("accept", "form", "media_type"),
    [
        ("", FailureForm.HTML_PAGE, "text/html"),
        ("text/html", FailureForm.HTML_PAGE, "text/html"),
        ("*/*", FailureForm.HTML_PAGE, "text/html"),
        ("text/*", FailureForm.HTML_PAGE, "text/html"),
        ("text/plain", FailureForm.TEXT_PAGE, "text/plain"),
        ("text/json", FailureForm.JSON_PAGE, "text/json"),
        ("application/json", FailureForm.JSON_PAGE, "application/json"),
        ("application/xml", FailureForm.EMPTY, ""),
        ("application/xml, text/plain;q=0.5", FailureForm.TEXT_PAGE, "text/plain"),
        ("text/plain;q=0.5, text/html;q=0.4", FailureForm.TEXT_PAGE, "text/plain"),
    ],
)
def test_the_page_of_what_reached_no_resource_is_of_the_type_that_is_asked_for(status, accept, form, media_type):
    assert page_failure(accept, status) == NegotiationFailure(status, form, media_type)


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("text/html".ljust(4096), 405),
        ("text/html".ljust(4097), 400),
        ("text/html" + ", text/html" * 1000, 400),
        ("text/html\xe9", 500),
    ],
)
def test_the_page_of_a_header_that_cannot_be_read_has_a_status_of_its_own(accept, status):
    found = page_failure(accept, 405)
    empty = NegotiationFailure(status, FailureForm.EMPTY, "")
    assert found == (NegotiationFailure(405, FailureForm.HTML_PAGE, "text/html") if status == 405 else empty)
