import getpass
import grp
import os
import pwd
import resource
import subprocess
import sys

import pytest

from shim.app.host_limits import (
    SystemClock,
    allow_many_connections,
    connections_allowed,
    current_user,
    groups_of,
    read_other_secrets,
    read_secret,
)
from shim.config.masters import MastersConfig
from shim.config.sections import SecurityConfig
from shim.errors import ConfigError


def test_as_many_files_may_be_open_as_the_machine_allows():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, before[1]), before[1]))
    try:
        allow_many_connections()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_s27_no_server_may_use_up_the_files_that_all_need():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(400, before[1]), before[1]))
    try:
        assert connections_allowed(8192) == 100
        assert connections_allowed(10) == 10
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_collector_leaves_alone_what_is_there_and_still_finds_what_is_not():
    """In a process of its own: the setting is the process's."""
    program = """
import gc, weakref
from shim.app.host_limits import spare_collector
class Knot: pass
spare_collector()
assert gc.get_freeze_count() > 10_000 and len(gc.get_objects()) < 1_000
knot = Knot()
knot.own, seen = knot, weakref.ref(knot)
del knot
pile = [[] for _ in range(3 * gc.get_threshold()[0])]
assert seen() is None
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_secret_is_read_from_a_file_that_only_its_owner_reads(tmp_path):
    file = tmp_path / "secret"
    file.write_text("0123456789abcdef\n")
    file.chmod(0o600)
    assert read_secret(file) == b"0123456789abcdef"


def test_without_a_file_each_secret_is_another():
    assert read_secret(None) != read_secret(None)
    assert len(read_secret(None)) == 32


def test_a_secret_of_an_environment_variable_is_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("HEDDLE_TEST_SECRET", "0123456789abcdef\n")
    assert read_secret(tmp_path / "env:HEDDLE_TEST_SECRET") == b"0123456789abcdef"


@pytest.mark.parametrize("value", ["", "short"])
def test_a_variable_that_holds_too_little_is_named_and_not_shown(tmp_path, monkeypatch, value):
    monkeypatch.setenv("HEDDLE_TEST_SECRET", value)
    with pytest.raises(ConfigError, match=f"env:HEDDLE_TEST_SECRET.*holds {len(value)} bytes") as caught:
        read_secret(tmp_path / "env:HEDDLE_TEST_SECRET")
    assert "short" not in str(caught.value)


def test_a_credential_of_systemd_is_taken_as_systemd_guards_it(tmp_path, monkeypatch):
    (file := tmp_path / "heddle.secret").write_text("0123456789abcdef")
    file.chmod(0o440)  # as its ACL looks
    with pytest.raises(ConfigError, match="chmod 600"):
        read_secret(file)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert read_secret(file) == b"0123456789abcdef"
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path / "elsewhere"))
    with pytest.raises(ConfigError, match="chmod 600"):
        read_secret(file)


@pytest.mark.parametrize("section", [SecurityConfig, MastersConfig])
def test_a_second_secret_is_read_where_one_is_named(tmp_path, section):
    (file := tmp_path / "secret").write_text("0123456789abcdef")
    file.chmod(0o600)
    assert read_other_secrets(section()) == ()
    assert read_other_secrets(section(other_secret_file=file)) == (b"0123456789abcdef",)
    with pytest.raises(ConfigError, match=r"masters\.other_secret_file"):
        read_other_secrets(section(other_secret_file=tmp_path / "none"), name="masters")


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o601])
def test_a_file_that_others_can_use_is_refused(tmp_path, mode):
    file = tmp_path / "secret"
    file.write_text("0123456789abcdef")
    file.chmod(mode)
    with pytest.raises(ConfigError, match="chmod 600"):
        read_secret(file)


def test_the_groups_of_an_account_are_its_primary_and_its_other_ones():
    me = pwd.getpwuid(os.getuid())
    assert current_user() == getpass.getuser()
    assert grp.getgrgid(me.pw_gid).gr_name in groups_of(me.pw_name)


def test_a_user_that_the_machine_does_not_know_has_no_groups():
    assert groups_of("nobody-of-that-name") == frozenset()


async def test_the_clock_never_waits_a_negative_time():
    clock = SystemClock()
    before_s = clock.monotonic_s()
    await clock.sleep(-1)
    assert clock.monotonic_s() >= before_s
