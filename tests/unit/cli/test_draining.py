"""Waiting until a cluster is drained: progress is told once, and the wait ends."""

import pytest

from shim.cli.draining import wait_until_drained


class HandClock:
    """Time that only `sleep` moves."""

    def __init__(self):
        self.at_s = 0.0

    def now_s(self):
        return self.at_s

    def sleep(self, duration_s):
        self.at_s += duration_s


def a_drainage(homed=(), spanning=None, admission="draining"):
    named = dict(spanning or {})
    running = [*homed, *named]
    return {
        "id": "east",
        "admission": admission,
        "still_running": running,
        "spanning": named,
        "is_drained": not running and admission != "open",
    }


def waited(answers, timeout_s=0.0):
    clock, left = HandClock(), list(answers)
    last = wait_until_drained(
        lambda: left.pop(0) if len(left) > 1 else left[0], timeout_s=timeout_s, sleep=clock.sleep, now_s=clock.now_s
    )
    return last, clock.at_s


def test_it_waits_for_containers_of_other_homes_and_says_each_change_once(capsys):
    one, other = a_drainage(["a"], {"b": 2}), a_drainage([], {"b": 1})
    last, took_s = waited([one, one, other, a_drainage()])
    assert (last["is_drained"], took_s) == (True, 3.0)
    lines = [" ".join(line.split()) for line in capsys.readouterr().err.split("east: ") if line]
    assert [line[:40] for line in lines] == [
        "1 applications with their ApplicationMas",
        "0 applications with their ApplicationMas",
        "0 applications with their ApplicationMas",
    ]
    assert "2 containers of 1 applications" in lines[0]
    assert "1 containers of 1 applications" in lines[1]


@pytest.mark.parametrize(("answer", "took_s"), [(a_drainage(["a"]), 2.5), (a_drainage(["a"], admission="open"), 0.0)])
def test_it_ends_when_the_time_is_over_or_the_drain_was_ended(answer, took_s):
    last, waited_s = waited([answer], timeout_s=2.5)
    assert (last["is_drained"], waited_s) == (False, took_s)
