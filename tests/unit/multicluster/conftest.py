"""Tests with sessions run in virtual time: what is late on a busy machine is not late in them."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from shim.simulation.virtual_time import VirtualTimeLoop

IN_VIRTUAL_TIME = ("test_service.py", "test_hostile_masters.py")
NEEDS_THREADS = ("test_no_call_holds_the_loop",)  # what a thread does holds the loop in virtual time


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Choose the loop by the test; the name is part of no test's id, as there is one."""
    del config
    is_virtual = item.path.name in IN_VIRTUAL_TIME and not item.name.startswith(NEEDS_THREADS)
    return {"loop": VirtualTimeLoop if is_virtual else asyncio.new_event_loop}
