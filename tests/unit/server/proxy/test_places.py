"""Which page a path means, and where redirects may lead."""

from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import ApplicationId
from shim.errors import HeddleError, NotFoundError
from shim.server.proxy.places import ElsewhereError, PagePath, page_path, place_of

ONE = ApplicationId(1_700_000_000_000, 6)
PAGE = PagePath(ONE, "/")
HISTORY, FRONT = "http://history.example:19888", "http://heddle:8088"


@pytest.mark.parametrize("rest", ["", "/", "/ws/v1/mapreduce/info", "/static/a.b.js", "/jobs/job/x%20y", "/a,b/c:d@e"])
def test_a_page_is_what_follows_the_id(rest):
    page = page_path(f"/proxy/{ONE}{rest}")
    assert (page.application, page.rest, page.whole) == (ONE, rest, f"/proxy/{ONE}{rest}")


@pytest.mark.parametrize(
    "rest",
    [
        *("/..", "/../x", "/a/../../ws/v1/cluster", "/%2e%2e/x", "/.%2E/x", "/%252e%252e/x", "/./x"),
        *("/a;b=c", "/a%3bb", "/a\\b", "/a%5cb", "/a%2fb", "/a%252fb", "/a%00b", "/a%0d%0ab", "/" + "x" * 5000, "/é"),
    ],
)
def test_a_path_that_could_mean_another_place_is_refused(rest):
    with pytest.raises(HeddleError, match="could mean another place"):
        page_path(f"/proxy/{ONE}{rest}")


@given(
    st.lists(
        st.sampled_from(["a", "..", ".", "%2e", "%2E%2e", "%252e", "%2f", ";x", "%3b", "\\", "%5c", "b"]), max_size=5
    )
)
def test_whoever_decodes_what_is_let_through_finds_no_step_upwards(parts):
    path = f"/proxy/{ONE}/" + "/".join(parts)
    try:
        page = page_path(path)
    except HeddleError:
        return
    for decode in (lambda text: text, unquote, lambda text: unquote(unquote(text))):
        seen = decode(page.whole)
        assert seen.startswith(f"/proxy/{ONE}/")
        assert seen.count("/") == page.whole.count("/")
        assert not {"..", "."} & set(seen.split("/"))
        assert ";" not in seen
        assert "\\" not in seen


@pytest.mark.parametrize("path", ["/proxy/", "/proxy/x/", "/proxy/application_1/", "/prox", "/", "/proxy//x"])
def test_what_names_no_application_is_no_page(path):
    with pytest.raises(HeddleError):
        page_path(path)


@pytest.mark.parametrize(
    ("told", "place"),
    [
        (f"http://rm:8088/proxy/{ONE}/jobs?x=1", f"/proxy/{ONE}/jobs?x=1"),
        (f"/proxy/{ONE}", f"/proxy/{ONE}"),
        (f"http://rm:8088/cluster/app/{ONE}", f"{FRONT}/cluster/app/{ONE}"),
        (f"{HISTORY}/jobhistory/job/job_1_6", f"{HISTORY}/jobhistory/job/job_1_6"),
        (f"{HISTORY.upper()}/jobhistory", f"{HISTORY.upper()}/jobhistory"),
    ],
)
def test_a_redirect_leads_back_here_or_to_a_known_history(told, place):
    assert place_of(told, PAGE, histories=(f"{HISTORY}/",), front=FRONT) == place


@pytest.mark.parametrize(
    "told",
    [
        *(
            "http://evil/",
            "https://history.example:19888/x",
            "http://history.example:19888.evil/",
            "http://history.example/",
        ),
        *(
            "http://history.example:19888@evil/",
            "javascript:alert(1)",
            "//evil/x",
            "",
            "http://[",
            "http://rm/cluster/app/application_1_1",
            "/ws/v1/cluster/apps",
        ),
        *("/proxy/application_1_1/", "/cluster/apps", "http://169.254.169.254/latest/meta-data"),
    ],
)
def test_no_other_redirect_is_followed_or_passed_on(told):
    with pytest.raises((ElsewhereError, NotFoundError)):
        place_of(told, PAGE, histories=(HISTORY,), front=FRONT)


@given(st.text(max_size=40))
def test_a_redirect_that_makes_a_path_leaves_no_trick_in_it(tail):
    told = f"http://rm/proxy/{ONE}/{quote(tail)}"
    try:
        place = place_of(told, PAGE, histories=(), front=FRONT)
    except HeddleError:
        return
    assert place.startswith(f"/proxy/{ONE}/")
    assert not set(place) & set("\r\n\\; ")


@pytest.mark.parametrize("rest", ["", "/", "/jobs/job"])
def test_a_page_that_an_application_master_has_sent_its_reader_to_is_that_page(rest):
    page = page_path(f"/proxy/redirect/{ONE}{rest}")
    assert (page.application, page.rest, page.is_redirected) == (ONE, rest, True)
    assert page.whole == f"/proxy/{ONE}{rest}"
    assert not page_path(f"/proxy/{ONE}{rest}").is_redirected
    told = f"http://anywhere:8088/proxy/redirect/{ONE}{rest}?a=b"
    assert place_of(told, PAGE, histories=(), front=FRONT) == f"/proxy/{ONE}{rest}?a=b"


@pytest.mark.parametrize(
    "path", ["/proxy/redirect", "/proxy/redirect/", "/proxy/redirect/redirect/application_1_1", "/proxy/redirect/x"]
)
def test_a_redirect_to_no_application_is_no_page(path):
    with pytest.raises(HeddleError):
        page_path(path)


def test_a_redirect_to_another_applications_page_leads_elsewhere():
    with pytest.raises(ElsewhereError):
        place_of("http://rm:8088/proxy/redirect/application_1_9/", PAGE, histories=(), front=FRONT)
