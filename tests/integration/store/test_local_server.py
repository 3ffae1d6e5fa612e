"""The throw-away PostgreSQL of the tests starts though somebody takes its port at the last moment."""

import socket

import asyncpg
import pytest

from shim.errors import HeddleError
from tests.doubles import postgresql
from tests.doubles.postgresql import free_port


@pytest.fixture
def taken():
    """A port that somebody listens on."""
    with socket.create_server(("127.0.0.1", free_port())) as holder:
        yield holder.getsockname()[1]


async def test_a_port_that_is_taken_before_the_server_has_it_is_left_for_another(taken, monkeypatch):
    ports = iter([taken, taken, free_port()])
    monkeypatch.setattr(postgresql, "free_port", lambda: next(ports))
    with postgresql.LocalPostgreSQL() as server:
        connection = await asyncpg.connect(server.url)
        assert await connection.fetchval("select 1") == 1
        await connection.close()


def test_a_server_that_cannot_start_says_what_it_logged(taken, monkeypatch):
    monkeypatch.setattr(postgresql, "free_port", lambda: taken)
    with pytest.raises(HeddleError, match="already in use"), postgresql.LocalPostgreSQL():
        pass
