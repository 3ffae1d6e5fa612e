"""Each line of the hardening guide, held, broken, and where it cannot be told."""

from dataclasses import replace
from pathlib import Path

import pytest

from shim.app.hardening import LINES, check_lines
from shim.app.hardening_facts import FileFacts, HardeningFacts
from shim.config.loader import Config, parse
from shim.federation.findings import LineState
from shim.federation.tls_findings import CertificateFacts, ClusterTLSFacts, MasterTLSFacts, TLSFacts

SECRET, DATABASE, AUDIT = Path("/etc/heddle/secret"), Path("/var/lib/heddle/heddle.db"), Path("/var/log/audit.log")
HARDENED = f"""
[server]
rest = "0.0.0.0:8088"
client_rpc = "0.0.0.0:8032"
proxy = "0.0.0.0:8089"
allow_remote = true
host_names = ["heddle.example"]
tls = {{ certificate = "/etc/heddle/heddle.crt", key = "/etc/heddle/heddle.key" }}
[store]
url = "sqlite:///{DATABASE}"
[security]
secret_file = "{SECRET}"
admins = ["ops"]
kerberos = {{ principal = "rm/_HOST@R", keytab = "/k", web_principal = "HTTP/_HOST@R", protection = ["privacy"] }}
proxyuser.knox = {{ hosts = ["10.0.0.1"], groups = ["staff"] }}
[limits]
user_per_s = 50
[log]
audit_file = "{AUDIT}"
[[subcluster]]
id = "east"
web = "https://rm:8090"
"""
NEAR = """
[server]
rest = "127.0.0.1:8088"
client_rpc = "[::1]:8032"
"""
EAST = """
[[subcluster]]
id = "east"
web = "http://rm:8088"
"""
OPEN = f"""
[server]
rest = "0.0.0.0:8088"
client_rpc = "0.0.0.0:8032"
allow_remote = true
{EAST}
"""
OPEN_TO_ALL = '\n[security.proxyuser.knox]\nhosts = ["*"]\nusers = ["*"]\n'


def config_of(text: str) -> Config:
    return parse(text, source="heddle.toml", environment={})


FILES = {
    SECRET: FileFacts(),
    Path("/etc/heddle/heddle.key"): FileFacts(),
    Path("/k"): FileFacts(),
    DATABASE: FileFacts(owner=1000),
    DATABASE.parent: FileFacts(0o700, 1000),
}
GOOD = HardeningFacts(
    config=config_of(HARDENED),
    files=FILES,
    audit=FileFacts(owner=1000),
    webs={"east": ("https://rm:8090",)},
    guards={"east": True},
    web_tls=TLSFacts(has_certificate=True, ends_in_s=90 * 86_400.0, file="/etc/heddle/heddle.crt"),
    masters=MasterTLSFacts(),
)
BAD = replace(GOOD, config=config_of(OPEN))


def states(facts: HardeningFacts) -> dict[str, LineState]:
    return {each.id: each.state for each in check_lines(facts)}


def changed(old: str, new: str) -> HardeningFacts:
    assert old in HARDENED
    return replace(GOOD, config=config_of(HARDENED.replace(old, new)))


def test_a_hardened_heddle_holds_every_line():
    assert set(states(GOOD).values()) == {LineState.OK}


def test_ids_are_unique():
    assert len({line.id for line in LINES}) == len(LINES)


NOT_OK = {
    "web-tls": BAD,
    "web-identity": BAD,
    "rpc-identity": BAD,
    "rpc-privacy": changed('["privacy"]', '["privacy", "authentication"]'),
    "anonymous": changed('admins = ["ops"]', 'admins = ["ops"]\nallow_anonymous = true'),
    "host-names": changed('["heddle.example"]', '["heddle.example", "*"]'),
    "secret-files": replace(GOOD, files={**FILES, SECRET: FileFacts(0o640)}),
    "own-secret": BAD,
    "store-files": replace(GOOD, files={**FILES, DATABASE: FileFacts(0o644)}),
    "store-tls": replace(GOOD, unverified_store="db.example"),
    "masters-tls": replace(GOOD, masters=MasterTLSFacts(plain=("10.0.0.1:8700",))),
    "clusters-https": replace(GOOD, webs={"east": ("http://rm:8088",)}),
    "clusters-verified": changed('web = "https://rm:8090"', 'web = "https://rm:8090"\nverify_tls = false'),
    "certificates": replace(GOOD, web_tls=TLSFacts(has_certificate=True, ends_in_s=20 * 86_400.0, file="/c")),
    "proxy-users": changed('hosts = ["10.0.0.1"]', 'hosts = ["*"]'),
    "admins": changed('admins = ["ops"]', 'admins = ["*"]'),
    "pages-acls": replace(GOOD, guards={"east": False}),
    "rates": changed("user_per_s = 50", "user_per_s = 0"),
    "token-lives": replace(GOOD, longest_token_s=91 * 86_400.0),
    "audit": BAD,
    "talkative": changed("[log]", '[log]\nlevel = "debug"'),
    "root": replace(GOOD, uid=0),
}


def test_every_line_has_a_broken_example():
    assert set(NOT_OK) == {line.id for line in LINES}


@pytest.mark.parametrize("line", NOT_OK)
def test_what_is_not_so_is_told_with_what_to_do(line: str):
    found = next(each for each in check_lines(NOT_OK[line]) if each.id == line)
    assert found.state is LineState.NOT_OK
    assert found.found
    assert found.mend


FURTHER = {
    "a secret of another user": ("secret-files", replace(GOOD, files={**FILES, SECRET: FileFacts(owner=7)})),
    "a folder that all write to": ("store-files", replace(GOOD, files={**FILES, DATABASE.parent: FileFacts(0o777)})),
    "the key beside the database": (
        "store-files",
        replace(GOOD, files={**FILES, Path(f"{DATABASE}.key"): FileFacts(0o604)}),
    ),
    "everybody is an operator": (
        "admins",
        changed('admins = ["ops"]', 'admins = ["ops"]\nroles.operators = ["*"]'),
    ),
    "nobody operates it by name": ("admins", changed('admins = ["ops"]', "admins = []")),
    "names beside tickets": ("rpc-identity", changed("kerberos = {", "kerberos = { allow_simple = true,")),
    "cookies for a week": ("token-lives", changed("[security]", "[security]\ncookie_validity_s = 604800")),
    "an audit file that others write": ("audit", replace(GOOD, audit=FileFacts(0o666))),
    "traces in clear text": ("talkative", replace(GOOD, trace_endpoint="http://otel.example:4318")),
    "files that cannot be used": (
        "certificates",
        replace(GOOD, cluster_tls=[ClusterTLSFacts("east", is_verified=True, trouble="no key")]),
    ),
    "an expired CA of masters": (
        "certificates",
        replace(GOOD, masters=MasterTLSFacts(certificates=(CertificateFacts("the CA", "/ca", -1.0),))),
    ),
    "a proxy user for all users": ("proxy-users", replace(GOOD, config=config_of(OPEN + OPEN_TO_ALL))),
}


@pytest.mark.parametrize("case", FURTHER)
def test_further_ways_not_to_hold(case: str):
    line, facts = FURTHER[case]
    assert states(facts)[line] is LineState.NOT_OK


UNKNOWN = {
    "secret-files": replace(GOOD, files={**FILES, SECRET: FileFacts(trouble="Permission denied")}),
    "store-files": replace(GOOD, files={SECRET: FileFacts()}),
    "host-names": changed('["heddle.example"]', "[]"),
    "pages-acls": replace(GOOD, guards={"east": None}),
    "token-lives": replace(GOOD, longest_token_s=None),
    "audit": replace(GOOD, audit=FileFacts(trouble="Permission denied")),
}


@pytest.mark.parametrize("line", UNKNOWN)
def test_what_cannot_be_told_is_not_called_good(line: str):
    assert states(UNKNOWN[line])[line] is LineState.UNKNOWN


def test_what_only_this_machine_reaches_needs_no_tls_and_no_tickets():
    near = replace(GOOD, config=config_of(f"{NEAR}\n{EAST}"))
    found = states(near)
    assert {found[line] for line in ("web-tls", "web-identity", "rpc-identity", "rpc-privacy", "host-names")} == {
        LineState.OK
    }


def test_what_systemd_guards_may_have_other_modes():
    guarded = replace(GOOD, files={**FILES, SECRET: FileFacts(0o440, is_guarded=True)})
    assert states(guarded)["secret-files"] is LineState.OK


def test_a_folder_where_others_cannot_take_files_away_is_one_of_heddles_own():
    sticky = replace(GOOD, files={**FILES, DATABASE.parent: FileFacts(0o1777)})
    assert states(sticky)["store-files"] is LineState.OK
