"""`heddle doctor --hardening` at a whole Heddle: its configuration, its files, itself."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from shim.app.bootstrap import Heddle
from shim.cli.front import ExitCode
from shim.config.loader import parse


@pytest.fixture
async def heddle(tmp_path: Path) -> AsyncIterator[Heddle]:
    secret = tmp_path / "secret"
    secret.touch(mode=0o600)
    secret.write_text("0123456789abcdef" * 4)
    text = f"""
        [server]
        rest = "127.0.0.1:0"
        client_rpc = ""
        scheduler_rpc = ""
        admin_rpc = ""
        [store]
        url = "sqlite:///{tmp_path}/heddle.db"
        [security]
        secret_file = "{secret}"
        admins = ["queen"]
        [log]
        audit_file = "{tmp_path}/audit.log"
        [[subcluster]]
        id = "east"
        web = "http://127.0.0.1:9"
        """
    async with Heddle(parse(text, source="heddle.toml", environment={})) as running:
        yield running


async def lines(heddle: Heddle) -> dict[str, Any]:
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(f"{heddle.url}/heddle/v1/hardening?user.name=queen")
    return {line["id"]: line for line in answer.json()["lines"]}


async def verb(heddle: Heddle, *more: str) -> tuple[int | None, str]:
    """Exit code and output of the verb, in a process of its own: the Heddle in this one logs whenever it likes."""
    arguments = ["-m", "shim", "doctor", "--hardening", "--server", heddle.url, "--user", "queen", *more]
    child = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    output, _ = await child.communicate()
    return child.returncode, output.decode()


async def test_files_are_looked_at_as_they_are_now(heddle: Heddle, tmp_path: Path):
    before = await lines(heddle)
    (tmp_path / "secret").chmod(0o644)
    (tmp_path / "heddle.db").chmod(0o604)
    (tmp_path / "audit.log").chmod(0o622)
    after = await lines(heddle)
    for line in ("secret-files", "store-files", "audit"):
        assert (before[line]["state"], after[line]["state"]) == ("ok", "not ok"), after[line]
    assert str(tmp_path / "secret") in after["secret-files"]["found"]


async def test_a_token_that_lives_long_is_found_in_the_store(heddle: Heddle):
    assert (await lines(heddle))["token-lives"]["state"] == "ok"
    async with httpx.AsyncClient(trust_env=False) as client:
        wanted = {"name": "nightly", "scopes": [], "lifetime_s": 200 * 86_400}
        made = await client.post(f"{heddle.url}/heddle/v1/tokens?user.name=queen", json=wanted)
    assert made.status_code < 300
    assert "good for 200 more days" in (await lines(heddle))["token-lives"]["found"]


async def test_only_operators_learn_where_heddle_is_weak(heddle: Heddle):
    async with httpx.AsyncClient(trust_env=False) as client:
        for named in ("", "?user.name=alice"):
            assert (await client.get(f"{heddle.url}/heddle/v1/hardening{named}")).status_code in (401, 403)


async def test_the_verb_tells_what_to_do_and_fails_while_a_line_is_not_ok(heddle: Heddle):
    exit_code, told = await verb(heddle)
    assert exit_code == ExitCode.FAILED
    assert "limits.user_per_s" in told
    listed = json.loads((await verb(heddle, "--output", "json"))[1])
    assert {line["state"] for line in listed} <= {"ok", "not ok", "cannot tell"}
    assert next(line for line in listed if line["id"] == "rates")["state"] == "not ok"
