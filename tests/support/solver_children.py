"""Children that solve badly; a child process imports them by name."""

import os
import signal
import time
from pathlib import Path

from shim.concurrency.solver_child import serve_solvers


def hangs(pipe):
    """Read problems and answer none."""
    pipe.send("ready")
    while True:
        pipe.recv()


def comes_up_when_let(pipe):
    """Come up once the file is there that HEDDLE_TEST_GATE names, and solve."""
    gate = Path(os.environ["HEDDLE_TEST_GATE"])
    while not gate.exists():
        time.sleep(0.01)
    serve_solvers(pipe)


def dies(pipe):
    """End in the middle of a problem."""
    pipe.send("ready")
    pipe.recv()
    os.kill(os.getpid(), signal.SIGKILL)


def answers_another(pipe):
    """Answer a problem that nobody asked."""
    pipe.send("ready")
    number, *_ = pipe.recv()
    pipe.send((number + 7, "another's"))
    pipe.recv()


def never_starts(pipe):
    """Close the pipe at once."""
    pipe.close()


def dies_between(pipe):
    """End before any problem comes."""
    pipe.send("ready")
    os.kill(os.getpid(), signal.SIGKILL)


def dies_while_it_answers(pipe):
    """Write the length of an answer and the first bytes of it, and end."""
    pipe.send("ready")
    pipe.recv()
    os.write(pipe.fileno(), (1 << 16).to_bytes(4, "big") + b"half an answer")
    os.kill(os.getpid(), signal.SIGKILL)
