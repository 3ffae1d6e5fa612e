"""Answers over REST are kept while the view, the time and the sight are those that they were made of."""

from dataclasses import replace
from typing import Any

import pytest

from shim.domain.access_lists import Viewer
from shim.federation.core.federation_view import Part, PartDocument
from shim.federation.freshness import Freshness
from shim.identity.service import Caller
from shim.protocol.rest.queries import parse_query
from shim.server.rest.answers import SAFETY, AnswerWriter, Document
from shim.server.rest.cache import CacheLimits
from shim.server.rest.endpoints import ENDPOINTS, Operation
from shim.server.rest.kept_answers import KeptAnswers
from shim.server.rest.messages import Answer, Request
from shim.server.rest.operations import Call, Outcome
from tests.support.scripted_server import BASE, ScriptedServer

ALICE = Caller("alice", "alice")


class Kitchen:
    """Keeps answers of a server that was polled once, and looks for them."""

    def __init__(
        self, server: ScriptedServer, operation: Operation, viewer: Viewer, part: Part = Part.APPLICATIONS
    ) -> None:
        self.backend, self.clock = server.backend, server.federation.clock
        self.writer = AnswerWriter(self.clock.now_s)
        self.kept = KeptAnswers(self.backend, self.writer, CacheLimits(10, 1_000_000))
        endpoint = next(each for each in ENDPOINTS if each.operation is operation)
        self.request = Request("GET", BASE + endpoint.path, "", (("host", "front:8088"),), b"", "127.0.0.1")
        self.call = Call(self.request, endpoint, {}, parse_query(""), ALICE, {}, viewer)
        freshness = Freshness(self.clock.now_s(), self.backend.view.late(self.clock.now_s()))
        self.part, self.outcome = part, Outcome(Document(b"{}"), freshness, part)

    def keep(self, body: bytes = b"{}", **changed: Any) -> None:
        outcome = replace(self.outcome, **changed)
        own = (("Heddle-As-Of", "then"), ("X-Request-Id", "r0"), ("Set-Cookie", "c0"), ("Content-Type", "x"))
        answer = Answer(200, (*self.writer.opening(), *SAFETY, *own), body)
        self.kept.keep(self.call, outcome, answer, self.backend.view.version(self.part))

    def finds(self, sight: str = "") -> bool:
        return self.kept.find(self.request, self.call.query, sight) is not None


@pytest.fixture
async def server() -> ScriptedServer:
    made = ScriptedServer(["east", "west"])
    await made.poll()
    return made


@pytest.mark.parametrize(
    ("good_for_s", "after_s", "is_found"), [(2.0, 1.75, True), (2.0, 2.0, False), (0.0, 0.0, False)]
)
async def test_an_answer_is_good_until_its_time_and_not_at_it(server, good_for_s, after_s, is_found):
    kitchen = Kitchen(server, Operation.APPLICATIONS, Viewer("alice"))
    kitchen.keep(good_until_s=kitchen.clock.now_s() + good_for_s)
    kitchen.clock.wall_s += after_s
    assert kitchen.finds() is is_found
    kitchen.clock.wall_s -= after_s
    assert kitchen.finds() is is_found, "what was no good is forgotten"


@pytest.mark.parametrize(("after_s", "is_found"), [(0.75, True), (1.0, False)])
async def test_what_rights_decide_on_is_kept_for_a_second_and_for_nobody_else(server, after_s, is_found):
    viewer = Viewer("alice", sees_all=False)
    kitchen = Kitchen(server, Operation.APPLICATIONS, viewer)
    kitchen.keep(good_until_s=kitchen.clock.now_s() + 3.0)
    assert not kitchen.finds(Viewer("bob", sees_all=False).sight)
    kitchen.clock.wall_s += after_s
    assert kitchen.finds(viewer.sight) is is_found


async def test_what_is_of_no_application_is_kept_for_all(server):
    kitchen = Kitchen(server, Operation.NODES, Viewer("alice", sees_all=False), Part.NODES)
    kitchen.keep(good_until_s=kitchen.clock.now_s() + 3.0)
    kitchen.clock.wall_s += 1.5
    assert kitchen.finds(Viewer("bob", sees_all=False).sight)


async def test_an_answer_ends_when_its_part_changes_or_another_cluster_is_late(server):
    kitchen = Kitchen(server, Operation.APPLICATIONS, Viewer("alice"))
    kitchen.keep()
    home = kitchen.backend.view.subclusters[0]
    kitchen.backend.view.note_part(home, Part.NODES, PartDocument(b"{}", kitchen.clock.now_s()))
    assert kitchen.finds(), "another part"
    kitchen.backend.view.note_failure(home, "it is gone", at_s=kitchen.clock.now_s())
    assert not kitchen.finds()
    kitchen.keep(freshness=Freshness(0.0, (home,)))
    assert kitchen.finds()


@pytest.mark.parametrize(
    "changed",
    [{"part": None}, {"document": Document(b"{}", status=201)}, {"document": Document(b"{}", status=404)}],
)
async def test_only_what_was_well_and_of_a_part_is_kept(server, changed):
    kitchen = Kitchen(server, Operation.APPLICATIONS, Viewer("alice"))
    kitchen.keep(**changed)
    assert not kitchen.finds()


@pytest.mark.parametrize(("size", "pieces"), [(64 * 1024, 1), (64 * 1024 + 1, 2)])
@pytest.mark.parametrize("cookie", [None, "c9"])
async def test_it_goes_out_with_the_lines_of_who_asks_now(server, size, pieces, cookie):
    kitchen = Kitchen(server, Operation.APPLICATIONS, Viewer("alice"))
    kitchen.keep(b"x" * size, is_single=True, freshness=Freshness(0.0, ()))
    kept = kitchen.kept.find(kitchen.request, kitchen.call.query, "")
    assert kept is not None
    for number in ("r1", "r2"):
        out = kitchen.kept.as_it_goes_out(kept, number, cookie)
        assert len(out) == pieces
        head, _, body = b"".join(out).partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        told = [tuple(line.split(": ", 1)) for line in lines]
        answer = kitchen.kept.as_answer(kept, number, cookie)
        assert (status, body, answer.status, answer.body) == ("HTTP/1.1 200 OK", b"x" * size, 200, b"x" * size)
        own = [("Heddle-As-Of", "1970-01-01T00:00:00.000Z"), ("X-Request-Id", number)]
        own += [("Set-Cookie", cookie)] if cookie else []
        opening = [*kitchen.writer.opening(), *SAFETY, *own, ("Content-Type", "x")]
        assert told == [*opening, ("Content-Length", str(size))]
        assert list(answer.headers) == opening
