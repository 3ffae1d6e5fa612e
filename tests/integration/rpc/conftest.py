"""Every test of the RPC shells runs on both event loops: Heddle serves on uvloop, tools may use asyncio's own."""

import asyncio

import uvloop


def pytest_asyncio_loop_factories(config, item):
    del config, item
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
