"""A command under the system call filter and the memory rule of a systemd unit, where no systemd runs.

`python -m tests.support.confined NAME[,NAME...] COMMAND...` replaces itself by the command. Calls of the kernel that
are not named fail with EPERM, as `SystemCallErrorNumber=EPERM` has it, and no page is writable and executable
(`MemoryDenyWriteExecute=`). Nobody needs to be root for it.
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterable
from errno import EPERM

_NO_NEW_PRIVILEGES, _MEMORY_DENY = 38, 65  # of <linux/prctl.h>
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000  # of <seccomp.h>
_EXECVE = {"execve"}


def filtered_calls(lines: Iterable[str]) -> set[str]:
    """Return the calls that `SystemCallFilter=` lines allow together, in their order; the first one allows."""
    sets = _sets()
    allowed: set[str] = set()
    for line in lines:
        names = {call for word in line.removeprefix("~").split() for call in _expanded(word, sets)}
        allowed = allowed - names if line.startswith("~") else allowed | names
    return allowed


def _sets() -> dict[str, set[str]]:
    """Return what each set of calls of this systemd has: names of calls and of other sets."""
    told = subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True, check=True, timeout=30)
    sets: dict[str, set[str]] = {}
    current: set[str] = set()
    for line in told.stdout.splitlines():
        word = line.strip()
        if line.startswith("@"):
            current = sets.setdefault(word, set())
        elif word and not word.startswith("#"):
            current.add(word)
    return sets


def _expanded(word: str, sets: dict[str, set[str]]) -> set[str]:
    if not word.startswith("@"):
        return {word}
    return {call for inner in sets[word] for call in _expanded(inner, sets)}


def _confine(calls: Iterable[str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    libc.prctl(_MEMORY_DENY, 1, 0, 0, 0)  # kernels before 6.3 have it not
    seccomp = ctypes.CDLL("libseccomp.so.2")
    seccomp.seccomp_init.restype = ctypes.c_void_p
    rules = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(_ERRNO | EPERM)))
    for name in {*calls} | _EXECVE:
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # others are of another machine
            seccomp.seccomp_rule_add(rules, ctypes.c_uint32(_ALLOW), number, ctypes.c_uint(0))
    if seccomp.seccomp_load(rules) != 0:
        raise OSError("the filter was not taken")


if __name__ == "__main__":
    _confine(sys.argv[1].split(","))
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - to be that command is its purpose
