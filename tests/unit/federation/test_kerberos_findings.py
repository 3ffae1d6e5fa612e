import pytest

from shim.federation.findings import Level
from shim.federation.kerberos_findings import ActingFacts, KerberosFacts, kerberos_findings

HEDDLE = KerberosFacts("heddle/node@REALM", kdc_ahead_s=0.0)
REFUSED = "User: heddle/node@REALM is not allowed to impersonate heddle-doctor"


def found(kerberos=HEDDLE, *acting):
    return [(each.check, each.level, each.subject) for each in kerberos_findings(kerberos, acting)]


def test_nothing_is_looked_for_where_names_are_believed():
    assert found(None, ActingFacts("east", "heddle", REFUSED)) == []


def test_what_is_in_order_is_said():
    assert found(HEDDLE, ActingFacts("east", "heddle")) == [
        ("kerberos", Level.OK, ""),
        ("kdc", Level.OK, ""),
        ("proxy rights", Level.OK, "east"),
    ]


@pytest.mark.parametrize(
    ("ahead_s", "level", "told"),
    [
        (30.0, Level.OK, "agrees"),
        (-31.0, Level.WARNING, "31 s behind"),
        (300.0, Level.WARNING, "300 s ahead of"),
        (301.0, Level.ERROR, "301 s ahead of"),
        (-301.0, Level.ERROR, "301 s behind"),
    ],
)
def test_a_clock_that_is_off_is_told_before_tickets_are_refused(ahead_s, level, told):
    (finding,) = (
        each for each in kerberos_findings(KerberosFacts("x", kdc_ahead_s=ahead_s), ()) if each.check == "kdc"
    )
    assert (finding.level, told in finding.message) == (level, True), finding


def test_a_kdc_that_gives_no_ticket_is_an_error_and_says_nothing_of_its_clock():
    facts = KerberosFacts("x", ticket_trouble="Cannot contact any KDC", kdc_ahead_s=999.0)
    assert [(each.level, each.message) for each in kerberos_findings(facts, ()) if each.check == "kdc"] == [
        (Level.ERROR, "Cannot contact any KDC")
    ]


@pytest.mark.parametrize(
    ("acting", "level", "advice"),
    [
        (ActingFacts("east", "heddle", REFUSED), Level.ERROR, "set hadoop.proxyuser.heddle.hosts"),
        (ActingFacts("east", "heddle", REFUSED, is_limited=True), Level.WARNING, "see that Heddle's host"),
        (ActingFacts("east", "heddle", "cannot be reached by RPC"), Level.ERROR, "Heddle does nothing there"),
        (ActingFacts("east", "heddle", "cannot be reached", is_limited=True), Level.ERROR, "Heddle does nothing there"),
    ],
    ids=["no rule", "a rule for others", "no login", "no login, whatever the rule"],
)
def test_a_resource_manager_that_lets_nobody_act_for_others_is_named(acting, level, advice):
    (finding,) = (each for each in kerberos_findings(HEDDLE, [acting]) if each.check == "proxy rights")
    assert (finding.level, finding.subject) == (level, "east")
    assert finding.message.startswith(acting.told)
    assert advice in finding.advice
