import pytest

from shim.domain.access_lists import NO_ACLS, Access, ApplicationACLs, grants


@pytest.mark.parametrize(
    ("acl", "user", "groups", "may"),
    [
        ("bob staff", "bob", (), True),
        ("bob staff", "eve", ("staff",), True),
        ("bob staff", "staff", (), False),
        ("bob staff", "eve", ("bob",), False),
        (" bob", "bob", (), False),
        ("ann,bob, x", "bob", (), True),
        ("*", "eve", (), True),
        (" * ", "eve", (), True),
        ("*,bob", "eve", (), False),
        ("", "", ("",), False),
        (" ", "eve", ("",), False),
    ],
)
def test_a_list_grants_to_users_and_groups_that_it_names(acl, user, groups, may):
    assert grants(acl, user, lambda: groups) is may


def test_groups_are_asked_for_only_where_a_list_names_groups():
    def directory():
        raise AssertionError("asked")

    assert not grants("alice", "eve", directory)
    assert grants("eve analysts", "eve", directory)


def test_of_a_kind_that_stands_twice_the_last_list_counts_and_other_kinds_are_none():
    stated = ApplicationACLs.stated([("VIEW_APP", "bob"), ("VIEW_APP", "vera"), ("FOO", "*"), ("MODIFY_APP", " ops")])
    assert (stated.of(Access.VIEW), stated.of(Access.MODIFY)) == ("vera", " ops")


def test_a_list_that_is_blank_or_longer_than_is_kept_names_nobody():
    assert ApplicationACLs.stated([("VIEW_APP", " "), ("MODIFY_APP", "a," * 5000)]) == NO_ACLS
