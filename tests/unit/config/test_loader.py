import contextlib
import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.config.loader import Config, is_loopback, line_of, lines_of_keys, load, overlay, parse
from shim.config.subclusters import SubClusterConfig
from shim.config.tree import RemovedKeyWarning, RenamedKeyWarning, read
from shim.errors import ConfigError

LEAST = '[[subcluster]]\nid = "east"\nweb = "http://rm.east:8088"\n'
TWO = LEAST + '[[subcluster]]\nid = "far-west"\nconf = "west"\n'


def configuration(text: str, **environment: str) -> Config:
    return parse(text, source="/etc/heddle/heddle.toml", environment=environment)


def complaint(text: str, **environment: str) -> str:
    with pytest.raises(ConfigError) as caught:
        configuration(text, **environment)
    return str(caught.value)


def test_one_sub_cluster_with_an_address_is_enough():
    config = configuration(LEAST)
    assert config.subclusters == (SubClusterConfig(id="east", web=("http://rm.east:8088",)),)
    assert config == Config(subclusters=config.subclusters)


def test_nothing_in_it_can_be_changed_afterwards():
    config = configuration(LEAST + '[security.proxyuser.knox]\nhosts = "*"\n')
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.server.rest = "elsewhere:1"
    with pytest.raises(TypeError):
        config.security.proxyuser["eve"] = config.security.proxyuser["knox"]


def test_defaults_are_the_safe_ones():
    config = configuration(LEAST)
    assert not config.security.allow_anonymous
    assert is_loopback(config.server.rest)
    assert config.subclusters[0].verify_tls


REFUSED = {
    "an unknown key, with the one that is near": (
        LEAST + 'auht = "simple"',
        ["/etc/heddle/heddle.toml:4: subcluster[0].auht:", "Did you mean auth?", "verify_tls"],
    ),
    "an unknown section": ("[sever]\n" + LEAST, [": sever:", "Did you mean server?"]),
    "a value that is none of the few": (LEAST + 'auth = "proxi"', ["subcluster[0].auth", "proxy, simple"]),
    "a text for a number": ("[server]\nstaleness_s = 'soon'\n" + LEAST, ["server.staleness_s", "not a number"]),
    "a number for a text": ("[server]\nrest = 8088\n" + LEAST, ["server.rest", "text in quotes"]),
    "true for a number": ("[server]\nmax_body_bytes = true\n" + LEAST, ["server.max_body_bytes", "whole number"]),
    "a number that is too small": ("[poll]\ninterval_s = 0\n" + LEAST, ["poll.interval_s", "at least 0.05"]),
    "a number that is too large": ("[server]\nanswer_within_s = 99\n" + LEAST, ["answer_within_s", "at most 60"]),
    "a certificate without its key": (
        '[server.tls]\ncertificate = "heddle.crt"\n' + LEAST,
        ["server.tls.key: is missing"],
    ),
    "a CA of clients without a certificate": (
        '[server.tls]\nclient_ca = "clients.pem"\n' + LEAST,
        ["server.tls.certificate: is missing", "nothing is encrypted"],
    ),
    "a principal without its keytab": (
        '[security.kerberos]\nprincipal = "rm/_HOST@REALM"\n' + LEAST,
        ["security.kerberos.keytab: is missing"],
    ),
    "a keytab without its principal": (
        '[security.kerberos]\nkeytab = "heddle.keytab"\n' + LEAST,
        ["security.kerberos.principal: is missing", "rm/_HOST@REALM"],
    ),
    "a principal that is no service's": (
        '[security.kerberos]\nprincipal = "rm@REALM"\n' + LEAST,
        ["security.kerberos.principal", 'write "rm/_HOST@REALM"'],
    ),
    "tickets for a cluster, and nowhere to get them": (
        LEAST + 'principal = "rm/_HOST@REALM"\n',
        ["subcluster[0].principal", "there is no [security.kerberos]"],
    ),
    "a protection that there is not": (
        '[security.kerberos]\nprotection = "auth-conf"\n' + LEAST,
        ["security.kerberos.protection", "authentication, integrity, privacy"],
    ),
    "a queue that is named twice": (LEAST + '[[queue]]\nname = "root.a"\n' * 2, ["queue[1].name", "there twice"]),
    "a queue's placement that is none": (
        LEAST + '[[queue]]\nname = "root.a"\nplacement = "moon"',
        ["queue[0].placement", "home"],
    ),
    "a queue without its path": (LEAST + '[[queue]]\nname = "root a"', ["queue[0].name", '"root.prod"']),
    "a value for a table": ("server = 3\n" + LEAST, ["server", "write [server]"]),
    "a table for a list of tables": ("[subcluster]\nid = 'a'", ["subcluster", "write [[subcluster]]"]),
    "an address without a port": ("[server]\nrest = 'localhost'\n" + LEAST, ["server.rest", "host:port"]),
    "a port that there is not": ("[server]\nrest = 'localhost:65536'\n" + LEAST, ["server.rest", "at most 65535"]),
    "a web address with a path": (LEAST.replace("8088", "8088/cluster"), ["subcluster[0].web", "http://host:port"]),
    "an id that cannot be a file name": (LEAST.replace('"east"', '"../east"'), ["subcluster[0].id", "lower-case"]),
    "a sub-cluster without an id": ('[[subcluster]]\nconf = "x"', ["subcluster[0].id", "is missing"]),
    "a sub-cluster without an address": ('[[subcluster]]\nid = "a"', ["subcluster[0]", "conf", "web"]),
    "two sub-clusters of one id": (LEAST + LEAST, ["subcluster[1].id", "twice"]),
    "no sub-cluster": ("", ["subcluster", "[[subcluster]]"]),
    "text that is not TOML": ("[server", ["not TOML"]),
    "a store of another kind": ("[store]\nurl = 'mysql://x'\n" + LEAST, ["store.url", "postgresql"]),
    "an open address without saying so": (
        "[server]\nrest = '0.0.0.0:8088'\n" + LEAST,
        ["server.rest", "allow_remote = true"],
    ),
    "an open address for operators": (
        "[server]\nadmin_rpc = '0.0.0.0:8033'\n" + LEAST,
        ["server.admin_rpc", "allow_remote = true"],
    ),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED)
def test_refuses(text, words):
    message = complaint(text)
    for word in words:
        assert word in message


def test_an_open_address_is_bound_if_the_file_says_so():
    config = configuration('[server]\nrest = "0.0.0.0:8088"\nallow_remote = true\n' + LEAST)
    assert config.server.rest == "0.0.0.0:8088"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1:1", True),
        ("127.9.9.9:1", True),
        ("localhost:1", True),
        ("[::1]:1", True),
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("10.0.0.1:1", False),
        ("localhost.example.org:1", False),
    ],
)
def test_knows_which_addresses_only_this_machine_reaches(address, expected):
    assert is_loopback(address) is expected


def test_variables_go_before_the_file():
    config = configuration(
        "[server]\nstaleness_s = 1\n" + TWO,
        HEDDLE_SERVER_STALENESS_S="0.5",
        HEDDLE_SECURITY_ALLOW_ANONYMOUS="true",
        HEDDLE_SECURITY_ADMINS="ada, grace",
        HEDDLE_SUBCLUSTER_FAR_WEST_WEB="http://a:1,http://b:2",
    )
    assert config.server.staleness_s == 0.5
    assert config.security.allow_anonymous
    assert config.security.admins == ("ada", "grace")
    assert [subcluster.web for subcluster in config.subclusters] == [
        ("http://rm.east:8088",),
        ("http://a:1", "http://b:2"),
    ]


def test_a_variable_reaches_a_named_table():
    text = LEAST + "[security.proxyuser.knox]\nhosts = ['10.0.0.0/8']\n"
    config = configuration(text, HEDDLE_SECURITY_PROXYUSER_KNOX_USERS="ada")
    assert config.security.proxyuser["knox"].users == ("ada",)
    assert config.security.proxyuser["knox"].hosts == ("10.0.0.0/8",)


def test_an_error_in_a_variable_names_the_variable():
    assert complaint(LEAST, HEDDLE_POLL_INTERVAL_S="x").startswith("HEDDLE_POLL_INTERVAL_S: poll.interval_s: ")


@pytest.mark.parametrize(
    ("variable", "near"),
    [("HEDDLE_SERVER_RST", "HEDDLE_SERVER_REST"), ("HEDDLE_SUBCLUSTER_EST_WEB", "HEDDLE_SUBCLUSTER_EAST_WEB")],
)
def test_a_variable_of_a_section_without_such_a_key_is_an_error(variable, near):
    assert f"Did you mean {near}?" in complaint(LEAST, **{variable: "x"})


def test_variables_of_others_are_left_alone():
    others = {"HEDDLE_PORT": "tcp://10.0.0.1:80", "HEDDLE_SERVER": "http://h:1", "SERVER_REST": "x"}
    assert configuration(LEAST, **others) == configuration(LEAST)


def test_paths_start_in_the_folder_of_the_file(tmp_path):
    file = tmp_path / "heddle.toml"
    file.write_text('[[subcluster]]\nid = "east"\nconf = "hadoop/east"\n', "utf-8")
    assert load(file).subclusters[0].conf == tmp_path / "hadoop" / "east"
    file.write_text('[[subcluster]]\nid = "east"\nconf = "/etc/hadoop/east"\n', "utf-8")
    assert str(load(file).subclusters[0].conf) == "/etc/hadoop/east"


@pytest.mark.parametrize(
    ("content", "why"),
    [(None, "No such file or directory"), ("", "Is a directory"), (b"id = \xff", "its byte 5 is no UTF-8")],
)
def test_a_file_that_cannot_be_read_is_named_once_with_the_reason(tmp_path, content, why):
    file = tmp_path / "nowhere.toml"
    if content == "":
        file.mkdir()
    elif content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError) as refused:
        load(file)
    assert str(refused.value) == f"{file}: (file): cannot be read: {why}. `heddle serve -c FILE` names another"


@given(st.text(max_size=200))
def test_any_text_is_read_or_is_a_configuration_error(text):
    with contextlib.suppress(ConfigError):
        configuration(text)


@given(
    st.dictionaries(
        st.sampled_from(["server", "subcluster", "security", "poll"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from(["id", "rest", "web"]), below),
            max_leaves=6,
        ),
    )
)
def test_any_tree_of_tables_is_read_or_is_a_configuration_error(tables):
    variables = {"HEDDLE_SERVER_REST": "a:1", "HEDDLE_SUBCLUSTER_EAST_WEB": "http://a:1"}
    with contextlib.suppress(ConfigError):
        read(Config, tables, overlay(Config, tables, "HEDDLE_", variables, "file"))


RENAMED = [
    ("span", "patience", "move_after_beats", 7),
    ("span", "overtaken_s", "starvation_s", 7.0),
    ("shares", "ahead", "pending_per_cluster", 7),
]


@pytest.mark.parametrize(("section", "old", "new", "value"), RENAMED)
def test_a_renamed_key_is_read_by_its_old_name_and_a_warning_names_the_new_one(section, old, new, value):
    with pytest.warns(RenamedKeyWarning, match=rf"heddle\.toml: {section}\.{old}: is called {new} now"):
        config = configuration(f"{LEAST}[{section}]\n{old} = 7\n")
    assert getattr(getattr(config, section), new) == value
    assert configuration(f"{LEAST}[{section}]\n{new} = 7\n") == config, "the new name needs no warning"


@pytest.mark.parametrize(("section", "old", "new", "value"), RENAMED)
def test_a_key_is_not_set_by_both_of_its_names(section, old, new, value):
    told = complaint(f"{LEAST}[{section}]\n{old} = {value}\n{new} = {value}\n")
    assert f"{section}.{old}: is the old name of {new}" in told


@pytest.mark.parametrize(("section", "old", "new", "value"), RENAMED)
def test_a_variable_goes_before_the_file_whichever_names_they_use(section, old, new, value):
    by_old, by_new = (f"HEDDLE_{section}_{name}".upper() for name in (old, new))
    with pytest.warns(RenamedKeyWarning, match=rf"{by_old}: {section}\.{old}: is called {new} now"):
        config = configuration(f"{LEAST}[{section}]\n{new} = 3\n", **{by_old: "7"})
    assert getattr(getattr(config, section), new) == value
    config = configuration(f"{LEAST}[{section}]\n{old} = 3\n", **{by_new: "7"})
    assert getattr(getattr(config, section), new) == value


@pytest.mark.parametrize(("section", "old", "new", "value"), RENAMED)
def test_a_wrong_value_under_an_old_name_is_refused(section, old, new, value):
    with pytest.warns(RenamedKeyWarning):
        told = complaint(f"{LEAST}[{section}]\n{old} = 0\n")
    assert f"{section}.{new}" in told


@pytest.mark.parametrize("value", ['"splitter"', '"cycle"', "7"])
def test_a_key_that_is_gone_is_ignored_and_a_warning_says_why(value):
    with pytest.warns(RemovedKeyWarning, match=r"heddle\.toml: scheduling\.core: is ignored, .* planned together"):
        config = configuration(f"{LEAST}[scheduling]\ncore = {value}\ncycle_s = 0.5\n")
    assert config == configuration(f"{LEAST}[scheduling]\ncycle_s = 0.5\n")


def test_a_variable_of_a_key_that_is_gone_is_ignored_with_a_warning_that_names_it():
    with pytest.warns(RemovedKeyWarning, match=r"HEDDLE_SCHEDULING_CORE: scheduling\.core: is ignored"):
        assert configuration(LEAST, HEDDLE_SCHEDULING_CORE="splitter") == configuration(LEAST)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("webhdfs://nn.east:9870/app-logs", "webhdfs://nn.east:9870/app-logs"),
        ("swebhdfs://[fd00::1]:14000", "swebhdfs://[fd00::1]:14000"),
        ("/mnt/logs", "/mnt/logs"),
        ("logs", "{folder}/logs"),
    ],
)
def test_aggregated_logs_are_in_a_folder_or_behind_a_gateway(tmp_path, text, read):
    file = tmp_path / "heddle.toml"
    file.write_text(f'{LEAST}aggregated_logs = "{text}"\n')
    assert load(file).subclusters[0].aggregated_logs == read.format(folder=tmp_path)


@pytest.mark.parametrize(
    "text", ["hdfs://nn:8020/logs", "webhdfs://nn/logs", "webhdfs://u@nn:1/x", "webhdfs://nn:1/x?y"]
)
def test_an_address_that_is_no_web_gateway_is_refused(text):
    with pytest.raises(ConfigError, match="web gateway of HDFS"):
        configuration(f'{LEAST}aggregated_logs = "{text}"\n')


def test_costs_of_reading_are_told_by_pairs():
    config = configuration(TWO + "reads_from.east = 2.5\n")
    assert [dict(each.reads_from) for each in config.subclusters] == [{}, {"east": 2.5}]


@pytest.mark.parametrize(
    ("told", "where"),
    [
        ("reads_from.north = 1.0", "there is no other such sub-cluster; there are east, far-west"),
        ("reads_from.far-west = 1.0", "there is no other such sub-cluster"),
        ("reads_from.east = -1.0", "-1 is not between 0 and 3600 seconds"),
        ("reads_from.east = 3601.0", "3601 is not between 0 and 3600 seconds"),
        ("reads_from.east = nan", "nan"),
        ('reads_from.east = "slow"', "reads_from.east"),
    ],
)
def test_what_is_no_cost_of_a_pair_is_refused(told, where):
    assert where in complaint(TWO + told + "\n")


OWN_ORIGIN = '[server]\nproxy_own_origin = true\nproxy_url = "{}"\nhost_names = ["heddle.example.org"]\n' + LEAST


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://localhost:8089",
        "http://127.0.0.1:8089",
        "http://[::1]:8089",
        "http://heddle.example.org:8089",
        "http://HEDDLE.example.org:8089",
        "http://heddle:8089",
    ],
)
def test_pages_have_an_origin_only_at_a_host_name_of_their_own(url):
    assert "host name is for those pages alone" in complaint(OWN_ORIGIN.format(url))
    assert configuration(OWN_ORIGIN.format("https://pages.example.org")).server.proxy_own_origin


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


def test_a_folder_that_is_not_there_is_told_with_other_mistakes(tmp_path: Path) -> None:
    clusters = f"[[subcluster]]\nid = 'a'\nconf = '{tmp_path}'\n[[subcluster]]\nid = 'b'\nconf = '{tmp_path}/no'\n"
    error = refused(f"{clusters}[server]\nrest = 8088\n")
    assert [mistake.key for mistake in error.mistakes] == ["subcluster[1].conf", "server.rest"]


@pytest.mark.parametrize("key", ["web = 'rm:8088'", "web = 5", "conf = 5"])
def test_a_place_that_cannot_be_read_is_one_mistake_and_not_a_missing_one_too(key: str) -> None:
    told = refused(f"[[subcluster]]\nid = 'east'\n{key}\n").mistakes
    assert [each.key for each in told] == [f"subcluster[0].{key.partition(' ')[0]}"]
    told = refused("[[subcluster]]\nid = 'East'\ncolour = 1\n").mistakes
    assert [each.key for each in told] == ["subcluster[0]", "subcluster[0].id", "subcluster[0].colour"]
    assert "None" not in str(told[0])


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
