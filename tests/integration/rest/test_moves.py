"""S13: over REST, a move to a queue with an access list is checked, and its home reads what was checked."""

import json
from xml.etree import ElementTree as ET

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.resources import ResourceVector
from shim.identity.service import IdentityRules
from shim.protocol.rest.body_shapes import SHAPES, understand
from shim.server.rest.messages import Answer
from tests.doubles.rm_documents import a_queue
from tests.doubles.settings import usual
from tests.support.scripted_server import BASE, ScriptedServer, body_of

APP = ApplicationId(1_600_000_000_000, 7)
EAST, EAST_QUEUES = SubClusterId("east"), ("default", "production")
LISTED = SharePolicy((FederatedQueue("root.prod", submit=("alice",)), FederatedQueue("root.dev")))

BODIES = {
    "json": (b'{"queue":"prod"}', "application/json"),
    "json with escapes": (b'{"queue":"\\u0070rod"}', "application/json; charset=utf-8"),
    "xml": (b"<appqueue><queue>prod</queue></appqueue>", "application/xml"),
    "xml with references": (b"<appqueue><queue>&#112;rod</queue></appqueue>", "application/xml"),
    "xml with a section": (b"<appqueue><queue><![CDATA[prod]]></queue></appqueue>", "application/xml"),
}


async def a_server(policy: SharePolicy) -> ScriptedServer:
    server = ScriptedServer(policy=policy, rules=usual(IdentityRules, admins=("queen",)))
    server.federation["east"].add_application(APP, "RUNNING")
    await server.poll()
    return server


async def move(server: ScriptedServer, user: str, body: bytes, content_type: str) -> Answer:
    return await server.ask("PUT", f"{BASE}/apps/{APP}/queue?user.name={user}", body=body, content_type=content_type)


def read_anew(body: bytes) -> str:
    """The queue as another parser reads it."""
    if body.startswith(b"{"):
        pairs = json.loads(body, object_pairs_hook=list)
        (queue,) = (str(value) for name, value in pairs if name == "queue")
        return queue
    (element,) = ET.fromstring(body).iter("queue")  # noqa: S314 - our own bytes
    assert not element.attrib
    assert len(element) == 0
    return element.text or ""


def sent(server: ScriptedServer) -> list[bytes]:
    return [
        request.body
        for name in ("east", "west")
        for request in server.federation[name].taken
        if request.method == "PUT"
    ]


@pytest.mark.parametrize(("body", "content_type"), BODIES.values(), ids=BODIES)
async def test_s13_who_is_not_listed_is_refused_however_it_is_written(body: bytes, content_type: str):
    server = await a_server(LISTED)
    answer = await move(server, "mallory", body, content_type)
    assert answer.status == 403
    assert "mallory does not have permission to submit" in body_of(answer)["RemoteException"]["message"]
    assert sent(server) == []
    for user in ("alice", "queen"):
        await move(server, user, body, content_type)
    assert {read_anew(each) for each in sent(server)} == {"prod"}
    assert len(sent(server)) == 2


TWISTED = {
    "a list": (b'{"queue":["prod"]}', "application/json"),
    "a list of two": (b'{"queue":["dev","prod"]}', "application/json"),
    "said twice": (b'{"queue":"dev","queue":"prod"}', "application/json"),
    "jersey's text": (b'{"queue":{"$":"prod"}}', "application/json"),
    "an object": (b'{"queue":{"x":"prod"}}', "application/json"),
    "an attribute": (b'{"queue":{"@x":"y","$":"prod"}}', "application/json"),
    "a list in a list": (b'{"queue":[["prod"]]}', "application/json"),
    "a blank": (b'{"queue":" prod"}', "application/json"),
    "an empty part": (b'{"queue":"root..prod"}', "application/json"),
    "a control character": (b'{"queue":"prod\\u0000"}', "application/json"),
    "a namespace": (b'{"queue":"dev","x:queue":"prod"}', "application/json"),
    "a long one": (b'{"queue":"root.' + b"a" * 1024 * 1024 + b'"}', "application/json"),
    "children": (b"<appqueue><queue>dev<x/>prod</queue></appqueue>", "application/xml"),
    "a child": (b"<appqueue><queue><x>prod</x></queue></appqueue>", "application/xml"),
    "two elements": (b"<appqueue><queue>dev</queue><queue>prod</queue></appqueue>", "application/xml"),
    "an XML attribute": (b'<appqueue><queue a="b">prod</queue></appqueue>', "application/xml"),
    "an XML namespace": (b'<appqueue><q:queue xmlns:q="u">prod</q:queue></appqueue>', "application/xml"),
    "nil": (
        b'<appqueue xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><queue i:nil="true">prod</queue></appqueue>',
        "application/xml",
    ),
    "text beside": (b"<appqueue>prod<queue>dev</queue></appqueue>", "application/xml"),
    "an entity": (b'<!DOCTYPE a [<!ENTITY e "prod">]><appqueue><queue>&e;</queue></appqueue>', "application/xml"),
    "XML blanks": (b"<appqueue><queue>\n prod\n</queue></appqueue>", "application/xml"),
}


@pytest.mark.parametrize(("body", "content_type"), TWISTED.values(), ids=TWISTED)
@pytest.mark.parametrize("policy", [LISTED, SharePolicy()], ids=["listed", "open"])
async def test_s13_what_two_parsers_could_read_differently_is_refused(
    policy: SharePolicy, body: bytes, content_type: str
):
    server = await a_server(policy)
    for user in ("alice", "mallory", "queen"):
        answer = await move(server, user, body, content_type)
        assert answer.status == 400
        assert "RemoteException" in body_of(answer)
    assert sent(server) == []


@pytest.mark.parametrize("body", [b"", b"{", b"{}", b'{"appqueue":{"queue":"prod"}}', b"[]", b'{"queue":null}'])
async def test_s13_what_names_no_queue_goes_nowhere(body: bytes):
    server = await a_server(LISTED)
    assert (await move(server, "mallory", body, "application/json")).status == 400
    assert sent(server) == []


async def test_without_lists_a_move_says_what_was_understood():
    server = await a_server(SharePolicy((FederatedQueue("root.prod"),)))
    await move(
        server, "mallory", b'{ "queue" : "\\u0070rod" , "more":1, "none":null}', "application/json;charset=utf-8"
    )
    assert sent(server) == [b'{"queue":"prod","more":1}']
    request = next(each for each in server.federation["east"].taken if each.method == "PUT")
    assert dict(request.headers)["content-type"] == "application/json"


ELSEWHERE = SharePolicy((FederatedQueue("root.prod", submit=("alice",), names={EAST: "root.production"}),))
OPEN_ELSEWHERE = SharePolicy((FederatedQueue("root.prod", names={EAST: "root.production"}),))
SAID = {
    "json": (b'{"queue":"%s","more":1.50}', "application/json"),
    "xml": (b"<appqueue><queue>%s</queue><more>1.50</more></appqueue>", "application/xml"),
}


@pytest.mark.parametrize("policy", [ELSEWHERE, OPEN_ELSEWHERE], ids=["listed", "open"])
@pytest.mark.parametrize(("body", "content_type"), SAID.values(), ids=SAID)
@pytest.mark.parametrize(
    ("version", "queue", "name"),
    [
        ("3.4.2", b"root.prod", "root.production"),
        ("3.4.2", b"prod", "root.production"),
        ("3.4.2", b"root.production", "root.production"),
        ("3.4.2", b"nosuch", "nosuch"),
        ("3.2.4", b"root.prod", "production"),
        ("3.2.4", b"root.default", "default"),
        ("3.2.4", b"root.nosuch", "root.nosuch"),
    ],
)
async def test_a_home_is_told_its_own_name_of_the_queue(
    policy: SharePolicy, body: bytes, content_type: str, version: str, queue: bytes, name: str
):
    server = ScriptedServer(policy=policy, rules=usual(IdentityRules, admins=("queen",)))
    east, size = server.federation["east"], ResourceVector(4096, 4)
    east.version, east.queues = version, [a_queue(f"root.{each}", size, maximum=size) for each in EAST_QUEUES]
    east.add_application(APP, "RUNNING")
    await server.poll()
    for user in ("alice", "queen"):
        await move(server, user, body % queue, content_type)
    moved = [request for request in east.taken if request.method == "PUT"]
    assert [(read_anew(each.body), each.user) for each in moved] == [(name, "alice"), (name, "queen")]
    for each in moved:
        assert b"1.50" in each.body
        assert dict(each.headers)["content-type"] == content_type
    assert (name != queue.decode()) or moved[0].body == understood_alone(body % queue, content_type)


def understood_alone(body: bytes, content_type: str) -> bytes:
    """The body as it is sent where no name is another."""
    return understand(body, media_type=content_type, shape=SHAPES["PUT /apps/{application}/queue"]).body


async def test_s13_a_name_that_the_home_has_for_it_opens_no_queue():
    server = ScriptedServer(policy=ELSEWHERE, rules=usual(IdentityRules, admins=("queen",)))
    east, size = server.federation["east"], ResourceVector(4096, 4)
    east.queues = [a_queue(f"root.{each}", size, maximum=size) for each in EAST_QUEUES]
    east.add_application(APP, "RUNNING")
    await server.poll()
    for queue in (b"root.prod", b"prod", b"root.production", b"production"):
        answer = await move(server, "mallory", b'{"queue":"%s"}' % queue, "application/json")
        assert answer.status == 403
    assert sent(server) == []
