"""API tokens at the whole server: what they let in, and every way past them that was tried."""

import json
from collections.abc import Iterable

import pytest

from shim.domain.roles import TokenScope
from shim.identity.service import Caller, IdentityRules, ProxyRule
from shim.protocol.proto.messages import TokenProto
from shim.protocol.rest.token_strings import encode_token
from shim.server.rest.endpoints import ENDPOINTS
from shim.server.rest.messages import Request
from tests.doubles.settings import usual
from tests.support.scripted_server import BASE, ScriptedServer, body_of, context

TOKENS = "/heddle/v1/tokens"
PREVIEWS = {"choose-home", "shares/whatif", "policy/validate"}
OF_OWNERS = {"apps/{application}/rehome"}
NEW = f"{BASE}/apps/new-application"


@pytest.fixture
async def server():
    rules = usual(
        IdentityRules,
        admins=("queen",),
        proxy_users={"alice": ProxyRule(hosts=("*",), users=("bob",))},
        allow_anonymous=True,
    )
    made = ScriptedServer(rules=rules)
    await made.poll()
    return made


async def a_token(server, user="alice", scopes: Iterable[TokenScope] = TokenScope, lifetime_s=1000.0):
    made = await server.api_tokens.create(
        Caller(user, user), name="ci", owner="", scopes=frozenset(scopes), lifetime_s=lifetime_s
    )
    return made.text


def bearer(text):
    return {"authorization": f"Bearer {text}"}


async def asked(server, method, target, headers, body=b""):
    """The answer to a request with headers that may stand twice."""
    path, _, query = target.partition("?")
    request = Request(method, path, query, (("host", "front:8088"), *headers), body, "127.0.0.1")
    at_once = server.server.answer_at_once(request)
    answer = await server.federation.wait_for(server.server.answer(request))
    assert at_once is None or at_once[0].startswith(b"HTTP/1.1 %d " % answer.status)
    return answer


def refusal(answer):
    """The message of an error as a ResourceManager's clients read it."""
    told = json.loads(answer.body)["RemoteException"]
    assert told["javaClassName"].rpartition(".")[2] == told["exception"]
    return told["message"]


def names_in(answer):
    return [name.lower() for name, _ in answer.headers]


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_a_token_submits_as_its_user_and_gets_no_cookie(server, scheme):
    shown = {"authorization": f"{scheme} {await a_token(server)}"}
    made = await server.ask("POST", NEW, **shown)
    assert made.status == 200
    id_ = body_of(made)["application-id"]
    submitted = await server.ask("POST", f"{BASE}/apps", body=context(id_), content_type="application/json", **shown)
    assert submitted.status == 202, submitted.body
    assert "set-cookie" not in names_in(made) + names_in(submitted)
    record = server.exchanges[-1]
    assert (record.caller.user, record.caller.real_user) == ("alice", "alice")


async def test_a_token_never_travels_to_a_resource_manager_and_stands_in_no_record(server):
    text = await a_token(server)
    secret = text.split("_", 2)[2]
    for method, target, body in (
        ("GET", f"{BASE}/scheduler-conf?cluster=east", b""),
        ("POST", NEW, b""),
        ("POST", f"{BASE}/reservation/new-reservation", b""),
        ("POST", f"{BASE}/add-node-labels", b'{"nodeLabelInfo":[{"name":"x"}]}'),
        ("GET", "/heddle/v1/clusters", b""),
        ("GET", "/cluster", b""),
        ("GET", "/proxy/application_1_0001/", b""),
    ):
        answer = await server.ask(method, target, body=body, content_type="application/json", **bearer(text))
        assert answer.status != 401
        assert secret not in repr(answer)
    await server.submit()
    assert secret not in repr(server.exchanges)
    sent = [repr(request) for name in ("east", "west") for request in server.federation[name].requests]
    assert sent
    assert not any(secret in call or "Bearer" in call or "authorization" in call.lower() for call in sent)


BAD = {
    "none": "",
    "of another server": "heddle_" + "0" * 16 + "_" + "A" * 43,
    "of another kind": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.",
    "a word": "alice",
    "very long": "heddle_" + "A" * 60_000,
    "with control characters": "heddle_\x00\x01",
    "beyond ASCII": "heddle_\xff\xfe",
}
CLAIMS = ["", "?user.name=alice", "?user.name=queen", "?user.name=alice&doAs=bob"]


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("path", [NEW, f"{BASE}/apps", "/cluster", "/heddle/v1/clusters", "/jmx", "/nosuch"])
async def test_a_bad_token_is_401_at_every_door_whatever_else_names_a_user(server, text, claim, path):
    cookie = ("cookie", f"hadoop.auth={server.identity.issue_cookie('queen').partition('=')[2].partition(';')[0]}")
    for more in ((), (cookie,)):
        for method in ("GET", "POST"):
            answer = await asked(server, method, path + claim, (("authorization", f"Bearer {text}"), *more))
            assert answer.status == 401, path
            assert "API token" in refusal(answer)
            assert dict(answer.headers)["WWW-Authenticate"].startswith("Bearer ")
            assert "set-cookie" not in names_in(answer)
            assert server.exchanges[-1].caller is None


NEARLY = {
    "of other case": str.swapcase,
    "upper": str.upper,
    "cut at the end": lambda text: text[:-1],
    "cut in front": lambda text: text[1:],
    "longer": lambda text: f"{text}A",
    "twice": lambda text: text * 2,
    "a list": lambda text: f"{text}, Bearer {text}",
    "two words": lambda text: f"{text} {text}",
    "quoted": lambda text: f'"{text}"',
    "a parameter": lambda text: f"token={text}",
    "very long": lambda text: text + "A" * 60_000,
    "padded": lambda text: f"{text}=",
    "last letter of equal bits": lambda text: text[:-1] + chr(ord(text[-1]) ^ 1),
}


@pytest.mark.parametrize("change", NEARLY.values(), ids=NEARLY)
async def test_what_is_nearly_a_token_is_401(server, change):
    text = await a_token(server)
    assert (await server.ask("POST", NEW, **bearer(text))).status == 200
    refused = await server.ask("POST", f"{NEW}?user.name=alice", **bearer(change(text)))
    assert refused.status == 401


@pytest.mark.parametrize(
    "lines",
    [
        ("Bearer {0}", "Bearer {0}"),
        ("Bearer {0}", "Bearer {1}"),
        ("Bearer {0}", "Negotiate YII="),
        ("Negotiate YII=", "Bearer {0}"),
        ("Basic YTpi", "Bearer {0}"),
        ("Bearer {0}", ""),
        ("", "bearer"),
    ],
)
async def test_a_header_that_stands_twice_is_401(server, lines):
    texts = await a_token(server), await a_token(server, "queen")
    headers = [("authorization", line.format(*texts)) for line in lines]
    assert (await asked(server, "POST", f"{NEW}?user.name=alice", headers)).status == 401


@pytest.mark.parametrize(
    "line", ["{}", "Basic {}", "Negotiate {}", "Token {}", "Bearer{}", "Bearer\t{}", "Digest x, Bearer {}"]
)
async def test_a_token_under_another_scheme_is_401_and_no_name_takes_its_place(server, line):
    text = await a_token(server)
    refused = await server.ask("POST", f"{NEW}?user.name=alice", authorization=line.format(text))
    assert refused.status == 401


async def test_another_scheme_without_a_token_is_as_before(server):
    assert (await server.ask("POST", f"{NEW}?user.name=alice", authorization="Basic YTpi")).status == 200


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("user.name=alice", 200),
        ("user.name=queen", 401),
        ("user.name=Alice", 401),
        ("user.name=", 401),
        ("doAs=bob", 403),
        ("doAs=alice", 403),
        ("DOAS=bob", 403),
        ("user.name=alice&doAs=bob", 403),
        ("x=1;doAs=bob", 403),
        ("delegation=abc", 401),
        ("op=GETDELEGATIONTOKEN", 401),
    ],
)
async def test_what_else_names_somebody_beside_a_good_token(server, claim, status):
    answer = await server.ask("POST", f"{NEW}?{claim}", **bearer(await a_token(server)))
    assert answer.status == status
    assert "set-cookie" not in names_in(answer)


async def test_a_delegation_token_beside_a_token_is_401(server):
    shown = {"x-hadoop-delegation-token": encode_token(TokenProto(identifier=b"", password=b"", kind="", service=""))}
    assert (await server.ask("POST", NEW, **bearer(await a_token(server)), **shown)).status == 401


async def test_a_cookie_of_another_user_does_not_count_beside_a_token(server):
    cookie = server.identity.issue_cookie("queen").partition(";")[0]
    refused = await server.ask(
        "POST", "/heddle/v1/clusters/east/cordon", cookie=cookie, **bearer(await a_token(server))
    )
    assert refused.status == 403
    assert "alice may not operate" in refusal(refused)


async def test_reads_that_are_kept_are_not_given_to_who_shows_a_bad_token(server):
    path = f"{BASE}/metrics"
    good, bad = bearer(await a_token(server)), bearer("heddle_" + "0" * 16 + "_" + "A" * 43)
    request = [Request("GET", path, "", (("host", "h"), *each.items()), b"", "1.2.3.4") for each in (good, bad)]
    assert (await server.ask("GET", path)).status == 200
    assert server.server.answer_at_once(request[0]) is not None
    for _ in range(2):
        at_once = server.server.answer_at_once(request[1])
        assert at_once is None or at_once[0].startswith(b"HTTP/1.1 401 ")
        assert (await server.ask("GET", path, **bad)).status == 401


async def test_expired_and_revoked_tokens_are_401(server):
    short, text = await a_token(server, lifetime_s=10.0), await a_token(server)
    await server.federation.clock.advance(10.0)
    expired = await server.ask("GET", f"{BASE}/metrics", **bearer(short))
    assert (expired.status, "expired" in refusal(expired)) == (401, True)
    await server.api_tokens.revoke(Caller("alice", "alice"), text.split("_")[1])
    revoked = await server.ask("GET", f"{BASE}/metrics", **bearer(text))
    assert (revoked.status, "revoked" in refusal(revoked)) == (401, True)


async def test_while_the_store_is_away_a_token_is_neither_good_nor_bad(server):
    text = await a_token(server)
    store = server.federation.stores.api_tokens
    store.is_away = True
    await server.federation.clock.advance(5.0)
    answer = await server.ask("GET", f"{BASE}/metrics?user.name=alice", **bearer(text))
    assert (answer.status, "retry-after" in names_in(answer)) == (503, True)
    store.is_away = False
    assert (await server.ask("GET", f"{BASE}/metrics", **bearer(text))).status == 200


@pytest.mark.parametrize("path", ["/healthz", "/ready"])
async def test_probes_are_not_asked_who_they_are(server, path):
    assert (await server.ask("GET", path, **bearer("x"))).status in (200, 503)


# -- scopes ----------------------------------------------------------------------------------------------------------


def filled(path):
    return "/".join("x" if part.startswith("{") else part for part in path.split("/"))


@pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: f"{row.method} {row.path}")
@pytest.mark.parametrize("has", [*TokenScope, None])
async def test_each_endpoint_takes_tokens_with_its_scope_alone(server, row, has):
    text = await a_token(server, "queen", TokenScope if has is None else {has})
    answer = await server.ask(
        row.method, BASE + filled(row.path), content_type="application/json", body=b"{}", **bearer(text)
    )
    refused = answer.status == 403 and "token" in answer.body.decode()
    makes_tokens = row.path.startswith("/delegation-token")
    lets = not row.changes or (not makes_tokens and (has is None or has is row.scope))
    assert refused is not lets
    if row.operates:
        assert row.scope is TokenScope.OPERATE


class _Filled(dict[str, str]):
    """A value for each parameter of a path."""

    def __missing__(self, name: str) -> str:
        return {"cluster": "east", "verb": "cordon", "token": "0" * 16, "version": "1"}.get(name, "x")


async def test_every_change_of_heddles_own_needs_its_scope_but_for_tokens_which_none_makes(server):
    """It is `operate`, but for what the owner of an application may change of it."""
    reader = await a_token(server, "queen", ())
    holders = {scope: await a_token(server, "queen", {scope}) for scope in (TokenScope.OPERATE, TokenScope.SUBMIT)}
    for each in server.api.endpoints:
        path = "/heddle/v1/" + each.path.format_map(_Filled())
        scope = TokenScope.SUBMIT if each.path in OF_OWNERS else TokenScope.OPERATE
        refused = await server.ask(each.method, path, body=b"{}", **bearer(reader))
        is_change = each.method != "GET" and each.path not in PREVIEWS
        assert (refused.status == 403 and f"lacks the scope {scope}:" in refusal(refused)) is is_change, path
        body = b'{"name": "x"}' if each.path == "tokens" else b"{}"  # a body that nobody reads is refused before
        answer = await server.ask(each.method, path, body=body, **bearer(holders[scope]))
        is_of_tokens = is_change and each.path.startswith("tokens")
        assert (answer.status == 403) is is_of_tokens, path
    assert {each.path for each in server.api.endpoints} >= {"tokens", "clusters/{cluster}/{verb}"}


@pytest.mark.parametrize("path", ["tok%65ns", "tokens/", "tokens;x=y", "%74okens"])
async def test_no_spelling_of_the_path_makes_a_token_of_a_token(server, path):
    text = await a_token(server, "queen")
    before = len(await server.api_tokens.of(Caller("queen", "queen"), None))
    answer = await server.ask("POST", f"/heddle/v1/{path}", body=b'{"name": "x"}', **bearer(text))
    assert answer.status in (403, 404)
    assert len(await server.api_tokens.of(Caller("queen", "queen"), None)) == before


@pytest.mark.parametrize("path", ["clusters/east/c%6frdon", "clust%65rs/east/cordon", "clusters/%65ast/cordon"])
async def test_no_spelling_of_the_path_gets_round_a_scope(server, path):
    text = await a_token(server, "queen", {TokenScope.SUBMIT})
    assert (await server.ask("POST", f"/heddle/v1/{path}", **bearer(text))).status in (403, 404)


# -- the endpoints ---------------------------------------------------------------------------------------------------


async def test_a_token_is_made_told_once_listed_and_revoked_over_rest(server):
    wanted = json.dumps({"name": "ci", "scopes": ["submit"], "lifetime_s": 60}).encode()
    made = body_of(await server.ask("POST", f"{TOKENS}?user.name=alice", body=wanted))
    assert (made["user"], made["created_by"], made["scopes"]) == ("alice", "alice", ["read", "submit"])
    assert made["good_until_ms"] - made["created_at_ms"] == 60_000
    assert server.exchanges[-1].audit == "token.create"
    text = made.pop("token")
    assert (await server.ask("POST", NEW, **bearer(text))).status == 200
    listed = await server.ask("GET", f"{TOKENS}?user.name=alice")
    assert body_of(listed) == {"tokens": [made]}
    assert text.split("_", 2)[2] not in listed.body.decode()
    of_others = [f"{TOKENS}?user.name=bob&user=alice", f"{TOKENS}?user.name=bob&all=true"]
    assert [(await server.ask("GET", each)).status for each in of_others] == [403, 403]
    assert body_of(await server.ask("GET", f"{TOKENS}?user.name=queen&all=true")) == {"tokens": [made]}
    assert (await server.ask("DELETE", f"{TOKENS}/{made['id']}?user.name=bob")).status == 404
    assert (await server.ask("DELETE", f"{TOKENS}/{made['id']}?user.name=alice")).status == 200
    assert (server.exchanges[-1].audit, server.exchanges[-1].is_change) == ("token.revoke", True)
    assert (await server.ask("POST", NEW, **bearer(text))).status == 401


@pytest.mark.parametrize(
    ("query", "body", "status"),
    [
        ("", b'{"name": "x"}', 403),
        ("?user.name=alice&doAs=bob", b'{"name": "x"}', 403),
        ("?user.name=alice", b'{"name": "x", "user": "queen"}', 403),
        ("?user.name=alice", b'{"name": "x", "user": "a:b"}', 400),
        ("?user.name=queen", b'{"name": "x", "user": "a:b"}', 400),
        ("?user.name=alice", b'{"name": "x", "scopes": ["all"]}', 400),
        ("?user.name=alice", b'{"name": "x", "is_proven": true}', 400),
        ("?user.name=alice", b'{"name": "x", "lifetime_s": 1e300}', 400),
        ("?user.name=alice", b'{"name": ""}', 400),
        ("?user.name=alice", b"[" * 100_000, 400),
        ("?user.name=alice", b"", 400),
    ],
)
async def test_what_is_no_token_to_be_is_refused(server, query, body, status):
    assert (await server.ask("POST", TOKENS + query, body=body)).status == status
    assert not server.federation.stores.api_tokens.tokens


async def test_a_page_of_another_site_makes_no_token(server):
    answer = await server.ask("POST", f"{TOKENS}?user.name=alice", body=b'{"name":"x"}', origin="http://evil")
    assert answer.status == 403
