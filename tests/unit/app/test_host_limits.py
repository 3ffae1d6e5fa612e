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
    read_secret,
)
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
