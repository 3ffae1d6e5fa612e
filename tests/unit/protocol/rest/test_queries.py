"""Query strings: who is named and what is asked, as a ResourceManager 3.4.2 understood the same (observed)."""

from urllib.parse import unquote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.queries import MAX_PARAMETERS, QueryClaims, encode_query, parse_query
from tests.support.java_queries import authentication_filter, jersey
from tests.support.loop_watch import too_long_at_once


@pytest.mark.parametrize(
    ("raw", "user_name", "do_as"),
    [
        ("", None, None),
        ("user.name=alice", "alice", None),
        ("x=1;user.name=alice", "alice", None),
        ("user.name=alice;x=1", "alice", None),
        ("user.name=a;b", "a", None),
        ("user.name=a%3Bb", "a;b", None),
        ("USER.NAME=alice", None, None),
        ("user%2ename=al%69ce", "alice", None),
        ("user.name=a+b", "a b", None),
        ("user.name=a=b", "a=b", None),
        ("user.name=a%26b", "a&b", None),
        ("user.name=&user.name=bob", "", None),
        ("user.name&user.name=bob", None, None),
        ("=x&user.name=a", "a", None),
        (";;&&user.name=a", "a", None),
        ("?user.name=a", None, None),
        ("+user.name=a", None, None),
        ("user.name%20=a", None, None),
        ("x=%zz&user.name=a", "a", None),
        ("user.name=%C3%A9", "\u00e9", None),
        ("user.name=h&doAs=alice", "h", "alice"),
        ("user.name=h&x;DOAS=alice", "h", "alice"),
        ("user.name=h&doas=a&doAs=b", "h", "a"),
        ("user.name=h&doAs=&doAs=b", "h", ""),
        ("user.name=h&doAs;doAs=b", "h", None),
        ("user.name=h&do%41s=alice", "h", "alice"),
        ("user.name=h&doAs%3Dx=alice", "h", None),
        ("x=1;doAs=victim&user.name=mallory", "mallory", "victim"),
    ],
)
def test_a_caller_is_whom_a_resource_manager_takes_him_for(raw, user_name, do_as):
    assert parse_query(raw).claims == QueryClaims(user_name, do_as)


@pytest.mark.parametrize(
    "raw",
    [
        "user.n\u0161me=zed",  # to HttpClient the lowest byte of U+0161 is an `a`
        "user.name=\u0161x",
        "user.name=\u00e9",
        "user.name=h&doA\u01c5\u02bf=alice",
        "user.name=h&doA%C5%BF=%FF",
        "user.name=a%zzb",
        "user.name=a%%41",
        "user.name=%E9",
        "doAs=%",
        "x;doAs=%4",
    ],
)
def test_a_caller_who_may_be_read_in_two_ways_is_refused(raw):
    with pytest.raises(JavaError, match="a user is named"):
        parse_query(raw.encode().decode("latin-1"))


def test_javas_long_s_is_an_s():
    assert parse_query("user.name=h&doA%C5%BF=alice").claims == QueryClaims("h", "alice")


@pytest.mark.parametrize(
    ("raw", "parameters"),
    [
        ("a=1;b=2&c=3", {"a": ("1;b=2",), "c": ("3",)}),
        ("a=1&a=2&b", {"a": ("1", "2"), "b": ("",)}),
        ("=x&a==&&", {"a": ("=",)}),
        ("a=%zz+%2B&%41=%%41", {"a": ("%zz +",), "A": ("%A",)}),
        ("a=\u00fc".encode().decode("latin-1"), {"a": ("\u00fc",)}),
        ("a=%ff", {"a": ("\ufffd",)}),
    ],
)
def test_parameters_are_jerseys(raw, parameters):
    assert dict(parse_query(raw).parameters) == parameters


@pytest.mark.parametrize("character", [*map(chr, range(33)), "\x7f"])
def test_what_no_request_line_can_have_is_refused(character):
    with pytest.raises(JavaError, match="control character"):
        parse_query(f"{character}user.name=alice")


def test_what_is_no_utf8_is_refused():
    with pytest.raises(JavaError, match="not UTF-8"):
        parse_query("a=\xff")


@pytest.mark.parametrize("raw", ["&" * MAX_PARAMETERS, ";" * MAX_PARAMETERS, "a&" * MAX_PARAMETERS, "a;" * 60_000])
def test_parameters_are_counted(raw):
    with pytest.raises(JavaError, match="at most 1000 parameters"):
        parse_query(raw)


PIECES = st.sampled_from(
    [*"&;=+%#?/.", "user.name", "doAs", "DOAS", "doA%C5%BF", "\u017f", "op", "x", "%26", "%3B", "%zz"]
)
QUERIES = st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join)


@given(QUERIES)
def test_a_query_is_understood_as_java_understands_it_or_refused(text):
    raw = text.encode("utf-8", "replace").decode("latin-1")
    assume(not any(character.isspace() for character in text))
    try:
        query = parse_query(raw)
    except JavaError:
        return
    assert (query.claims.user_name, query.claims.do_as, query.claims.delegation) == authentication_filter(raw)
    assert dict(query.parameters) == jersey(raw)


@given(st.lists(st.tuples(st.text(min_size=1), st.text())), st.text(min_size=1))
def test_what_is_sent_is_read_as_it_was_meant_by_both_readers(pairs, user):
    pairs = [
        (name.encode("utf-8", "replace").decode(), value.encode("utf-8", "replace").decode()) for name, value in pairs
    ]
    user = user.encode("utf-8", "replace").decode()
    sent = encode_query([("user.name", user), *pairs])
    assert sent.isascii()
    assert not set(sent) & set(" ;#\r\n")
    assert authentication_filter(sent)[0] == user
    found = jersey(sent)
    assert [(name, value) for name, value in pairs if name not in found or value not in found[name]] == []
    assert sum(map(len, found.values())) == len(pairs) + 1


@pytest.mark.parametrize(
    ("raw", "is_it"),
    [
        ("op=GETDELEGATIONTOKEN", True),
        ("x=1;op=getdelegationtoken", True),
        ("op=RenewDelegat\u0131ontoken", False),
        ("op=renewdelegat%C4%B1ontoken", True),
        ("op=CANCELDELEGATIONTOKEN&op=x", True),
        ("op=x&op=CANCELDELEGATIONTOKEN", False),
        ("OP=GETDELEGATIONTOKEN", False),
        ("op&op=GETDELEGATIONTOKEN", False),
        ("delegation=", True),
        ("delegation", False),
    ],
)
def test_what_is_about_tokens_is_known(raw, is_it):
    if not raw.isascii():
        with pytest.raises(JavaError):
            parse_query(raw.encode().decode("latin-1"))
        return
    assert parse_query(raw).claims.is_about_tokens is is_it


@given(st.lists(st.sampled_from(["%", "%4", "%41", "%zz", "%c3", "%C3%a9", "%a9", "%2", "é", "\u20ac", "b", "0", "f"])))
def test_escapes_are_read_as_the_standard_library_reads_them(pieces):
    value = "".join(pieces)
    told = parse_query("x=" + value.encode().decode("latin-1")).parameters
    assert told == {"x": (unquote(value, errors="replace"),)}


@pytest.mark.parametrize("name", ["delegation", "doAs", "user.name", "op"])
def test_a_claim_of_which_each_letter_is_escaped_is_one(name):
    escaped = "".join(f"%{ord(letter):02X}" for letter in name)
    assert parse_query(f"{escaped}=a").claims == parse_query(f"{name}=a").claims != QueryClaims()


@pytest.mark.parametrize("value", ["%" * 60_000, "%4" * 30_000, "%c3%a9" * 10_000], ids=["signs", "halves", "escapes"])
async def test_many_percent_signs_are_read_in_a_part_of_what_a_turn_may_take(value):
    assert await too_long_at_once(lambda: parse_query("x=" + value), 1 / 3) is None
