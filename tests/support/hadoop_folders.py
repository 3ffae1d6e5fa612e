"""Hadoop configuration folders of many forms, and what Hadoop's own classes read in each.

The answers are in tests/recordings/3.4.2/configuration_folders.json. To record them again (Java is needed):

    python -m tests.support.hadoop_folders
"""

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from shim.lab.jars import ensure_jars
from tests.support.client_jars import compile_program

VERSION = "3.4.2"
_RECORDING = Path(__file__).resolve().parent.parent / "recordings" / VERSION / "configuration_folders.json"
ENVIRONMENT: Mapping[str, str] = {"RM_HOST": "rm.env", "EMPTY": ""}
FIELDS = (
    *("is_read", "x", "hostname", "client_rpc", "scheduler_rpc", "web", "web_tls"),
    *("is_https", "has_acls", "has_ha", "epoch", "rm_ids"),
)
"""Of an answer, in the order in which the program prints them; None for no value, "!" for an exception."""

_RM = "yarn.resourcemanager"
_XI = 'xmlns:xi="http://www.w3.org/2001/XInclude"'


def _site(*items: str) -> str:
    return f"<?xml version='1.0'?><configuration {_XI}>{''.join(items)}</configuration>"


def _of(name: str, value: str, *more: str) -> str:
    return f"<property><name>{name}</name><value>{value}</value>{''.join(more)}</property>"


def _yarn(*items: str) -> dict[str, str]:
    return {"yarn-site.xml": _site(*items)}


_HOST = _of(f"{_RM}.hostname", "rm.corp")
_FINAL = "<final>true</final>"


def _host(value: str) -> dict[str, str]:
    return _yarn(_of(f"{_RM}.hostname", value))


def _x(value: str, *more: str) -> dict[str, str]:
    return _yarn(_HOST, _of("x", value), *more)


def _rm(key: str, value: str) -> dict[str, str]:
    return _yarn(_HOST, _of(key if key.startswith("yarn.") else f"{_RM}.{key}", value))


FOLDERS: Mapping[str, Mapping[str, str]] = {
    "plain": _host("rm.corp"),
    "attributes": _yarn(f'<property name="{_RM}.hostname" value="rm.corp"/>'),
    "attributes, blank in name": _yarn('<property name=" x " value="1"/>', _HOST),
    "attribute and child": _yarn(f'<property name="{_RM}.hostname" value="a"><value>rm.corp</value></property>'),
    "attribute, empty child": _yarn(f'<property name="{_RM}.hostname" value="rm.corp"><value/></property>'),
    "attribute value empty": _yarn(_HOST, _of("x", "1"), '<property name="x" value=""/>'),
    "attribute final": {
        "core-site.xml": _site('<property name="x" value="core" final="true"/>'),
        **_x("yarn"),
    },
    "comment in value": _host("rm<!-- old: rm0 -->.corp"),
    "comment in name": _yarn(f"<property><name>{_RM}<!-- x -->.hostname</name><value>rm.corp</value></property>"),
    "instruction in value": _host("rm<?old rm0?>.corp"),
    "cdata": _host("<![CDATA[rm.corp]]>"),
    "cdata and text": _host("rm<![CDATA[.co]]>rp"),
    "character reference": _host("rm&#46;corp"),
    "element in value": _host("rm<b>.corp</b>"),
    "blanks round a host": _host(" rm.corp\n"),
    "blanks round an address": _rm("webapp.address", "\n  web:1 \n"),
    "blanks round a name": _yarn(f"<property><name> {_RM}.hostname\n</name><value>rm.corp</value></property>"),
    "value first": _yarn(f"<property><value>rm.corp</value><name>{_RM}.hostname</name></property>"),
    "two values": _yarn(f"<property><name>{_RM}.hostname</name><value>a</value><value>rm.corp</value></property>"),
    "no value": _yarn(_HOST, _of("x", "1"), "<property><name>x</name></property>"),
    "empty value": _yarn(_HOST, _of("x", "1"), _of("x", "")),
    "blank value": _yarn(_HOST, _of("x", "1"), _of("x", " ")),
    "no name": _yarn(_HOST, "<property><value>1</value></property>"),
    "twice": _yarn(_of(f"{_RM}.hostname", "a"), _HOST),
    "final, then again": _yarn(_of("x", "1", _FINAL), _of("x", "2"), _HOST),
    "final in core": {"core-site.xml": _site(_of("x", "core", _FINAL)), **_x("yarn")},
    "final with blanks": {"core-site.xml": _site(_of("x", "core", "<final> true </final>")), **_x("yarn")},
    "final TRUE": {"core-site.xml": _site(_of("x", "core", "<final>TRUE</final>")), **_x("yarn")},
    "final without a value": {"core-site.xml": _site(f"<property><name>x</name>{_FINAL}</property>"), **_x("yarn")},
    "core alone names x": {"core-site.xml": _site(_of("x", "core")), **_yarn(_HOST)},
    "host in core": {"core-site.xml": _site(_HOST), **_yarn(_of("x", "1"))},
    "host final in core": {"core-site.xml": _site(_of(f"{_RM}.hostname", "rm.corp", _FINAL)), **_yarn(_of("x", "1"))},
    "address in core": {"core-site.xml": _site(_of(f"{_RM}.webapp.address", "web:1")), **_yarn(_HOST)},
    "acl in core": {"core-site.xml": _site(_of("yarn.acl.enable", "true")), **_yarn(_HOST)},
    "nested configuration": _yarn(f"<configuration>{_HOST}</configuration>"),
    "another root": {"yarn-site.xml": f"<conf>{_HOST}</conf>"},
    "namespace": {
        "yarn-site.xml": f"<h:configuration xmlns:h='urn:h'>"
        f"<h:property><h:name>{_RM}.hostname</h:name><h:value>rm.corp</h:value></h:property></h:configuration>"
    },
    "include": {"rm.xml": _site(_HOST), **_yarn('<xi:include href="rm.xml"/>')},
    "include without namespace": {"rm.xml": _site(_HOST), **_yarn('<include href="rm.xml"/>')},
    "include, then over it": {
        "rm.xml": _site(_of("x", "in")),
        **_yarn(_HOST, '<xi:include href="rm.xml"/>', _of("x", "out")),
    },
    "include over what was before": {
        "rm.xml": _site(_of("x", "in")),
        **_yarn(_HOST, _of("x", "out"), '<xi:include href="rm.xml"/>'),
    },
    "include in include": {
        "a.xml": _site('<xi:include href="b.xml"/>'),
        "b.xml": _site(_HOST),
        **_yarn('<xi:include href="a.xml"/>'),
    },
    "include of a folder below": {
        "sub/a.xml": _site('<xi:include href="b.xml"/>'),
        "sub/b.xml": _site(_of("x", "below")),
        "b.xml": _site(_of("x", "above")),
        **_yarn(_HOST, '<xi:include href="sub/a.xml"/>'),
    },
    "include of nothing": _yarn(_HOST, '<xi:include href="none.xml"/>'),
    "include with fallback": _yarn(
        f'<xi:include href="none.xml"><xi:fallback>{_HOST}</xi:fallback></xi:include>', _of("x", "1")
    ),
    "include with fallback unused": {
        "rm.xml": _site(_HOST),
        **_yarn(f'<xi:include href="rm.xml"><xi:fallback>{_of("x", "f")}</xi:fallback></xi:include>'),
    },
    "include with empty fallback": _yarn(_HOST, '<xi:include href="none.xml"><xi:fallback/></xi:include>'),
    "include without href": _yarn(_HOST, "<xi:include/>"),
    "include final": {
        "rm.xml": _site(_of("x", "in", _FINAL)),
        **_yarn(_HOST, '<xi:include href="rm.xml"/>', _of("x", "out")),
    },
    "entity of its own": {
        "yarn-site.xml": f'<!DOCTYPE c [<!ENTITY rm "rm.corp">]><configuration>{_of(f"{_RM}.hostname", "&rm;")}'
        "</configuration>"
    },
    "not XML": {"yarn-site.xml": "<configuration>"},
    "variable": _x("${y}", _of("y", "1")),
    "variable twice": _x("${y}-${y}", _of("y", "1")),
    "variable in variable": _x("${${y}}", _of("y", "z"), _of("z", "1")),
    "variable chain": _x("${y}", _of("y", "${z}"), _of("z", "1")),
    "variable unknown": _x("a${nobody}b"),
    "variable unknown, then known": _x("${nobody}${y}", _of("y", "1")),
    "variable of itself": _x("a${x}"),
    "variable loop": _x("${y}", _of("y", "${x}")),
    "variable with a blank": _x("${a b}${y}", _of("y", "1")),
    "variable empty": _x("${}${y}", _of("y", "1")),
    "variable open": _x("${y"),
    "variable first": _x("{y}${y}", _of("y", "1")),
    "variable deep": _x("${a1}", *(_of(f"a{n}", f"${{a{n + 1}}}") for n in range(1, 25)), _of("a25", "1")),
    "environment": _x("${env.RM_HOST}"),
    "environment unset": _x("${env.NOBODY}"),
    "environment unset, default": _x("${env.NOBODY-d}"),
    "environment empty, default": _x("${env.EMPTY-d}"),
    "environment empty, other default": _x("${env.EMPTY:-d}"),
    "environment default with dash": _x("${env.NOBODY:-a-b}"),
    "environment empty default": _x("a${env.NOBODY-}b"),
    "environment without a name": _x("${env.}"),
    "system property": _x("${file.separator}"),
    "variable of a default": _x(f"${{{_RM}.webapp.address}}"),
    "host of a variable": _host("${env.RM_HOST}"),
    "https": _rm("yarn.http.policy", "HTTPS_ONLY"),
    "https in small letters": _rm("yarn.http.policy", "https_only"),
    "http and https": _rm("yarn.http.policy", "HTTP_AND_HTTPS"),
    "policy with blanks": _rm("yarn.http.policy", " HTTPS_ONLY "),
    "policy unknown": _rm("yarn.http.policy", "TLS"),
    "policy empty": _rm("yarn.http.policy", ""),
    "flag TRUE with blanks": _rm("yarn.acl.enable", " TRUE "),
    "flag unknown": _rm("yarn.acl.enable", "yes"),
    "flag empty": _rm("yarn.acl.enable", ""),
    "flag blank": _rm("yarn.acl.enable", " "),
    "ha with ids": _yarn(_HOST, _of(f"{_RM}.ha.enabled", "true"), _of(f"{_RM}.ha.rm-ids", " a ,b,\n c,,a ")),
    "ha flag of another form": _yarn(_HOST, _of(f"{_RM}.ha.enabled", "1"), _of(f"{_RM}.ha.rm-ids", "a b")),
    "epoch": _rm("epoch", " 12 "),
    "epoch hexadecimal": _rm("epoch", "0x10"),
    "epoch of another form": _rm("epoch", "1_000"),
    "epoch too large": _rm("epoch", "9999999999999999999"),
    "epoch of 64 bits": _rm("epoch", "0xffffffffffffffff"),
    "epoch below zero": _rm("epoch", "-0x1"),
    "epoch empty": _rm("epoch", ""),
    "address without a port": _rm("webapp.address", "web"),
    "address with a scheme": _rm("webapp.address", "http://web:1"),
    "address with a path": _rm("webapp.address", "web:1/x"),
    "address of version six": _rm("webapp.address", "[::1]:8088"),
    "address with a port too large": _rm("webapp.address", "web:70000"),
    "address empty": _rm("webapp.address", ""),
    "address with an empty port": _rm("webapp.address", "web:"),
    "address with zeros before its port": _rm("webapp.address", "web:08088"),
    "two addresses": _rm("address", "web:1,web2:2"),
    "host with an underscore": _host("rm_1.corp"),
    "host of another alphabet": _host("rmü.corp"),
    "two hosts": _host("rm1.corp,rm2.corp"),
    "addresses, no host": _yarn(_of(f"{_RM}.address", "c:1"), _of(f"{_RM}.webapp.address", "web:2")),
}


def write_folder(folder: Path, files: Mapping[str, str]) -> Path:
    """Write the files of one form."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def ask_hadoop(scratch: Path) -> dict[str, dict[str, str | None]]:
    """What Hadoop's classes read in each folder, by its name."""
    jars = ensure_jars(VERSION, lambda _line: None)
    program = compile_program("HadoopFolders", [jars], scratch)
    folders = [write_folder(scratch / f"conf{number}", files) for number, files in enumerate(FOLDERS.values())]
    command = ["java", "-Dhadoop.root.logger=OFF", "-cp", f"{program}:{jars}/*", "HadoopFolders", *map(str, folders)]
    environment = {"PATH": "/usr/bin:/bin", **ENVIRONMENT}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    lines = (dict(zip(FIELDS, map(_text, line.split("\t")), strict=True)) for line in done.stdout.splitlines())
    return dict(zip(FOLDERS, lines, strict=True))


def _text(told: str) -> str | None:
    return None if told == "-" else "!" if told == "!" else bytes.fromhex(told[1:]).decode()


def recorded() -> dict[str, dict[str, str | None]]:
    """What they read when they were last asked."""
    found: dict[str, dict[str, str | None]] = json.loads(_RECORDING.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        _RECORDING.write_text(json.dumps(ask_hadoop(Path(made)), indent=1) + "\n", encoding="utf-8")
