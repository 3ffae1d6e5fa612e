"""Work off the event loop: bounded in number, one piece for each caller, and never in the way of the loop."""

import asyncio
import threading
from functools import partial

import pytest

from shim.concurrency.off_loop import OffLoop
from shim.errors import UnavailableError


class Gated:
    """Work that is not done before it is let go."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.threads: list[str] = []

    def __call__(self) -> str:
        self.threads.append(threading.current_thread().name)
        self.may_end.wait(timeout=60)
        return "done"


async def test_work_runs_on_another_thread_and_its_outcome_and_errors_come_back() -> None:
    work = OffLoop()
    assert await work.run("alice", lambda: threading.current_thread() is threading.main_thread()) is False
    with pytest.raises(ZeroDivisionError):
        await work.run("alice", lambda: 1 // 0)
    assert len(work) == 0


async def test_a_caller_has_one_piece_at_a_time_and_all_together_have_few() -> None:
    work, slow = OffLoop(most_waiting=2), Gated()
    first = asyncio.create_task(work.run("alice", slow))
    await asyncio.sleep(0)
    with pytest.raises(UnavailableError, match="alice"):
        await work.run("alice", slow)
    second = asyncio.create_task(work.run("bob", slow))
    await asyncio.sleep(0)
    with pytest.raises(UnavailableError, match="too many"):
        await work.run("carol", slow)
    slow.may_end.set()
    assert [await first, await second] == ["done", "done"]
    assert await work.run("carol", slow) == "done"


async def test_what_takes_too_long_is_answered_and_keeps_its_caller_out_until_it_ends() -> None:
    work, slow = OffLoop(limit_s=0.0), Gated()
    with pytest.raises(UnavailableError, match="not done within"):
        await work.run("alice", slow)
    with pytest.raises(UnavailableError, match="another"):
        await work.run("alice", slow)
    slow.may_end.set()
    await work.run_own(lambda: None)
    await asyncio.sleep(0)
    assert len(work) == 0


async def test_each_caller_has_one_piece_done_in_turn():
    work, order = OffLoop(), []
    begun, go_on = threading.Event(), threading.Event()

    def held() -> None:
        begun.set()
        go_on.wait(10)

    first = asyncio.ensure_future(work.run_in_turn("mallory", held))
    await asyncio.to_thread(begun.wait, 10)
    many = [work.run_in_turn("mallory", partial(order.append, f"mallory {number}")) for number in range(50)]
    tasks = [asyncio.ensure_future(each) for each in many]
    await asyncio.sleep(0)
    others = [asyncio.ensure_future(work.run_in_turn(name, partial(order.append, name))) for name in ("ada", "bob")]
    gone = asyncio.ensure_future(work.run_in_turn("carl", partial(order.append, "carl")))
    await asyncio.sleep(0)
    gone.cancel()
    go_on.set()
    await asyncio.gather(first, *tasks, *others)
    assert order[:4] == ["mallory 0", "ada", "bob", "mallory 1"]
    assert len(order) == 52


async def test_a_piece_that_fails_is_its_callers_and_the_next_has_its_turn():
    work = OffLoop()
    failed, done = await asyncio.gather(
        work.run_in_turn("mallory", lambda: 1 // 0), work.run_in_turn("ada", lambda: 1), return_exceptions=True
    )
    assert (type(failed), done) == (ZeroDivisionError, 1)
    assert await work.run_in_turn("mallory", lambda: 2) == 2
