"""The web services of shares, without a socket."""

import json
from typing import Any

import pytest
from fastapi import Depends, FastAPI

from shim.config.policy_files import parse_policy
from shim.domain.credits import Credits
from shim.domain.ids import SubClusterId
from shim.domain.queues import FederatedQueue
from shim.domain.submissions import SubmissionState
from shim.errors import BadRequestError, ForbiddenError, MalformedBodyError, NotAuthenticatedError
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.identity.service import Caller, IdentityRules, IdentityService
from shim.queues.admission import AdmissionQueue
from shim.queues.core.entitle import ShareSettings
from shim.queues.policies import PolicyService
from shim.queues.preemption_log import PreemptionLog
from shim.queues.share_history import ShareHistory
from shim.server.rest.in_process import ask_application, hand_errors_out
from shim.server.rest.messages import Request
from shim.server.rest.shares_api import SharesAPI
from shim.simulation.state_stores import InMemoryStateStore
from shim.simulation.stores import InMemoryActStore, InMemoryPolicyStore
from tests.doubles.builders import a_record, a_submission
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_queue_report, a_report
from tests.doubles.settings import usual

POLICY = '[[queue]]\nname = "root.prod"\nweight = 3\n[[queue]]\nname = "root.dev"\nweight = 1\n'


class Asked:
    """Asks as a user."""

    def __init__(self, view: FederationView | None = None) -> None:
        self.clock = clock = FakeClock()
        self.policies = PolicyService(
            InMemoryPolicyStore(clock.now_s), POLICY, lambda text, source: parse_policy(text, source=source), clock
        )
        self.altruism: dict[str, Credits] = {}
        self.unnamed: list[FederatedQueue] = []
        self.room = room = AdmissionQueue(
            policy=lambda: self.policies.current.with_queues(self.unnamed),
            view=view or FederationView((), usual(ViewSettings)),
            admissions={},
            store=InMemoryStateStore(clock.now_s),
            clock=clock,
            groups_of=lambda _: frozenset(),
            settings=usual(ShareSettings),
        )
        rules = usual(IdentityRules, admins=("queen",))
        identity = IdentityService(rules, secret=bytes(32), clock=clock)
        self.over_time = ShareHistory(lambda: room.latest.statuses, clock)
        acts = PreemptionLog(InMemoryActStore())
        api = SharesAPI(room, self.policies, identity, acts, self.over_time, lambda: self.altruism)
        self._app = FastAPI(openapi_url=None)
        for each in api.endpoints():
            guarded = [Depends(each.guard(identity))]
            self._app.add_api_route(f"/{each.path}", each.answer, methods=[each.method], dependencies=guarded)
        hand_errors_out(self._app)

    async def __call__(self, method: str, path: str, body: object = None, user: str = "queen", query: str = "") -> Any:
        return await self.ask_as(Caller(user, user), method, path, body, query)

    async def ask_as(self, caller: Caller, method: str, path: str, body: object = None, query: str = "") -> Any:
        raw = b"" if body is None else json.dumps(body).encode()
        headers = (("content-type", "application/json"),)
        request = Request(method, path, query, headers, raw, "127.0.0.1")
        _, answer = await ask_application(self._app, request, {"caller": caller})
        return json.loads(answer)


@pytest.fixture
def ask() -> Asked:
    return Asked()


async def test_queues_without_any_cluster_stand_at_nothing(ask: Asked) -> None:
    told = await ask("GET", "/shares")
    assert [(row["queue"], row["weight"], row["waiting"], row["used"]) for row in told["queues"]] == [
        ("root.prod", 3, 0, 0),
        ("root.dev", 1, 0, 0),
    ]


async def test_a_queue_that_no_policy_names_is_told_of_while_some_wait_in_it(ask: Asked) -> None:
    ask.unnamed = [FederatedQueue("root.default")]
    assert "root.default" not in [row["queue"] for row in (await ask("GET", "/shares"))["queues"]]
    ask.room.note_waiting(a_record(state=SubmissionState.WAITING, queue="root.default"))
    told = {row["queue"]: (row["weight"], row["waiting"]) for row in (await ask("GET", "/shares"))["queues"]}
    assert told == {"root.prod": (3, 0), "root.dev": (1, 0), "root.default": (None, 1)}


async def test_what_jobs_of_a_queue_gave_and_received_stands_beside_its_share(ask: Asked) -> None:
    told = await ask("GET", "/shares")
    path = told["queues"][0]["queue"]
    assert "given_s" not in told["queues"][0]
    ask.altruism = {path: Credits(12.34, 5.0), "root.gone": Credits(1.0, 1.0)}
    (row,) = [row for row in (await ask("GET", "/shares"))["queues"] if "given_s" in row]
    assert (row["queue"], row["given_s"], row["received_s"]) == (path, 12.3, 5.0)


async def test_starts_of_a_queue_are_told_by_the_minute(ask: Asked) -> None:
    for sequence in range(11):
        ask.room.note_start(a_submission(sequence, queue="root.prod"))
        ask.clock.wall_s += 2.0
    told = {row["queue"]: row["starts_per_minute"] for row in (await ask("GET", "/shares"))["queues"]}
    assert told == {"root.prod": round(60 * 10 / 22, 2), "root.dev": 0.0}


async def test_shares_over_the_day_are_told_of_the_named_queues_or_of_the_largest(ask: Asked) -> None:
    assert await ask("GET", "/shares/history") == {"every_s": 60.0, "at_ms": [], "queues": []}
    ask.room.look()
    ask.over_time.sample()
    told = await ask("GET", "/shares/history")
    assert sorted(row["queue"] for row in told["queues"]) == ["root.dev", "root.prod"]
    assert len(told["at_ms"]) == 1
    named = await ask("GET", "/shares/history", query="shown=root.dev&shown=root.none&shown=root.dev")
    assert [(row["queue"], row["used"]) for row in named["queues"]] == [("root.dev", [0.0]), ("root.none", [None])]


async def test_a_policy_is_applied_told_and_rolled_back(ask: Asked) -> None:
    new = POLICY.replace("3", "5")
    dry = await ask("POST", "/policy", {"text": new}, query="dryRun=true")
    assert (dry["dry_run"], dry["version"]) == (True, 0)
    told = await ask("POST", "/policy", {"text": new, "note": "more", "expected": 0})
    assert (told["version"], told["applied_by"], told["sharing"]) == (1, "queen", ["root.prod", "root.dev"])
    assert (await ask("GET", "/policy"))["text"] == new
    await ask("POST", "/policy/rollback/0")
    history = (await ask("GET", "/policy/history"))["versions"]
    assert [row["version"] for row in history] == [2, 1, 0]
    assert (await ask("GET", "/policy/versions/1"))["note"] == "more"


async def test_only_operators_change_the_policy_and_everybody_may_look(ask: Asked) -> None:
    for path in ("/policy", "/policy/rollback/0"):
        with pytest.raises(ForbiddenError, match=r"security\.admins"):
            await ask("POST", path, {"text": POLICY}, user="mallory")
    assert ask.policies.newest.version == 0
    assert (await ask("POST", "/policy/validate", {"text": POLICY}, user="mallory"))["mappings"] == 0


async def test_what_is_wrong_is_told_with_its_line(ask: Asked) -> None:
    with pytest.raises(BadRequestError, match=r"shares\.toml:2: queue\[0\]\.title"):
        await ask("POST", "/policy/validate", {"text": '[[queue]]\ntitle = "root.a"\n', "source": "shares.toml"})
    for body in ("no table", {"txt": ""}, {"text": 3}):
        with pytest.raises(MalformedBodyError):
            await ask("POST", "/policy", body)


async def test_what_if_tells_both(ask: Asked) -> None:
    told = await ask("POST", "/shares/whatif", {"text": '[[queue]]\nname = "root.new"\nweight = 1\n'})
    assert [min(row) for row in told["queues"]] == ["borrowed_now", "borrowed_then", "borrowed_now"]
    assert [row["queue"] for row in told["queues"]] == ["root.dev", "root.new", "root.prod"]


async def test_validation_tells_queues_and_mappings_that_no_cluster_has() -> None:
    view = FederationView((SubClusterId("east"),), usual(ViewSettings))
    named = a_queue_report("root.prod")
    view.apply(a_report("east", polled_at_s=FakeClock().now_s(), documents={"scheduler": b"{}"}, queues=[named]))
    text = f'{POLICY}[[mapping]]\nuser = "ann"\nqueue = "root.prod"\n[[mapping]]\nqueue = "root.gone"\n'
    told = await Asked(view)("POST", "/policy/validate", {"text": text})
    assert (told["nowhere"], told["checked_on"]) == (["root.dev", "root.gone"], ["east"])


async def test_a_release_is_for_operators_and_may_be_tried(ask: Asked) -> None:
    await ask("POST", "/policy", {"text": POLICY.replace("3", "5")})
    with pytest.raises(ForbiddenError):
        await ask("POST", "/policy/release", user="eve")
    assert (await ask("POST", "/policy/release", query="dryRun=true"))["dry_run"]
    assert (await ask("GET", "/policy"))["version"] == 1
    assert (await ask("POST", "/policy/release"))["version"] == 2
    assert (await ask("GET", "/policy"))["text"] == POLICY


async def test_who_names_nobody_has_no_policy_read_not_even_one_that_cannot_be(ask: Asked) -> None:
    anonymous = Caller("dr.who", "dr.who", is_anonymous=True)
    for path in ("/policy", "/policy/validate", "/shares/whatif", "/policy/rollback/0"):
        for body in ({"text": POLICY}, "no policy"):
            with pytest.raises(NotAuthenticatedError):
                await ask.ask_as(anonymous, "POST", path, body)
    assert (await ask.ask_as(anonymous, "GET", "/shares"))["version"] == 0


async def test_nested_toml_is_the_callers_mistake(ask: Asked) -> None:
    for text in ("a = " + "[" * 5000, "a = " + "{a = " * 900, "a = " + "9" * 9000):
        for path in ("/policy", "/policy/validate", "/shares/whatif"):
            with pytest.raises(BadRequestError):
                await ask("POST", path, {"text": text})
