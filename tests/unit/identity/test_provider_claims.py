"""Users of an identity provider: names that are users here, and groups that count."""

from typing import Any

import pytest

from shim.identity.provider_claims import ClaimedUser, ClaimRules, UnusableClaimsError
from tests.doubles.settings import usual

RULES = usual(ClaimRules, user_domains=frozenset({"example.com"}), known_groups=frozenset({"oidc:ops", "root"}))


def claims(name: object, **more: Any) -> dict[str, Any]:
    return {"preferred_username": name, **more}


@pytest.mark.parametrize(
    ("name", "user"), [("alice", "alice"), ("alice@example.com", "alice"), ("alice@EXAMPLE.com", "alice")]
)
def test_a_name_and_one_of_a_configured_domain_is_a_user(name: str, user: str) -> None:
    assert RULES.user_of(claims(name)) == ClaimedUser(user)


@pytest.mark.parametrize(
    "name",
    [
        *("alice@evil.com", "alice@example.com@evil.com", "root@evil.com@example.com", "@example.com", "alice@"),
        *("alice/host", "alice/host@example.com", "a b:c", "*", "", " alice", "-x", "..", "al\nice", "group:ops"),
        *("x" * 300, None, 7, ["alice"], {"a": 1}, True),
    ],
)
def test_what_is_no_user_here_is_nobody(name: object) -> None:
    with pytest.raises(UnusableClaimsError):
        RULES.user_of(claims(name))


def test_without_domains_none_is_cut_off() -> None:
    with pytest.raises(UnusableClaimsError, match="user_domains"):
        usual(ClaimRules).user_of(claims("alice@example.com"))


def test_an_address_that_is_not_verified_names_nobody() -> None:
    rules = usual(ClaimRules, user_claim="email", user_domains=frozenset({"example.com"}))
    good = {"email": "alice@example.com", "email_verified": True}
    assert rules.user_of(good).user == "alice"
    for verified in (False, None, "true", 1):
        with pytest.raises(UnusableClaimsError, match="verified"):
            rules.user_of({**good, "email_verified": verified})


def test_groups_have_a_prefix_and_only_those_with_a_role_are_kept() -> None:
    assert RULES.user_of(claims("alice", groups=["ops", "root", "others", 7])).groups == {"oidc:ops"}
    assert RULES.user_of(claims("alice", groups="ops")).groups == {"oidc:ops"}
    assert RULES.user_of(claims("alice")).groups == frozenset()


@pytest.mark.parametrize("groups", [{"ops": 1}, 7, None, ["ops"] * 10_001], ids=["object", "number", "null", "many"])
def test_what_lists_no_groups_is_refused(groups: object) -> None:
    with pytest.raises(UnusableClaimsError):
        RULES.user_of(claims("alice", groups=groups))
