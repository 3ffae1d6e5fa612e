"""A process that imports Heddle once, and forks a command of it for each line that it reads.

Starting Python and importing everything takes longer than what is tested. The nursery runs nothing but this loop; its
children are complete processes of the command line. A line is JSON: the arguments, the file for the output, and the
whole environment: what was set when the nursery began may be over. The answer is the child's process id.
"""

import importlib
import json
import os
import signal
import sys

_IMPORTED_LATE_BY_THE_COMMANDS = (
    "uvloop",
    "shim.app.bootstrap",
    "shim.app.peers",
    "shim.cli.masters",
    "shim.cli.serve",
)


def main() -> None:
    """Fork until standard input ends."""
    from shim.cli.main import app  # noqa: PLC0415 - the children's imports belong together

    for module in _IMPORTED_LATE_BY_THE_COMMANDS:
        importlib.import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children: the kernel forgets them
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(order["log"])
            os.environ.clear()
            os.environ.update(order["environment"])
            app(order["arguments"])
            os._exit(0)
        print(child, flush=True)  # noqa: T201 - the protocol with the one who orders


def _become(log: str) -> None:
    """What a process that was started by itself would have."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)


if __name__ == "__main__":
    main()
