"""What Heddle understands of queries and ids is what the libraries inside a ResourceManager understand of them.

HttpClient's and Jersey's parsers and Hadoop's own ids are asked in a JVM, tens of thousands at a time: where Heddle and
they differ, Heddle must have refused. Then a whole ResourceManager is asked, directly and through Heddle.
"""

import json
import random
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, MalformedIdError, NodeId
from shim.lab import DEFAULT_VERSION
from shim.lab.jars import ensure_jars
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.queries import encode_query, parse_query
from tests.support.client_jars import compile_program
from tests.support.hadoop_folders import ask_hadoop, recorded
from tests.support.java_queries import authentication_filter, jersey
from tests.support.raw_http import RawRequest, exchange

pytestmark = pytest.mark.lab

_QUERY_PIECES = (
    *"&&&;;;===+%#?/.ax",
    *("user.name", "user.name=", "USER.NAME", "doAs", "doAs=", "DOAS=", "doas", "do%41s=", "doA%C5%BF=", "doA\u017f="),
    *("user.n\u0161me=", "user%2ename=", "delegation=", "op=GETDELEGATIONTOKEN", "%26", "%3B", "%3D", "%25", "%2526"),
    *("%", "%%", "%z", "%4", "%41", "%C3%A9", "%C3", "%FF", "%00", "%0A", "\u00e9", "\u01c5\u02bf", "\U0001f600"),
    *("alice", "victim", "states=RUNNING", "{x}", "~", "'", '"', "<", "\\", "^", "|", "$", "!", ","),
)
_ID_PIECES = (
    *("application_", "appattempt_", "container_", "container_e", "e", "_", "_", "_", "1", "0007", "1600000000000"),
    *("+1", "-1", "-0", "+", "-", "\uff11", "\u0967", "9223372036854775807", "9223372036854775808", "2147483648"),
    *(
        "x",
        " ",
        "\n",
        "%20",
        "000000000000000000000001",
        "host",
        "h1:",
        ":",
        ":1",
        "45454",
        "70000",
        "/",
        "1099511627777",
    ),
)
_PARSERS: dict[str, Callable[[str], object]] = {
    "application": ApplicationId.parse,
    "attempt": ApplicationAttemptId.parse,
    "container": ContainerId.parse,
    "node": NodeId.parse,
}
_EXAMPLES = 10_000


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Iterable[tuple[str, str]]], list[str]]:
    """The JVM's reading of many (kind, text)."""
    jars = ensure_jars(DEFAULT_VERSION, lambda _line: None)
    program = compile_program("Readers", [jars], tmp_path_factory.mktemp("readers"))

    def ask(texts: Iterable[tuple[str, str]]) -> list[str]:
        lines = "\n".join(f"{kind} {text.encode().hex()}" for kind, text in texts)
        command = ["java", "-cp", f"{program}:{jars}/*", "Readers"]
        return subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout.splitlines()

    return ask


def _texts(pieces: Sequence[str], seed: int) -> Iterator[str]:
    draw = random.Random(seed)  # noqa: S311 - repeatable
    for _ in range(_EXAMPLES):
        yield "".join(draw.choices(pieces, k=draw.randint(1, 8)))


def _text(told: str) -> str | None:
    return None if told == "-" else bytes.fromhex(told[1:]).decode()


def _as_java(line: str) -> tuple[tuple[str | None, ...], dict[str, list[str]]]:
    user, do_as, delegation, *pairs = line.split(" ")
    parameters: dict[str, list[str]] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        parameters.setdefault(_text(name) or "", []).append(_text(value) or "")
    return (_text(user), _text(do_as), _text(delegation)), parameters


def _raw(text: str) -> str:
    return text.encode().decode("latin-1")


def test_hadoop_reads_configuration_folders_as_was_recorded(tmp_path):
    """Heddle's reader is held to the recording by its unit test."""
    assert ask_hadoop(tmp_path) == recorded()


def test_a_query_is_understood_as_the_resource_manager_does_or_refused(read):
    texts = list(_texts(_QUERY_PIECES, seed=1))
    understood = 0
    for text, line in zip(texts, read(("query", text) for text in texts), strict=True):
        claims, parameters = _as_java(line)
        assert authentication_filter(_raw(text)) == claims, text
        assert {name: list(values) for name, values in jersey(_raw(text)).items()} == parameters, text
        try:
            query = parse_query(_raw(text))
        except JavaError:
            continue
        understood += 1
        assert (query.claims.user_name, query.claims.do_as, query.claims.delegation) == claims, text
        assert {name: list(values) for name, values in query.parameters.items()} == parameters, text
    assert understood > _EXAMPLES // 2


def test_what_is_sent_is_understood_as_it_was_meant(read):
    draw = random.Random(2)  # noqa: S311 - repeatable
    values = list(_texts(_QUERY_PIECES, seed=3))
    meant = [[(draw.choice(values), draw.choice(values)) for _ in range(draw.randint(0, 4))] for _ in values]
    users = [draw.choice(values) for _ in values]
    sent = [encode_query([("user.name", user), *pairs]) for user, pairs in zip(users, meant, strict=True)]
    for user, pairs, line in zip(users, meant, read(("query", text) for text in sent), strict=True):
        claims, parameters = _as_java(line)
        assert claims[0] == user
        assert parameters.pop("user.name")[0] == user
        expected: dict[str, list[str]] = {}
        for name, value in pairs:
            expected.setdefault(name, []).append(value)
        expected.pop("user.name", None)
        assert parameters == expected


@pytest.mark.parametrize("kind", _PARSERS)
def test_an_id_that_is_understood_is_the_one_that_java_reads(read, kind):
    plain = {"application": "application_1_1", "attempt": "appattempt_1_1_1", "container": "container_e2_1_1_1_1"}
    draw = random.Random(4)  # noqa: S311 - repeatable
    stem = plain.get(kind, "host:1")
    texts = list(_texts(_ID_PIECES, seed=5))
    texts += [
        "".join(draw.choice(_ID_PIECES) if part.isdigit() and draw.random() < 0.3 else part for part in _parts(stem))
        for _ in range(_EXAMPLES)
    ]
    understood = 0
    for text, line in zip(texts, read((kind, text) for text in texts), strict=True):
        try:
            ours = _PARSERS[kind](text)
        except MalformedIdError:
            continue
        understood += 1
        assert line != "!", text
        assert _text(line) == str(ours), text
    assert understood > 50


def _parts(stem: str) -> list[str]:
    parts = [""]
    for each in stem:
        if parts[-1].isdigit() == each.isdigit():
            parts[-1] += each
        else:
            parts.append(each)
    return parts


USERINFO = "/ws/v1/cluster/userinfo?"
JSON = (("Accept", "application/json"),)
_MOST_ASKED = 400


def _requested_user(url: str, query: str) -> str | None:
    answer = exchange(url, RawRequest("GET", USERINFO + query, JSON))
    user: str | None = json.loads(answer.body)["requestedUser"] if answer.status == 200 else None
    return user


def test_a_caller_is_the_same_to_heddle_to_what_is_behind_it_and_without_it(federation_of_one):
    texts = [text for text in _texts(_QUERY_PIECES, seed=6) if "user" in text or "o" in text][:_MOST_ASKED]
    texts += ["x=1;user.name=alice", "x=1;doAs=root&user.name=alice", "user.n\u0161me=zed", "user.name=a;doA%C5%BF=b"]
    (cluster,) = json.loads(exchange(federation_of_one.heddle, RawRequest("GET", "/heddle/v1/clusters")).body)[
        "clusters"
    ]
    understood = 0
    for text in texts:
        ours = _requested_user(federation_of_one.heddle, text)
        if ours is None:
            continue
        understood += 1
        assert ours == _requested_user(federation_of_one.managers[0], text), text  # also not a token in its place
        carried = _requested_user(federation_of_one.heddle, f"cluster={cluster['id']}&{text}")
        assert carried == ours, text
    assert understood > 50


REPEATED = [
    ("/nodes", ["states=NEW", "states=RUNNING"]),  # one value: the first counts
    ("/nodes", ["states=RUNNING", "states=LOST", "states=NEW"]),
    ("/appstatistics", ["states=RUNNING", "states=ACCEPTED"]),  # a set: all count
    ("/appstatistics", ["states=RUNNING,NEW", "states=KILLED", "applicationTypes=TEZ"]),
    ("/appstatistics", ["applicationTypes=TEZ", "applicationTypes=SPARK"]),
    ("/appstatistics", ["states=running", "states=nonsense"]),
    ("/apps", ["limit=3", "limit=x"]),
    ("/apps", ["limit=x", "limit=3"]),
    ("/apps", ["startedTimeBegin=1", "startedTimeBegin=-1"]),
    ("/apps", ["states=RUNNING", "state=NONSENSE"]),
    ("/apps", ["finalStatus=SUCCEEDED", "finalStatus=NONSENSE"]),
    ("/apps", ["user=alice", "user=bob"]),
]


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(("path", "parameters"), REPEATED)
def test_a_parameter_that_stands_twice_is_read_as_the_resource_manager_reads_it(
    federation_of_one, path, parameters, is_reversed
):
    query = "&".join(reversed(parameters) if is_reversed else parameters)
    request = RawRequest("GET", f"/ws/v1/cluster{path}?{query}", JSON)
    ours, theirs = (exchange(url, request) for url in (federation_of_one.heddle, federation_of_one.managers[0]))
    assert ours.status == theirs.status
    assert _shown(ours.body) == _shown(theirs.body)


def _shown(body):
    """Statistics, the names of nodes, the number of applications, or the class of an error."""
    told = json.loads(body)
    statistics = told.get("appStatInfo", {}).get("statItem", [])
    return {
        "error": told.get("RemoteException", {}).get("exception"),
        "nodes": sorted(each["id"] for each in (told.get("nodes") or {}).get("node", ())),
        "apps": len((told.get("apps") or {}).get("app", ())),  # a limit leaves out others than the newest there
        "statistics": sorted((each["state"], each["type"], int(each["count"])) for each in statistics),
    }


def test_the_doctor_finds_that_a_resource_manager_takes_requests_in_their_users_names(federation_of_one):
    report = json.loads(exchange(federation_of_one.heddle, RawRequest("GET", "/heddle/v1/doctor", JSON)).body)
    (found,) = [each for each in report["findings"] if each["check"] == "identities"]
    assert found["level"] == "ok", found
