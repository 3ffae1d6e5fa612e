"""What of the answers of clusters and ApplicationMasters reaches a client."""

import gzip

import pytest

from shim.ports.resource_manager import RestAnswer
from shim.protocol.rest.errors import JavaError
from shim.server.rest.answers import AnswerWriter
from shim.server.rest.foreign_answers import carried_document, carried_page
from shim.server.rest.messages import Answer, Headers, Request
from tests.doubles.recorded import recorded_exchanges
from tests.support.hostile import FOREIGN_HEADERS, FOREIGN_TYPES, FOREIGN_XML

ASKED = Request("POST", "/ws/v1/cluster/apps", "", (("host", "heddle:8088"),), b"", "10.0.0.1")
JSON = ("Content-Type", "application/json;charset=utf-8")
WRITER = AnswerWriter(lambda: 1_700_000_000.0)
NOW = "Tue, 14 Nov 2023 22:13:20 GMT"


def document(*headers: tuple[str, str], status: int = 200, body: bytes = b"{}", cookie: str | None = None) -> Answer:
    return carried_document(RestAnswer(status, headers, body), ASKED, WRITER, cookie=cookie, extra=())


def page(*headers: tuple[str, str], status: int = 200, body: bytes = b"x", own: bool = False) -> Answer:
    return carried_page(RestAnswer(status, headers, body), has_own_origin=own, location="", cookie=None)


def named(headers: Headers) -> dict[str, str]:
    assert len({name.lower() for name, _ in headers if name != "Date"}) + headers.count(("Date", NOW)) == len(headers)
    return {name.lower(): value for name, value in headers}


SAFE = {
    "cache-control": "no-cache",
    "content-type": "application/json;charset=utf-8",
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "x-xss-protection": "1; mode=block",
    "content-security-policy": "default-src 'none'; sandbox",
}


@pytest.mark.parametrize(
    ("told", "given"),
    [
        ("http://rm1:8088/ws/v1/cluster/apps/x?y=1", "http://heddle:8088/ws/v1/cluster/apps/x"),
        ("http://evil.example/login", None),
        ("http://rm1:8088/oidc/login", None),
        ("http://rm1:8088/ws/v1/cluster/../../console/", None),
        ("http://rm1:8088/ws/v1/cluster//evil.example", None),
        ("http://rm1:8088/ws/v1/cluster/a\\b", None),
        ("javascript:alert(1)", None),
        ("x:@evil.example/login", None),
        ("http://[evil", None),
        ("", None),
    ],
)
def test_s17_s18_wherever_a_resource_manager_sends_a_client_it_stays_here(told, given):
    assert named(document(("Location", told), JSON, status=202).headers).get("location") == given


@pytest.mark.parametrize(("name", "value"), FOREIGN_HEADERS)
def test_s19_of_a_documents_headers_none_travels_but_those_of_the_table(name, value):
    answer = document((name, value), JSON)
    assert named(answer.headers) == SAFE
    assert [each for each, _ in answer.headers] == [each for each, _ in document((name.upper(), "x"), JSON).headers]


def test_what_stands_in_the_table_has_heddles_values():
    names = ("Date", "Date", "Date", "Expires", "Pragma", "Vary", "X-Content-Type-Options", "X-Frame-Options")
    told = named(document(*((name, "evil") for name in (*names, "Cache-Control", "X-XSS-Protection")), JSON).headers)
    shown = {"date": NOW, "expires": NOW, "pragma": "no-cache", "vary": "Accept-Encoding"}
    assert told == SAFE | shown


@pytest.mark.parametrize(("given", "told"), FOREIGN_TYPES)
def test_a_document_is_data_or_text_whatever_it_says_that_it_is(given, told):
    assert named(document(*(("Content-Type", each) for each in given)).headers).get("content-type") == told


@pytest.mark.parametrize(
    "status", [100, 203, 206, 226, 300, 302, 304, 401, 407, 421, 426, 429, 431, 444, 502, 511, 599]
)
def test_a_status_of_the_way_to_heddle_is_no_answer_of_a_cluster(status):
    with pytest.raises(JavaError, match=f"status {status}") as refused:
        document(JSON, ("Retry-After", "86400"), status=status)
    assert refused.value.exception.status == 502


@pytest.mark.parametrize("body", FOREIGN_XML)
def test_xml_that_is_more_than_elements_is_refused(body):
    for kind in ("application/xml", "text/xml; charset=utf-16"):
        with pytest.raises(JavaError, match="XML"):
            document(("Content-Type", kind), body=body)


def test_every_recorded_answer_travels_as_it_is():
    """What a real ResourceManager says is not changed by this: but for where it is, and what is told to Heddle."""
    known = {"date", "expires", "cache-control", "pragma", "vary", "content-type", "x-content-type-options"}
    known |= {"x-frame-options", "x-xss-protection"}
    count = 0
    for exchange in recorded_exchanges().values():
        kind = exchange.header("content-type") or ""
        if exchange.status in (302, 307, 405) or "html" in kind or "null" in kind or "wadl" in kind or "8859" in kind:
            continue
        body = gzip.decompress(exchange.body) if exchange.header("content-encoding") else exchange.body
        told = document(*exchange.headers, status=exchange.status, body=body)
        assert told.body == body
        before = [name for name, _ in exchange.headers if name.lower() in known]
        assert [name for name, _ in told.headers if name.lower() in known][: len(before)] == before
        assert named(told.headers).get("content-type", "") == kind
        count += 1
    assert count > 900


def test_heddles_cookie_stands_where_the_clusters_stood():
    told = document(("Date", "x"), ("Set-Cookie", "hadoop.auth=theirs"), JSON, cookie="hadoop.auth=ours")
    assert [name for name, _ in told.headers][:3] == ["Date", "Set-Cookie", "Content-Type"]
    assert [value for name, value in told.headers if name == "Set-Cookie"] == ["hadoop.auth=ours"]
    assert ("Set-Cookie", "hadoop.auth=ours") in document(cookie="hadoop.auth=ours").headers


# -- pages -----------------------------------------------------------------------------------------------------------

PAGE = {
    "cache-control": "private, no-cache",
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "referrer-policy": "same-origin",
}


@pytest.mark.parametrize(
    ("name", "value"), [*FOREIGN_HEADERS, ("Cache-Control", "public, max-age=9"), ("Location", "/")]
)
def test_s19_of_a_pages_headers_none_travels_but_its_type(name, value):
    told = named(page((name, value), ("Content-Type", "text/html")).headers)
    policy = told.pop("content-security-policy")
    assert told == PAGE | {"content-type": "text/html"}
    assert policy.startswith("sandbox allow-scripts ")
    assert "allow-same-origin" not in policy
    assert "allow-top-navigation" not in policy
    assert "allow-popups-to-escape" not in policy


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("text/html", "text/html"),
        ("Text/HTML; charset=UTF-8", "text/html;charset=utf-8"),
        ("text/html; charset=utf-7", "text/html"),
        ("image/svg+xml", "image/svg+xml"),
        ("font/woff2", "font/woff2"),
        ("multipart/x-mixed-replace; boundary=x", "application/octet-stream"),
        ("text/cache-manifest", "application/octet-stream"),
        ("application/wasm", "application/octet-stream"),
        ("application/x-shockwave-flash", "application/octet-stream"),
        ("text/html, text/plain", "application/octet-stream"),
        ("", "application/octet-stream"),
    ],
)
def test_a_page_has_a_type_of_pages_or_is_a_file_to_keep(given, told):
    headers = named(page(*((("Content-Type", given),) if given else ())).headers)
    assert headers["content-type"] == told
    assert headers.get("content-disposition", "")[:10] == ("attachment" if "octet" in told else "")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("attachment; filename=eventLogs-1.zip", 'attachment; filename="eventLogs-1.zip"'),
        ('attachment; filename="a.zip"; x=y', 'attachment; filename="a.zip"'),
        ('attachment; filename="../../.bashrc"', "attachment"),
        ("inline; filename=x.html", None),
    ],
)
def test_a_file_keeps_a_plain_name_only(given, told):
    shown = named(page(("Content-Type", "application/zip"), ("Content-Disposition", given)).headers)
    assert shown.get("content-disposition") == told


@pytest.mark.parametrize("status", [302, 304, 401, 407, 421, 429, 502])
def test_a_page_that_asks_for_a_login_or_another_connection_is_none(status):
    with pytest.raises(JavaError):
        page(("WWW-Authenticate", "Basic"), ("Location", "http://evil"), status=status)


def test_pages_at_a_host_name_of_their_own_have_an_origin():
    assert " allow-same-origin;" in named(page(own=True).headers)["content-security-policy"]


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Date", "tomorrow", NOW),
        ("Expires", "never", NOW),
        ("Cache-Control", "no-store", "no-store"),
        ("Cache-Control", "no-cache", "no-cache"),
        ("Cache-Control", "must-revalidate,no-cache,no-store", "must-revalidate,no-cache,no-store"),
        ("Cache-Control", "public, max-age=99", "no-cache"),
        ("Pragma", "x", "no-cache"),
        ("Vary", "Cookie", "Accept-Encoding"),
        ("X-FRAME-OPTIONS", "ALLOWALL", "SAMEORIGIN"),
        ("X-Content-Type-Options", "x", "nosniff"),
        ("X-XSS-Protection", "0", "1; mode=block"),
        ("Server", "Jetty", None),
        ("X-Other", "x", None),
    ],
)
def test_each_header_of_a_document_has_a_value_of_ours_or_one_of_the_table(name, value, shown):
    for spelt in (name, name.lower(), name.upper()):
        headers = document((spelt, value), JSON).headers
        assert [each for each in headers if each[0].lower() == name.lower()] == (
            [] if shown is None else [(name, shown)]
        )


@pytest.mark.parametrize("status", [200, 301, 302, 303, 307, 308])
@pytest.mark.parametrize("cookie", [None, "a=b"])
def test_a_page_that_leads_elsewhere_has_the_place_and_nothing_of_the_applications(status, cookie):
    told = RestAnswer(status, (("Content-Type", "text/html"), ("Location", "http://evil")), b"<p>")
    answer = carried_page(told, has_own_origin=False, location="/proxy/x/", cookie=cookie)
    policy = "sandbox allow-scripts allow-forms allow-popups allow-downloads allow-modals; frame-ancestors 'self'; "
    assert answer == Answer(
        status,
        (
            ("Cache-Control", "private, no-cache"),
            ("Location", "/proxy/x/"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "SAMEORIGIN"),
            ("Referrer-Policy", "same-origin"),
            ("Content-Security-Policy", f"{policy}base-uri 'self'; worker-src 'none'; object-src 'none'"),
            *([] if cookie is None else [("Set-Cookie", cookie)]),
        ),
        b"",
    )
