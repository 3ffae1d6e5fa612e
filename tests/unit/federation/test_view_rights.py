"""Who is told of another's application: everybody where nothing is guarded, else those who may see it."""

from dataclasses import replace

import pytest

from shim.domain.access_lists import Access
from shim.domain.ids import ApplicationId, SubClusterId
from shim.errors import ForbiddenError
from shim.federation.application_access import ApplicationAccess
from shim.federation.application_acls import ApplicationACLBook
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.federation.reading import ApplicationReading, ReadingSettings
from shim.federation.view_rights import ViewRights
from shim.identity.service import Caller, IdentityRules, IdentityService
from shim.simulation.state_stores import InMemoryStateStore
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_document
from tests.doubles.settings import usual

EAST, ONE = SubClusterId("east"), ApplicationId(1, 1)
DOCUMENT = a_document(1, "east")
"""Of alice."""


def rights(*, is_on, guarded=(), is_known=True):
    clock = FakeClock()
    view = FederationView((EAST,), usual(ViewSettings))
    if is_known:
        view.applications.note(DOCUMENT)
    store = InMemoryStateStore(now_s=clock.now_s)
    access = ApplicationAccess(ApplicationACLBook(view, store, clock), view, is_on=is_on)
    settings = usual(ReadingSettings, guarded=frozenset(guarded))
    reading = ApplicationReading(view, {}, store, clock, settings, access)
    return ViewRights(reading, IdentityService(usual(IdentityRules, admins=("root",)), secret=b"x" * 32, clock=clock))


@pytest.mark.parametrize(
    ("is_on", "guarded", "user", "may"),
    [
        (False, (), "eve", True),
        (True, (), "eve", False),
        (True, (), "alice", True),
        (True, (), "root", True),
        (False, (EAST,), "eve", False),
        (False, (EAST,), "alice", True),
        (False, (EAST,), "root", True),
        (True, (EAST,), "eve", False),
    ],
)
def test_records_are_told_to_the_user_to_operators_and_where_nothing_is_guarded_to_all(is_on, guarded, user, may):
    found, asker = rights(is_on=is_on, guarded=guarded), Caller(user, user)
    assert found.may_see(asker, ONE, "alice", EAST) is may
    if may:
        found.require(asker, ONE, "alice", EAST)
        return
    guard = "security.application_acls" if is_on else "yarn.acl.enable of east"
    with pytest.raises(ForbiddenError, match=guard):
        found.require(asker, ONE, "alice", EAST)


@pytest.mark.parametrize(
    ("is_on", "user", "sees_all"),
    [(False, "eve", True), (False, "root", True), (True, "eve", False), (True, "root", True)],
)
def test_a_viewer_sees_all_where_there_are_no_rights_or_it_is_an_operator(is_on, user, sees_all):
    found = rights(is_on=is_on)
    viewer = found.viewer(replace(Caller(user, user), groups=frozenset({"staff"})))
    assert (viewer.user, viewer.sees_all, found.are_on) == (user, sees_all, is_on)
    assert viewer.groups == {"staff"}


def test_what_nobody_knows_is_told_to_its_user_alone():
    found = rights(is_on=True, is_known=False)
    assert not found.may_see(Caller("eve", "eve"), ONE, "alice", EAST)
    assert found.may_see(Caller("alice", "alice"), ONE, "alice", EAST)


@pytest.mark.parametrize(("is_on", "user", "may"), [(False, "eve", True), (True, "eve", False), (True, "alice", True)])
def test_a_home_is_asked_in_the_name_of_those_who_may(is_on, user, may):
    assert rights(is_on=is_on).may(Caller(user, user), Access.VIEW, DOCUMENT.summary) is may
