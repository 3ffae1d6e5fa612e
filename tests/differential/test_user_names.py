"""What Hadoop makes of a user's name: Heddle makes the same of it, or refuses."""

import base64
import json
import subprocess
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.users import MalformedUserNameError, canonical_user
from shim.lab.jars import ensure_jars
from tests.support.client_jars import compile_program
from tests.support.raw_http import RawRequest, exchange

pytestmark = pytest.mark.lab

NAMES = [
    *("alice", "knox@X", "alice/h", "alice/h@X", "@x", "/h", "/h@X", "alice/", "a/b/c", "alice@", "alice@X@Y"),
    *("a@b/c", "a/b@c/d", "alice/h@", "a b", " alice", "alice ", "Alice", "a\\b", "a$1", "$1", "é", "a:b", "a,b"),
    *("group:x", "..", "-x", "a;b", 'a"b', "*", "a%40b", "a+b", "x" * 256, "x" * 257),
]
JSON = (("Accept", "application/json"),)
PARTS = st.text(st.sampled_from("aZé9._-$ /@&;,:%+\u200b\n"), max_size=12)


def ours(name: str) -> str | None:
    try:
        return canonical_user(name)
    except MalformedUserNameError:
        return None


@pytest.fixture(scope="module")
def hadoop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str | None]]:
    """The short name that `UserGroupInformation` makes of a name; None if it refuses the name."""
    jars = ensure_jars("3.4.2", lambda _line: None)
    program = compile_program("ShortNames", [jars], tmp_path_factory.mktemp("short-names"))
    command = ["java", "-cp", f"{program}:{jars}/*", "ShortNames"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as java:
        assert java.stdin is not None
        assert java.stdout is not None
        asked, told = java.stdin, java.stdout

        def short_name(name: str) -> str | None:
            asked.write(base64.b64encode(name.encode()) + b"\n")
            asked.flush()
            line = told.readline().strip()
            return None if line == b"-" else base64.b64decode(line.removeprefix(b"+")).decode()

        yield short_name
        java.stdin.close()


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_name_is_the_same_user_to_hadoop_or_refused(hadoop, name):
    assert ours(name) in (None, hadoop(name))


@pytest.mark.parametrize("name", ["alice", "knox@X", "alice/h", "alice/h@X", "a b", "é", "x" * 256])
def test_no_name_of_an_account_is_refused(hadoop, name):
    assert ours(name) == hadoop(name) is not None


@given(st.one_of(PARTS, st.text(max_size=30)))
def test_any_name_is_the_same_user_to_hadoop_or_refused(hadoop, name):
    mine = ours(name)
    if mine is not None:
        assert mine == hadoop(name)
        assert mine == hadoop(mine), "what is sent on is read as it was understood"


@pytest.mark.parametrize("parameter", ["user.name={}", "user.name=root&doAs={}"])
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_resource_manager_takes_the_sent_name_as_it_was_understood(federation_of_one, parameter, name):
    target = f"/ws/v1/cluster/userinfo?{parameter.format(quote(name, safe=''))}"
    told = exchange(federation_of_one.heddle, RawRequest("GET", target, JSON))
    if told.status != 200:
        assert told.status in (400, 403)
        return
    user = json.loads(told.body)["requestedUser"]
    assert user == ours(name)
    sent = f"/ws/v1/cluster/userinfo?user.name={quote(user, safe='')}"
    asked = exchange(federation_of_one.managers[0], RawRequest("GET", sent, JSON))
    assert json.loads(asked.body)["requestedUser"] == user
