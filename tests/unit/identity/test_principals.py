"""Whom a principal stands for."""

import pytest

from shim.identity.principals import ForeignPrincipalError, PrincipalRules

RULES = PrincipalRules(frozenset({"HEDDLE.TEST", "SECOND.TEST"}))


@pytest.mark.parametrize(
    ("principal", "user"),
    [
        ("ada@HEDDLE.TEST", "ada"),
        ("ada@SECOND.TEST", "ada"),
        ("oozie/node.example@HEDDLE.TEST", "oozie"),
    ],
)
def test_the_first_part_of_a_principal_is_the_user(principal, user):
    assert RULES.user_of(principal) == user


@pytest.mark.parametrize(
    "principal",
    [
        "ada@OTHER.TEST",
        "ada@heddle.test",
        "ada@HEDDLE.TEST.EVIL",
        "ada",
        "@HEDDLE.TEST",
        "/node@HEDDLE.TEST",
        "ada/@HEDDLE.TEST",
        "a/b/c@HEDDLE.TEST",
        r"root\@HEDDLE.TEST@HEDDLE.TEST",
        r"ad\/a@HEDDLE.TEST",
        "ada@OTHER.TEST@HEDDLE.TEST",
        "ada @HEDDLE.TEST",
        "ada@HEDDLE.TEST\n",
        "",
    ],
    ids=repr,
)
def test_who_is_not_of_our_realms_is_nobody(principal):
    with pytest.raises(ForeignPrincipalError):
        RULES.user_of(principal)


def test_a_refusal_names_the_realms_and_the_key():
    with pytest.raises(ForeignPrincipalError, match=r"HEDDLE\.TEST, SECOND\.TEST \(security\.kerberos\.realms\)"):
        RULES.user_of("ada@OTHER.TEST")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("yarn", "yarn"), ("", ""), ("rm/node@HEDDLE.TEST", "rm"), ("ada@SECOND.TEST", "ada")],
)
def test_a_name_without_a_realm_stands_for_itself(name, expected):
    assert RULES.name_of(name) == expected


@pytest.mark.parametrize("name", ["rm/node", "ada@OTHER.TEST"])
def test_half_a_principal_stands_for_nobody(name):
    with pytest.raises(ForeignPrincipalError):
        RULES.name_of(name)
