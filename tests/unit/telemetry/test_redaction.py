import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.telemetry import REDACTED, escape, redact
from shim.telemetry.redaction import are_plain, on_one_line

CANARY = "c4n4ry-S3cr3t.Value"

CARRIERS = {
    "a key that names it": {"password": CANARY},
    "a key in another spelling": {"X-Hadoop-Token": CANARY, "Set-Cookie": CANARY, "AUTHORIZATION": CANARY},
    "a key deep down": {"request": {"headers": [{"authorization": CANARY}]}},
    "a query": {"url": f"http://h:1/ws?delegation={CANARY}&user.name=ada"},
    "a cookie in a text": {"error": f"bad cookie hadoop.auth={CANARY}; Path=/"},
    "a quoted cookie": {"error": f'Set-Cookie: hadoop.auth="u=ada&s={CANARY}"; Path=/'},
    "a header in a text": {"error": f"sent Authorization: Bearer {CANARY}"},
    "a negotiate header": {"error": f"got 401 for Negotiate {CANARY}"},
    "capitals in a text": {"error": f"PASSWORD: {CANARY}"},
    "a letter that counts as another": {"error": f"pa\N{LATIN SMALL LETTER LONG S}sword={CANARY}"},
    "JSON in a text": {"body": f'{{"am-password": "{CANARY}"}}'},
    "bytes": {"body": f"token={CANARY}".encode()},
    "an address with a password": {"url": f"postgresql+asyncpg://heddle:{CANARY}@db/heddle"},
    "an exception": {"error": ValueError(f"postgresql://heddle:{CANARY}@db refused")},
    "an API token in a path": {"target": f"/x/heddle_0123456789abcdef_{CANARY.replace('.', '-')}/y"},
    "an API token by itself": {"user": f"heddle_0123456789abcdef_{CANARY.replace('.', '-')}"},
    "a tuple in a list": {"all": [("x", f"secret={CANARY}")]},
}


@pytest.mark.parametrize("event", CARRIERS.values(), ids=CARRIERS)
def test_takes_a_secret_out_of(event):
    for way in (redact, on_one_line):
        written = msgspec.json.encode(way(event)).decode()
        assert CANARY not in written
        assert "c4n4ry" not in written
        assert REDACTED in written


@pytest.mark.parametrize(
    "harmless",
    [
        "application_1_0001 of ada in root.prod",
        "http://rm:8088/ws/v1/cluster/apps?user=ada",
        "3 tokens",
        "heddle_up",
        "",
        7,
        None,
        1.5,
    ],
)
def test_leaves_what_is_no_secret(harmless):
    assert redact({"event": harmless}) == {"event": harmless}


def test_ends_at_a_depth_that_no_line_needs():
    value: object = CANARY
    for _ in range(100):
        value = [value]
    assert CANARY not in str(redact(value))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("a\r\nb", "a\\r\\nb"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("line\u2028end", "line\\u2028end"),
        ("right\u202eleft", "right\\u202eleft"),
        ("nul\x00", "nul\\x00"),
        ("é 漢 ✓", "é 漢 ✓"),
    ],
)
def test_writes_what_could_forge_a_line_as_an_escape(text, expected):
    assert escape(text) == expected


@given(st.text())
def test_an_escaped_text_is_one_line(text):
    assert len(escape(text).splitlines()) <= 1


def escaped(value):
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, dict):
        return {escape(str(key)): escaped(below) for key, below in value.items()}
    return [escaped(below) for below in value] if isinstance(value, list) else value


KEYS = st.sampled_from(["queue", "password", "X-Token", "a b", "line\nend", ""]) | st.text(max_size=8)
TEXTS = st.sampled_from(["", "root.prod", "token=x1", "a\nb", "//u:p@h", "Bearer abcdefgh", "é"]) | st.text(max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS | st.binary(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("event", CARRIERS.values(), ids=CARRIERS)
def test_writes_no_secret_on_one_line(event):
    assert CANARY not in msgspec.json.encode(on_one_line(event)).decode()


@given(KEYS, VALUES)
def test_on_one_line_is_redacted_and_then_escaped(key, value):
    assert on_one_line(value, key=key) == escaped(redact(value, key=key))


def test_on_one_line_ends_at_the_depth_at_which_redaction_ends():
    value: object = "deep"
    for _ in range(20):
        value = {"below": value}
    assert on_one_line(value) == escaped(redact(value))


LINES = st.dictionaries(
    st.sampled_from(["request_id", "operation", "real_user", "status", "event", "token", "cookie"]),
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(
            ["POST /ws/v1/cluster/apps", "2027-01-15T08:00:00Z", "heddle_0123456789abcdef_x", "a\nb", "secret=x"]
        ),
        st.sampled_from(["basic", "http://u:p@h/", "dr.who", "Authorization: x", "\u202e"]),
        st.integers(),
        st.none(),
        st.lists(st.text(max_size=3), max_size=2),
    ),
)


@given(LINES)
def test_a_line_that_is_plain_is_left_as_it_is_by_a_look_at_each_value(line):
    if are_plain(line):
        assert {key: on_one_line(value, key=key) for key, value in line.items()} == line


def test_a_usual_line_of_the_audit_is_plain():
    said = {"event": "audit", "call": "POST /ws/v1/cluster/apps", "time": "2027-01-15T08:00:00Z", "status": 200}
    assert are_plain(said)
    assert not are_plain({**said, "reason": "token=abc"})
    assert not are_plain({**said, "token": "abc"})
    assert not are_plain({**said, "real_user": "a\nb"})
