"""Generated bodies: a ResourceManager reads what a client wrote as it reads what Heddle writes, or Heddle refuses."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from shim.domain.submissions import Submission
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.submission_context import decode_submission
from tests.differential.conftest import APPS, clusters, json_of
from tests.support.raw_http import RawRequest, exchange

pytestmark = pytest.mark.lab

JSON, XML = "application/json", "application/xml"
SHOWN = ("queue", "name", "applicationType", "applicationTags", "priority", "unmanagedApplication")
_WHOLE = {"unmanaged-AM": "true", "max-app-attempts": 1, "resource": {"memory": 128, "vCores": 1}}

QUEUES = st.sampled_from(["prod", "root.prod", "root.dev", "default", "nosuch", "", " prod", "root..prod", "PROD", "5"])
TEXTS = st.sampled_from(["a", "a b", "\u00e4\u4e2d", "<b>&\"'", " x ", "5", "1.5", "true"])
NUMBERS = st.sampled_from([0, 3, "3", " 3 ", "+3", "high", 3.7, "-1", None, True, "9" * 30])
WRAPPED = st.sampled_from(
    [
        *[lambda value: value] * 12,
        lambda value: [value],
        lambda value: {"$": value},
        lambda value: [value, value],
        lambda value: {"x": value},
    ]
)


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a ResourceManager."""
    with clusters(tmp_path_factory, count=1) as found:
        yield found["east"]


@st.composite
def json_members(draw: st.DrawFn) -> str:
    """Members of a context, some twice, some wrapped."""
    fields = draw(
        st.lists(
            st.one_of(
                st.tuples(st.sampled_from(["queue", "queue", "Queue", "x.queue"]), QUEUES),
                st.tuples(st.sampled_from(["application-name", "application-type"]), TEXTS),
                st.tuples(st.just("priority"), NUMBERS),
            ),
            max_size=4,
        )
    )
    wrapped = [(name, draw(WRAPPED)(value)) for name, value in fields]
    return "".join(f",{json.dumps(name)}:{json.dumps(value)}" for name, value in wrapped)


@st.composite
def xml_elements(draw: st.DrawFn) -> str:
    """Elements of a context, with what XML allows between and in them."""
    text = st.sampled_from(["prod", "root.", "<!-- c -->", "<![CDATA[dev]]>", "&#112;", "<x/>", " ", "<?p i?>"])
    marks = st.sampled_from(["", "", "", ' a="b"', ' xmlns="u"'])
    names = st.sampled_from(["queue", "queue", "application-name", "application-type", "other"])
    drawn = draw(st.lists(st.tuples(names, marks, st.lists(text, max_size=3)), max_size=3))
    return "".join(f"<{name}{mark}>{''.join(texts)}</{name}>" for name, mark, texts in drawn)


def _json_body(application_id: str, members: str) -> bytes:
    return (json.dumps({"application-id": application_id, **_WHOLE})[:-1] + members + "}").encode()


def _xml_body(application_id: str, elements: str) -> bytes:
    whole = "<unmanaged-AM>true</unmanaged-AM><resource><memory>128</memory><vCores>1</vCores></resource>"
    root = "application-submission-context"
    return f"<{root}><application-id>{application_id}</application-id>{whole}{elements}</{root}>".encode()


def _new_id(url: str) -> str:
    made = exchange(url, RawRequest("POST", f"{APPS}/new-application?user.name=alice"))
    return str(json.loads(made.body)["application-id"])


def _read_by(url: str, application_id: str, body: bytes, media_type: str) -> dict[str, object] | int:
    """What a ResourceManager shows of a body, or its refusal; what it took is ended."""
    headers = (("Accept", "application/json"), ("Content-Type", media_type))
    answer = exchange(url, RawRequest("POST", f"{APPS}?user.name=alice", headers, body))
    if answer.status != 202:
        return answer.status
    shown = json_of(url, f"{APPS}/{application_id}?user.name=alice")["app"]
    assert isinstance(shown, dict)
    as_json = (("Accept", "application/json"), ("Content-Type", JSON))
    kill = RawRequest("PUT", f"{APPS}/{application_id}/state?user.name=alice", as_json, b'{"state":"KILLED"}')
    exchange(url, kill)
    return {name: shown.get(name) for name in SHOWN}


def _compare(url: str, media_type: str, said: str) -> None:
    write = _json_body if media_type == JSON else _xml_body
    plain, anew = _new_id(url), _new_id(url)
    try:
        understood: Submission = decode_submission(write(anew, said), media_type=media_type, user="alice")
    except JavaError:
        event("Heddle refuses")
        return
    event("both read")
    theirs = _read_by(url, plain, write(plain, said), media_type)
    ours = _read_by(url, anew, understood.body, media_type)
    assert theirs == ours
    if isinstance(ours, dict):
        queue = str(ours["queue"])
        assert queue in (understood.queue, f"root.{understood.queue or 'default'}")
        assert str(ours["name"]) == understood.name or not understood.name


_SETTINGS = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@_SETTINGS
@given(said=json_members())
def test_json_is_read_alike(manager: str, said: str) -> None:
    _compare(manager, JSON, said)


@_SETTINGS
@given(said=xml_elements())
def test_xml_is_read_alike(manager: str, said: str) -> None:
    _compare(manager, XML, said)
