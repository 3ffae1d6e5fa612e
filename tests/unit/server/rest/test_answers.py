"""Answers as they go out: which headers, in which order, and pages of the servlet container in the form asked for."""

import gzip
import json
from dataclasses import replace

import pytest

from shim.errors import (
    BadRequestError,
    ForbiddenError,
    InvariantViolationError,
    NotFoundError,
    TooManyCallsError,
    UnavailableError,
)
from shim.protocol.rest.errors import JavaError, RemoteException, jetty_page, remote_exception_of
from shim.protocol.rest.negotiation import FailureForm, NegotiationFailure, Representation
from shim.server.rest.answers import AnswerWriter, Document, zipped
from shim.server.rest.messages import Answer, Request

NOW_S = 1_700_000_000.0
DATE = "Tue, 14 Nov 2023 22:13:20 GMT"
WRITER = AnswerWriter(lambda: NOW_S)
MORE = (("X-More", "1"),)
AWAY = UnavailableError("x")


def values(headers, name):
    return [value for key, value in headers if key == name]


def test_headers_of_a_second_are_made_once_and_told_as_they_go_out():
    now = [NOW_S]
    writer = AnswerWriter(lambda: now[0])
    first, rendered = writer.opening(), writer.rendered_opening()
    now[0] += 0.9
    assert writer.opening() is first
    assert writer.rendered_opening() is rendered
    assert rendered.startswith(b"Date: %b\r\nCache-Control: no-cache\r\n" % DATE.encode())
    now[0] += 0.1
    assert values(writer.opening(), "Date") == ["Tue, 14 Nov 2023 22:13:21 GMT"] * 2
    assert b"22:13:21" in writer.rendered_opening()


def test_a_document_has_its_cookie_and_its_address_before_what_is_added():
    document = Document(b'{"a":1}', status=202, location="http://front/x")
    answer = WRITER.document(document, Representation.JSON, extra=MORE, cookie="hadoop.auth=x")
    names = [name for name, _ in answer.headers]
    assert (answer.status, answer.body) == (202, b'{"a":1}')
    assert names[:3] == ["Date", "Cache-Control", "Expires"]
    assert names.index("Set-Cookie") < names.index("Location") < names.index("Content-Type") < names.index("X-More")
    assert values(answer.headers, "Content-Type") == [Representation.JSON.value]
    bare = WRITER.document(Document(b"{}"), Representation.JSON)
    assert not {"Set-Cookie", "Location", "Heddle-Left-Out"} & {name for name, _ in bare.headers}


@pytest.mark.parametrize(
    ("error", "status", "java_class", "retry_after_s"),
    [
        (JavaError.bad_request("x"), 400, "org.apache.hadoop.yarn.webapp.BadRequestException", None),
        (BadRequestError("x"), 400, BadRequestError("x").java_class, None),
        (ForbiddenError("x"), 403, ForbiddenError("x").java_class, None),
        (NotFoundError("x"), 404, NotFoundError("x").java_class, None),
        (TooManyCallsError("x", retry_after_s=7), 429, TooManyCallsError("x", retry_after_s=7).java_class, 7),
        (AWAY, 503, "org.apache.hadoop.yarn.exceptions.YarnException", AWAY.retry_after_s),
        (InvariantViolationError("secret"), 500, "java.lang.RuntimeException", None),
        (ValueError("secret"), 500, "java.lang.RuntimeException", None),
    ],
)
def test_an_error_is_a_remote_exception_of_its_class(error, status, java_class, retry_after_s):
    told = remote_exception_of(error)
    assert (told.status, told.java_class, told.retry_after_s) == (status, java_class, retry_after_s)
    assert "secret" not in str(told.message)
    answer = WRITER.error(told, Representation.JSON, extra=MORE)
    assert values(answer.headers, "Retry-After") == ([] if retry_after_s is None else [str(retry_after_s)])
    assert json.loads(answer.body)["RemoteException"]["exception"] == java_class.rpartition(".")[2]
    assert WRITER.error(told, Representation.XML).body.startswith(b"<?xml")
    as_filter = WRITER.forbidden(told, extra=MORE, cookie="c=1")
    assert (as_filter.status, values(as_filter.headers, "Set-Cookie")) == (status, ["c=1"])
    assert list(json.loads(as_filter.body)["RemoteException"].values()) == [
        told.message,
        java_class.rpartition(".")[2],
        java_class,
    ]
    assert b'"message" :' in as_filter.body


def test_the_authentication_filter_writes_its_refusal_over_several_lines_and_as_it_was_worded():
    refused = RemoteException(403, "a.B", "User: \u00e9 is not allowed")
    assert WRITER.forbidden(refused).body.decode() == (
        '{\n  "RemoteException" : {\n    "message" : "User: \u00e9 is not allowed",\n    "exception" : "B",\n'
        '    "javaClassName" : "a.B"\n  }\n}'
    )


def test_an_exception_without_a_message_has_no_member_for_it():
    assert json.loads(RemoteException(400, "a.B", None).to_json()) == {
        "RemoteException": {"exception": "B", "javaClassName": "a.B"}
    }


# ---------------------------------------------------------------------- pages of the servlet container


HTML = (
    '<html>\n<head>\n<meta http-equiv="Content-Type" content="text/html;charset=ISO-8859-1"/>\n'
    "<title>Error 400 Bad &lt;Request&gt;</title>\n</head>\n<body><h2>HTTP ERROR 400 Bad &lt;Request&gt;</h2>\n"
    "<table>\n"
    "<tr><th>URI:</th><td>/a&amp;b</td></tr>\n<tr><th>STATUS:</th><td>400</td></tr>\n"
    "<tr><th>MESSAGE:</th><td>Bad &lt;Request&gt;</td></tr>\n</table>\n\n</body>\n</html>\n"
)
TEXT = "HTTP ERROR 400 Bad <Request>\nURI: /a&b\nSTATUS: 400\nMESSAGE: Bad <Request>\n"
JSON = (
    '{\n"servlet":"org.apache.hadoop.http.WebServlet-0",\n"message":"Bad <Request>",\n"url":"/a&b",\n"status":"400"\n}'
)


@pytest.mark.parametrize(
    ("media_type", "page"),
    [("text/html", HTML), ("text/plain", TEXT), ("application/json", JSON), ("text/json", JSON), ("a/b", HTML)],
)
def test_a_page_of_the_servlet_container_is_in_the_form_asked_for(media_type, page):
    assert jetty_page(400, "Bad <Request>", path="/a&b", media_type=media_type).decode() == page


@pytest.mark.parametrize(
    ("form", "media_type", "content_type"),
    [
        (FailureForm.HTML_PAGE, "text/html", "text/html;charset=iso-8859-1"),
        (FailureForm.TEXT_PAGE, "text/plain", "text/plain;charset=iso-8859-1"),
        (FailureForm.JSON_PAGE, "application/json", "application/json"),
    ],
)
@pytest.mark.parametrize(("status", "reason"), [(400, "Bad Request"), (500, "Server Error")])
def test_what_no_resource_takes_is_refused_by_a_page(form, media_type, content_type, status, reason):
    failure = NegotiationFailure(status, form, media_type)
    answer = WRITER.not_negotiated(failure, path="/x", extra=MORE, cookie="c=1")
    assert (answer.status, answer.reason) == (status, reason)
    assert answer.body == jetty_page(status, reason, path="/x", media_type=media_type)
    assert values(answer.headers, "Content-Type") == [content_type]
    assert values(answer.headers, "Cache-Control") == ["must-revalidate,no-cache,no-store"]
    assert values(answer.headers, "Set-Cookie") == ["c=1"]
    assert answer.headers[-1:] == MORE
    assert values(answer.headers, "Date") == []


def test_what_no_resource_takes_may_have_an_empty_answer():
    answer = WRITER.not_negotiated(NegotiationFailure(500, FailureForm.EMPTY, ""), path="/x", extra=MORE)
    assert (answer.status, answer.body, values(answer.headers, "Content-Type")) == (500, b"", [])
    assert answer.headers[-1:] == MORE


@pytest.mark.parametrize(
    ("form", "body"),
    [
        (
            FailureForm.JSON,
            b'{"RemoteException":{"exception":"WebApplicationException","javaClassName":"javax.ws.rs.WebApplicationException"}}',
        ),
        (
            FailureForm.BARE_JSON,
            b'{"exception":"WebApplicationException","message":null,"javaClassName":"javax.ws.rs.WebApplicationException"}',
        ),
        (FailureForm.XML, JavaError.not_negotiated().exception.to_xml()),
    ],
)
def test_what_no_resource_takes_is_an_exception_where_a_writer_fits(form, body):
    answer = WRITER.not_negotiated(NegotiationFailure(503, form, "a/b"), path="/x", extra=MORE, cookie="c=1")
    assert (answer.status, answer.body) == (503, body)
    assert values(answer.headers, "Content-Type") == ["a/b;charset=null"]
    assert values(answer.headers, "Date") == [DATE, DATE]
    assert values(answer.headers, "Set-Cookie") == ["c=1"]


def test_who_has_proven_nothing_is_asked_for_a_ticket_and_his_cookie_ends():
    answer = WRITER.challenge("/x", extra=MORE)
    assert (answer.status, answer.reason) == (401, "Authentication required")
    assert values(answer.headers, "WWW-Authenticate") == ["Negotiate"]
    assert values(answer.headers, "Set-Cookie") == ["hadoop.auth=; Path=/; HttpOnly"]
    assert answer.body == jetty_page(401, "Authentication required", path="/x", media_type="text/html")


def test_a_page_says_what_it_is():
    page = WRITER.page("<p>\ud800</p>", status=404, extra=MORE)
    assert (page.status, page.body) == (404, b"<p>?</p>")
    assert values(page.headers, "Content-Type") == ["text/html;charset=utf-8"]
    assert values(WRITER.page("x", content_type="text/css").headers, "Content-Type") == ["text/css"]


@pytest.mark.parametrize("accept", ["gzip", "deflate", ""])
@pytest.mark.parametrize("length", [0, 1, 1000, 200_000])
async def test_what_is_compressed_says_so_behind_what_varies(accept, length):
    headers = (("A", "1"), ("Vary", "Accept-Encoding"), ("B", "2"))
    plain = Answer(200, headers, b"x" * length)
    request = Request("GET", "/x", "", (("accept-encoding", accept),) if accept else (), b"", "10.0.0.1")
    found = await zipped(plain, request)
    if accept != "gzip" or not length:
        assert found == plain
        return
    assert found.headers == (*headers[:2], ("Content-Encoding", "gzip"), headers[2])
    assert gzip.decompress(found.body) == plain.body
    assert await zipped(found, request) == found
    bare = replace(plain, headers=(("A", "1"),))
    assert await zipped(bare, request) == bare
