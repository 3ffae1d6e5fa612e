"""Mistakes of a configuration: all at once, each with its line."""

import pytest

from shim.config.lines import line_of, lines_of_keys
from shim.config.loader import parse
from shim.errors import ConfigError

FILE = """\
log.level = "loud"
[server]
rest = 8088
client_rpc = "0.0.0.0:8032"
colour = "red"

[[subcluster]]
id = "east"
web = "http://east:8088"
[subcluster.reads_from]
west = 3
north = 1

[[subcluster]]  # the second
web = "http://west:8088"
auth = "none"

[[subcluster]]
id = "west"

[security.kerberos]
keytab = "k"

[[queue]]
name = "root.prod"
note_of_it = \"\"\"
weight = 3
\"\"\"
weight = "much"
"""


def refused(text: str, **environment: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        parse(text, source="/etc/heddle.toml", environment=environment)
    return caught.value


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    error = refused(FILE, HEDDLE_SERVER_NO_SUCH="1")
    places = [(mistake.source.rpartition("/")[2], mistake.key) for mistake in error.mistakes]
    assert places == [
        ("HEDDLE_SERVER_NO_SUCH", "server"),
        ("heddle.toml:1", "log.level"),
        ("heddle.toml:3", "server.rest"),
        ("heddle.toml:4", "server.client_rpc"),
        ("heddle.toml:5", "server.colour"),
        ("heddle.toml:12", "subcluster[0].reads_from.north"),
        ("heddle.toml:14", "subcluster[1].id"),
        ("heddle.toml:16", "subcluster[1].auth"),
        ("heddle.toml:18", "subcluster[2]"),
        ("heddle.toml:21", "security.kerberos.principal"),
        ("heddle.toml:26", "queue[0].note_of_it"),
        ("heddle.toml:29", "queue[0].weight"),
    ]
    assert str(error).splitlines() == [str(mistake) for mistake in error.mistakes]


def test_a_single_mistake_is_an_error_as_ever() -> None:
    error = refused("[[subcluster]]\nid = 'a'\nweb = 'http://a:1'\n[server]\nrest = 8088\n")
    assert error.mistakes == (error,)
    assert str(error).startswith("/etc/heddle.toml:5: server.rest: 8088 is not a text in quotes, such as ")
    assert '"127.0.0.1:8088"' in str(error)


def test_a_variable_is_named_instead_of_a_line() -> None:
    error = refused("[[subcluster]]\nid = 'a'\nweb = 'http://a:1'\n[server]\nrest = 'b:1'\n", HEDDLE_SERVER_REST="no")
    assert str(error).startswith("HEDDLE_SERVER_REST: server.rest: ")


def test_lines_of_nested_and_quoted_names() -> None:
    lines = lines_of_keys(
        'a.b.c = 1\n[x]\n\'y z\' = [\n  "q = 1",\n]\n[[t]]\n[[t.u]]\nv = 1\n[[t.u]]\nv = 2\n[[t]]\n[t."w.w"]\nk = 3\n'
    )
    assert lines["a.b.c"] == 1
    assert lines["x.y z"] == 3
    assert (lines["t[0].u[0].v"], lines["t[0].u[1].v"], lines["t[1].w.w.k"]) == (8, 10, 13)
    assert [line_of(lines, path) for path in ("t[0].u[1].missing", "t[1].other", "a.b", "nowhere", "t[7].x")] == [
        9,
        11,
        1,
        0,
        6,
    ]
