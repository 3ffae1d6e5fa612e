import hashlib
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from shim.errors import LabError
from shim.lab.jars import JarSet, cache_folder, checksum_list, ensure, ensure_jars, verify
from shim.lab.spec import DEFAULT_VERSION, SUPPORTED_VERSIONS

MESSAGES: list[str] = []
FIND_TARGET = "for word; do case $word in -DoutputDirectory=*) out=${word#*=};; esac; done"


def digest(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache_folder()


def a_maven(tmp_path, monkeypatch, script):
    """A program `mvn` on the path that does what `script` says, with the target folder in $out."""
    program = tmp_path / "bin" / "mvn"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/bash\nfor word; do case $word in -DoutputDirectory=*) out=${{word#*=}};; esac; done\n{script}\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_every_supported_version_has_checksums_of_what_it_needs(version):
    names = checksum_list(version)
    assert f"hadoop-yarn-server-resourcemanager-{version}.jar" in names
    assert f"hadoop-yarn-server-nodemanager-{version}.jar" in names
    assert all(len(digest) == 64 for digest in names.values())
    assert (f"hadoop-yarn-applications-distributedshell-{version}.jar" in names) == (version == DEFAULT_VERSION)


def test_a_folder_is_good_when_names_and_contents_are_as_listed(tmp_path):
    (tmp_path / "a.jar").write_bytes(b"a")
    assert verify(tmp_path, {"a.jar": digest(b"a")}) == []


def test_every_way_to_be_wrong_is_named(tmp_path):
    (tmp_path / "changed.jar").write_bytes(b"other")
    (tmp_path / "foreign.jar").write_bytes(b"x")
    expected = {"changed.jar": digest(b"this"), "lost.jar": digest(b"")}
    assert verify(tmp_path, expected) == [
        "lost.jar is missing",
        "foreign.jar is not in the checksum list",
        "changed.jar has another checksum",
    ]


def test_without_maven_the_message_says_what_to_install(empty_cache, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(LabError, match=r"install it \(Debian: apt-get install maven\)"):
        ensure_jars("3.3.6", MESSAGES.append)


def test_jars_that_are_not_the_listed_ones_never_reach_the_cache(empty_cache, tmp_path, monkeypatch):
    a_maven(tmp_path, monkeypatch, 'mkdir -p "$out"; echo evil > "$out/hadoop-common-3.3.6.jar"')
    with pytest.raises(LabError, match="not those of the checksum list"):
        ensure_jars("3.3.6", MESSAGES.append)
    assert list(empty_cache.iterdir()) == []


def test_who_comes_while_another_fetches_waits_and_fetches_nothing(empty_cache, tmp_path, monkeypatch):
    a_maven(tmp_path, monkeypatch, f'echo x >> "{tmp_path}/runs"; sleep 0.3; mkdir -p "$out"; printf a > "$out/a.jar"')
    checksums = tmp_path / "sums"
    checksums.write_text(f"{digest(b'a')}  a.jar\n")
    jars = JarSet("some jars", tmp_path / "pom.xml", checksums, empty_cache / "some")
    with ThreadPoolExecutor() as threads:
        assert set(threads.map(lambda _: ensure(jars, MESSAGES.append), range(3))) == {jars.target}
    assert (tmp_path / "runs").read_text() == "x\n"


def test_a_maven_that_fails_is_quoted(empty_cache, tmp_path, monkeypatch):
    a_maven(tmp_path, monkeypatch, 'echo "no route to the registry"; exit 3')
    with pytest.raises(LabError, match=r"Maven failed \(3\):\nno route to the registry"):
        ensure_jars("3.3.6", MESSAGES.append)
