"""Names of users: one canonical form, or none. The table is what Hadoop 3.4.2 makes of each name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.users import LONGEST_PRINCIPAL, LONGEST_USER_NAME, MalformedUserNameError, canonical_user


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("alice", "alice"),
        ("knox@X", "knox"),
        ("alice/h", "alice"),
        ("alice/h@X", "alice"),
        ("Alice", "Alice"),
        ("dr.who", "dr.who"),
        ("machine$", "machine$"),
        ("a b", "a b"),
        ("jürgen", "jürgen"),
        ("x" * LONGEST_USER_NAME, "x" * LONGEST_USER_NAME),
        ("x" * LONGEST_USER_NAME + "@REALM", "x" * LONGEST_USER_NAME),
    ],
)
def test_a_name_is_reduced_to_its_first_component(text, name):
    assert canonical_user(text) == name


@pytest.mark.parametrize(
    "text",
    [
        *("", "@x", "@", "/h", "/h@X", "alice@", "alice/", "alice/@X", "alice/h@", "alice@X@Y", "a/b/c", "a@b/c"),
        *(" alice", "alice ", "a\tb", "a\nb", "alice@X\n", "alice\n@X", "a\x00b", "a\u200bb", "a\u202eb", "\ufffd"),
        *(".", "..", "-x", "a&b", "a:b", "group:ops", "a,b", "a;b", 'a"b', "a\\b", "*", "a*", "a=b", "<b>", "a#b"),
        *("x" * (LONGEST_USER_NAME + 1), "x@" + "R" * LONGEST_PRINCIPAL),
    ],
)
def test_what_has_no_canonical_form_is_refused(text):
    with pytest.raises(MalformedUserNameError):
        canonical_user(text)


@given(st.text(max_size=300))
def test_a_canonical_name_is_a_fixed_point_and_bounded(text):
    try:
        name = canonical_user(text)
    except MalformedUserNameError:
        return
    assert canonical_user(name) == name
    assert 0 < len(name) <= LONGEST_USER_NAME
    assert name.isprintable()
    assert not set(name) & set('/@&:;,"\\*')
    assert text == name or text[len(name)] in "/@"
