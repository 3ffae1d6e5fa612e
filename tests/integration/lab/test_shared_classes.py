"""Archives of classes, written and used by a real JVM."""

import subprocess

import pytest

from scripts.class_archive import recording, write_archive
from shim.errors import LabError
from shim.lab.jars import ensure_jars
from shim.lab.java_options import find_java
from shim.lab.shared_classes import archive_of, class_path, in_containers, sharing
from shim.lab.spec import DEFAULT_VERSION

PROGRAM = "org.apache.hadoop.util.VersionInfo"


@pytest.fixture
def jars(tmp_path, monkeypatch):
    """Hadoop's; archives of them are in a cache of the test's own."""
    found = ensure_jars(DEFAULT_VERSION, print)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return found


def run(jars, *options):
    """What the JVM tells of each class that it loads."""
    command = [str(find_java()), *sharing(jars), *options, "-Xlog:class+load", "-cp", class_path(jars, "/etc"), PROGRAM]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_without_an_archive_nothing_is_changed(jars):
    assert (sharing(jars), in_containers(jars)) == ((), ())


def test_what_was_recorded_is_taken_from_the_archive(jars):
    with recording(jars):
        run(jars)
        assert write_archive(jars) > 300
    assert f"{PROGRAM} source: shared objects file" in run(jars)
    assert f"{PROGRAM} source: shared objects file" in run(jars, "-Xshare:on")


def test_a_recording_that_ends_leaves_nothing(jars):
    with recording(jars):
        assert "DumpLoadedClassList" in sharing(jars)[0]
        with pytest.raises(LabError, match="no classes"):
            write_archive(jars)
    assert sharing(jars) == ()
    assert not archive_of(jars).exists()


def test_containers_name_the_jars_before_their_own_class_path(jars):
    archive_of(jars).parent.mkdir(parents=True)
    archive_of(jars).touch()
    assert in_containers(jars) == (f"-XX:SharedArchiveFile={archive_of(jars)}", "-cp", f"{jars}/*:$CLASSPATH")


def test_another_java_has_another_archive(jars, tmp_path, monkeypatch):
    first = archive_of(jars)
    other = tmp_path / "java" / "bin" / "java"
    other.parent.mkdir(parents=True)
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(other.parent.parent))
    assert archive_of(jars) != first
