"""API tokens: who may create them for whom, how long they are good, and how little a made-up one costs."""

import asyncio
import itertools
import random
from collections import Counter
from dataclasses import replace

import pytest

from shim.domain.roles import Role, TokenScope
from shim.errors import BadRequestError, ForbiddenError, NotAuthenticatedError, NotFoundError, UnavailableError
from shim.identity.api_tokens import APITokenLimits, APITokens, BadAPITokenError
from shim.identity.roles import RoleRules
from shim.identity.service import Caller, IdentityRules, IdentityService, TokenScopeError, require_scope
from shim.ports.token_store import TooManyTokensError
from shim.simulation.stores import InMemoryAPITokenStore
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual

DAY_S = 86_400.0
ALICE, BOB, QUEEN = Caller("alice", "alice"), Caller("bob", "bob"), Caller("queen", "queen")
OF_A_TOKEN = Caller("alice", "alice", scopes=frozenset(TokenScope), token_id="0" * 16)
LOOKS_LIKE_ONE = "heddle_" + "0" * 16 + "_" + "A" * 43


class Office:
    """A store, and Heddles that share it."""

    def __init__(self, *, heddles=1, admins=("queen",), roles=None, limits=None, **named):
        self.clock, self.store = FakeClock(), InMemoryAPITokenStore()
        rules = usual(IdentityRules, admins=admins, roles=roles or RoleRules(), local_admin="heddle")
        identity = IdentityService(rules, secret=b"x" * 32, clock=self.clock)
        self.chance = random.Random(7)  # noqa: S311 - a test repeats itself
        self.all = [
            APITokens(identity, self.clock, self.store, self.chance.randbytes, limits, **named) for _ in range(heddles)
        ]
        self.tokens = self.all[0]

    async def create(self, caller=ALICE, *, name="ci", owner="", scopes=(), lifetime_s=DAY_S):
        return await self.tokens.create(caller, name=name, owner=owner, scopes=scopes, lifetime_s=lifetime_s)


async def test_a_token_stands_for_who_created_it_and_the_store_cannot_tell_its_text():
    office = Office()
    made = await office.create(scopes=[TokenScope.SUBMIT])
    found = await office.tokens.check(made.text)
    assert (found.owner, found.created_by, found.name) == ("alice", "alice", "ci")
    assert found.scopes == {TokenScope.READ, TokenScope.SUBMIT}
    secret = made.text.split("_", 2)[2]
    assert secret not in repr(office.store.tokens)
    assert made.text.startswith(f"heddle_{found.id}_")


async def test_no_two_tokens_are_alike():
    office = Office()
    texts = {(await office.create()).text for _ in range(50)}
    assert len(texts) == len({text.split("_")[1] for text in texts}) == 50


@pytest.mark.parametrize("place", range(len(LOOKS_LIKE_ONE)))
async def test_a_token_of_which_one_letter_is_another_is_none(place):
    office = Office()
    text = (await office.create()).text
    for other in {"A", "b", "0", "_", "-", text[place].swapcase()} - {text[place]}:
        with pytest.raises(BadAPITokenError):
            await office.tokens.check(text[:place] + other + text[place + 1 :])


@pytest.mark.parametrize(
    "change",
    [
        str.upper,
        str.lower,
        str.swapcase,
        lambda text: text[:-1],
        lambda text: text[1:],
        lambda text: text + "A",
        lambda text: text + "=",
        lambda text: f"{text} {text}",
        lambda text: f"{text},{text}",
        lambda text: f"{text}\n",
        lambda text: text * 100_000,
        lambda text: text.replace("_", "\uff3f"),
        lambda _: "",
        lambda _: "heddle_",
    ],
)
async def test_what_is_nearly_a_token_is_none_and_the_store_is_not_asked_for_what_cannot_be_one(change):
    office = Office(heddles=2)
    text = change((await office.create()).text)
    with pytest.raises(BadAPITokenError):
        await office.all[1].check(text)
    with pytest.raises(BadAPITokenError):
        await office.tokens.check(text)
    assert office.store.reads <= 1


async def test_a_token_ends_with_its_time_to_the_millisecond():
    office = Office(limits=APITokenLimits(seen_within_s=1e9))
    text = (await office.create(lifetime_s=10.0)).text
    await office.clock.advance(9.999)
    assert (await office.tokens.check(text)).owner == "alice"
    await office.clock.advance(0.001)
    with pytest.raises(BadAPITokenError, match="has expired"):
        await office.tokens.check(text)


async def test_a_revoked_token_ends_here_at_once_and_elsewhere_within_seconds():
    office = Office(heddles=2)
    here, there = office.all
    made = await office.create()
    assert await there.check(made.text)
    await here.revoke(ALICE, made.token.id)
    with pytest.raises(BadAPITokenError, match="revoked"):
        await here.check(made.text)
    await office.clock.advance(1.999)
    assert await there.check(made.text)
    await office.clock.advance(0.001)
    with pytest.raises(BadAPITokenError, match="revoked"):
        await there.check(made.text)


async def test_the_store_is_asked_once_however_many_ask_and_not_again_for_seconds():
    office = Office(heddles=2)
    text = (await office.create()).text
    there = office.all[1]
    assert there.known(text) is None
    await asyncio.gather(*(there.check(text) for _ in range(50)))
    assert there.known(text) is not None
    for _ in range(50):
        await there.check(text)
    assert office.store.reads == 1


async def test_a_made_up_token_is_looked_for_once_in_seconds():
    office = Office()
    for _ in range(50):
        with pytest.raises(BadAPITokenError):
            await office.tokens.check(LOOKS_LIKE_ONE)
    assert office.store.reads == 1


async def test_made_up_tokens_do_not_push_out_those_that_are_known():
    office = Office(limits=APITokenLimits(remembered=3))
    text = (await office.create()).text
    for number in range(9):
        with pytest.raises(BadAPITokenError):
            await office.tokens.check(f"heddle_{number:016x}_" + "A" * 43)
    reads = office.store.reads
    assert await office.tokens.check(text)
    assert office.store.reads == reads


async def test_as_many_tokens_are_remembered_as_are_allowed_those_used_last():
    office = Office(limits=APITokenLimits(remembered=3))
    texts = [(await office.create()).text for _ in range(4)]
    for text in texts:
        await office.tokens.check(text)
    for text, reads in ((texts[1], 0), (texts[3], 0), (texts[0], 1)):
        before = office.store.reads
        assert await office.tokens.check(text)
        assert office.store.reads - before == reads


class SlowStore(InMemoryAPITokenStore):
    """Keeps who asks waiting; implements `APITokenStore`."""

    def __init__(self):
        super().__init__()
        self.goes_on, self.asked, self.most_at_once = asyncio.Event(), 0, 0

    async def find(self, token_id):
        self.asked += 1
        self.most_at_once = max(self.most_at_once, self.asked)
        await self.goes_on.wait()
        self.asked -= 1
        return await super().find(token_id)


async def test_a_flood_of_made_up_tokens_takes_turns_and_those_known_pass_it():
    office = Office(limits=APITokenLimits(unknown_at_once=2, unknown_waiting=5))
    text = (await office.create()).text
    slow = SlowStore()
    slow.tokens = office.store.tokens
    identity = IdentityService(usual(IdentityRules), secret=b"x" * 32, clock=office.clock)
    tokens = APITokens(
        identity, office.clock, slow, office.chance.randbytes, APITokenLimits(unknown_at_once=2, unknown_waiting=5)
    )
    slow.goes_on.set()
    assert await tokens.check(text)
    slow.goes_on.clear()
    await office.clock.advance(5.0)
    flood = [asyncio.ensure_future(tokens.check(f"heddle_{number:016x}_" + "A" * 43)) for number in range(9)]
    mine = asyncio.ensure_future(tokens.check(text))
    for _ in range(5):
        await asyncio.sleep(0)
    assert slow.asked == 3, "two that are made up, and the one that was known"
    slow.goes_on.set()
    assert (await mine).owner == "alice"
    outcomes = await asyncio.gather(*flood, return_exceptions=True)
    assert Counter(map(type, outcomes)) == {BadAPITokenError: 5, UnavailableError: 4}
    with pytest.raises(BadAPITokenError):
        await tokens.check(f"heddle_{99:016x}_" + "A" * 43)


async def test_while_the_store_is_away_nobody_is_let_in_on_old_news():
    office = Office()
    text = (await office.create()).text
    office.store.is_away = True
    assert await office.tokens.check(text)
    await office.clock.advance(2.0)
    with pytest.raises(Exception, match="away"):
        await office.tokens.check(text)


async def test_administrators_create_for_others_and_users_for_themselves():
    office = Office()
    for_alice = await office.create(QUEEN, owner="alice@REALM")
    assert (for_alice.token.owner, for_alice.token.created_by) == ("alice", "queen")
    assert (await office.create(ALICE, owner="alice")).token.owner == "alice"
    with pytest.raises(ForbiddenError, match="may not create API tokens of queen"):
        await office.create(ALICE, owner="queen")


@pytest.mark.parametrize(
    "caller",
    [
        replace(ALICE, real_user="oozie"),
        replace(QUEEN, real_user="oozie"),
        OF_A_TOKEN,
        replace(OF_A_TOKEN, user="queen", real_user="queen"),
    ],
)
async def test_who_acts_for_another_and_who_shows_a_token_creates_and_revokes_none(caller):
    office = Office()
    made = await office.create()
    with pytest.raises(ForbiddenError):
        await office.create(caller)
    if caller.scopes is not None:
        with pytest.raises(TokenScopeError):
            await office.tokens.revoke(caller, made.token.id)
    assert await office.tokens.check(made.text)


async def test_nobody_has_no_tokens():
    office = Office()
    nobody = Caller("dr.who", "dr.who", is_anonymous=True)
    with pytest.raises(NotAuthenticatedError):
        await office.create(nobody)
    allowing = IdentityService(
        usual(IdentityRules, allow_anonymous=True, admins=("*",)), secret=b"x" * 32, clock=office.clock
    )
    tokens = APITokens(allowing, office.clock, office.store, office.chance.randbytes)
    for owner in ("", "alice"):
        with pytest.raises(ForbiddenError):
            await tokens.create(nobody, name="x", owner=owner, scopes=(), lifetime_s=9.0)


async def test_that_everybody_operates_heddle_makes_nobody_another_user():
    office = Office(admins=("*",))
    with pytest.raises(ForbiddenError, match="by name"):
        await office.create(ALICE, owner="bob")


async def test_lists_and_revocations_are_the_owners_and_the_administrators():
    office = Office()
    mine, his = await office.create(ALICE), await office.create(BOB)
    assert [each.id for each in await office.tokens.of(ALICE, "alice")] == [mine.token.id]
    assert [each.id for each in await office.tokens.of(QUEEN, "alice")] == [mine.token.id]
    assert {each.id for each in await office.tokens.of(QUEEN, None)} == {mine.token.id, his.token.id}
    for owner in ("bob", None):
        with pytest.raises(ForbiddenError):
            await office.tokens.of(ALICE, owner)
    for wrong in (his.token.id, "0" * 16, "", "../x", his.text):
        with pytest.raises(NotFoundError):
            await office.tokens.revoke(ALICE, wrong)
    assert await office.tokens.check(his.text)
    await office.tokens.revoke(QUEEN, his.token.id)
    with pytest.raises(BadAPITokenError):
        await office.tokens.check(his.text)


@pytest.mark.parametrize("name", ["", " x", "a" * 101, "a\nb", "a;b", "é", "<b>"])
async def test_names_are_plain(name):
    with pytest.raises(BadRequestError):
        await Office().create(name=name)


@pytest.mark.parametrize("lifetime_s", [0.0, -1.0, 366 * DAY_S + 1, float("inf"), float("nan")])
async def test_lives_are_bounded(lifetime_s):
    with pytest.raises(BadRequestError):
        await Office().create(lifetime_s=lifetime_s)


async def test_the_number_of_an_owner_is_bounded():
    office = Office(limits=APITokenLimits(of_owner=2))
    for _ in range(2):
        await office.create()
    with pytest.raises(TooManyTokensError):
        await office.create()
    assert await office.create(BOB)


async def test_where_tickets_are_asked_for_a_token_counts_that_one_stands_behind():
    office = Office(needs_proof=True)
    believed = await office.create(ALICE)
    with pytest.raises(BadAPITokenError, match="created by a name that was only believed"):
        await office.tokens.check(believed.text)
    proven = await office.create(replace(ALICE, has_ticket=True))
    assert await office.tokens.check(proven.text)


@pytest.mark.parametrize(("has", "wants"), [*itertools.product(TokenScope, [*TokenScope, None])])
def test_a_scope_lets_do_itself_and_every_token_reads(has, wants):
    caller = Caller("alice", "alice", scopes=frozenset({has}), token_id="1")  # noqa: S106 - an id
    if wants in (has, TokenScope.READ):
        require_scope(caller, wants)
    else:
        with pytest.raises(TokenScopeError):
            require_scope(caller, wants)
    require_scope(ALICE, wants)


OFFICES = {
    "without roles": RoleRules(),
    "with roles": RoleRules({Role.VIEWER: ("*",), Role.USER: ("alice",), Role.OPERATOR: ("bob", "group:oidc:ops")}),
}
HERE = Caller("heddle", "heddle", is_local=True)
"""Who runs this Heddle, on its machine."""


@pytest.mark.parametrize(
    ("roles", "caller", "owner", "scopes", "refused"),
    [
        ("without roles", ALICE, "", [TokenScope.SUBMIT, TokenScope.OPERATE], ""),
        ("with roles", ALICE, "", [TokenScope.SUBMIT], ""),
        (
            "with roles",
            ALICE,
            "",
            [TokenScope.SUBMIT, TokenScope.OPERATE],
            "operate takes the role operator, and alice",
        ),
        ("with roles", BOB, "", [TokenScope.OPERATE], ""),
        ("with roles", Caller("eve", "eve"), "", [TokenScope.SUBMIT], "submit takes the role user, and eve is viewer"),
        ("with roles", replace(ALICE, groups=frozenset({"x"})), "", [TokenScope.READ], ""),
        ("with roles", QUEEN, "alice", [TokenScope.OPERATE], "operate takes the role operator, and alice is user"),
        ("with roles", QUEEN, "bob", [TokenScope.OPERATE], ""),
        ("with roles", QUEEN, "", [TokenScope.OPERATE], ""),
        *(
            (each, HERE, "", [TokenScope.OPERATE], f"operate takes the role {role}, and heddle is {is_} by a token")
            for each, role, is_ in (("without roles", "administrator", "user"), ("with roles", "operator", "viewer"))
        ),
        (
            "with roles",
            replace(ALICE, groups=frozenset({"oidc:ops"})),
            "",
            [TokenScope.OPERATE],
            "operate takes the role operator, and alice is user by a token: operator on this machine alone",
        ),
    ],
)
async def test_a_token_promises_no_more_than_its_owners_role_has(roles, caller, owner, scopes, refused):
    office = Office(roles=OFFICES[roles])
    if refused:
        with pytest.raises(ForbiddenError, match=f"the scope {refused}"):
            await office.create(caller, owner=owner, scopes=scopes)
        assert not office.store.tokens
        return
    made = await office.create(caller, owner=owner, scopes=scopes)
    assert made.token.scopes == {TokenScope.READ, *scopes}


async def test_a_new_token_is_known_here_without_a_look_and_says_when_it_began_and_ends():
    office = Office()
    made = await office.create(replace(ALICE, has_login=True), lifetime_s=1.5)
    assert office.tokens.known(made.text) == made.token
    assert office.store.reads == 0
    assert (made.token.name, made.token.created_by, made.token.is_proven) == ("ci", "alice", True)
    assert made.token.created_at_ms == int(office.clock.now_s() * 1000)
    assert made.token.good_until_ms - made.token.created_at_ms == 1500
    assert not (await office.create()).token.is_proven


@pytest.mark.parametrize("lifetime_s", [0.001, 366 * DAY_S])
async def test_the_shortest_and_the_longest_life(lifetime_s):
    made = await Office().create(lifetime_s=lifetime_s)
    assert made.token.good_until_ms - made.token.created_at_ms == lifetime_s * 1000


async def test_the_number_of_all_owners_is_bounded():
    office = Office(limits=APITokenLimits(in_all=2))
    await office.create(ALICE)
    await office.create(BOB)
    with pytest.raises(TooManyTokensError):
        await office.create(QUEEN)


async def test_within_says_how_old_the_stores_word_may_be():
    office = Office()
    made = await office.create()
    await office.clock.advance(1.0)
    for within_s, reads in ((1.5, 0), (1.0, 1), (0.0, 2), (None, 2)):
        assert await office.tokens.check(made.text, within_s=within_s)
        assert office.store.reads == reads


async def test_a_token_that_is_made_after_somebody_asked_for_it_is_known_and_one_that_is_revoked_is_not():
    office = Office(heddles=2, limits=APITokenLimits(seen_within_s=1e9))
    here, there = office.all
    made = await office.create()
    held = office.store.tokens.pop(made.token.id)
    with pytest.raises(BadAPITokenError):
        await there.check(made.text)
    office.store.tokens[made.token.id] = held
    assert await there.check(made.text, within_s=0.0)
    assert there.known(made.text) == made.token
    await there.revoke(ALICE, made.token.id)
    with pytest.raises(BadAPITokenError):
        there.known(made.text)
    assert here.known(made.text) == made.token


async def test_a_token_reads_the_list_of_its_owner_and_makes_and_ends_none():
    office = Office()
    made = await office.create()
    assert await office.tokens.of(OF_A_TOKEN, "alice") == [made.token]
    with pytest.raises(NotAuthenticatedError):
        await office.tokens.of(Caller("dr.who", "dr.who", is_anonymous=True), "dr.who")
    with pytest.raises(NotAuthenticatedError):
        await office.tokens.revoke(Caller("alice", "alice", is_anonymous=True), made.token.id)
    assert await office.tokens.check(made.text)


async def test_an_id_that_was_found_again_is_the_last_to_be_forgotten():
    office = Office(heddles=2, limits=APITokenLimits(remembered=2))
    there = office.all[1]
    texts = [(await office.create()).text for _ in range(3)]
    for at in (0, 1):
        await there.check(texts[at])
    await there.check(texts[0], within_s=0.0)
    await there.check(texts[2])
    assert [there.known(text) is not None for text in texts] == [True, False, True]


async def test_the_store_is_not_asked_to_remove_what_cannot_be_an_id():
    office = Office()
    made = await office.create()
    for wrong in (made.token.id.upper() + "g", made.token.id + "\n", f" {made.token.id}", made.token.id[:-1]):
        office.store.tokens[wrong] = made.token
        with pytest.raises(NotFoundError):
            await office.tokens.revoke(QUEEN, wrong)
        assert wrong in office.store.tokens
