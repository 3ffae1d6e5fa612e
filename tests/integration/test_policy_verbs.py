"""`heddle policy` and `heddle queue` against a whole Heddle whose only sub-cluster is away."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from typer.testing import CliRunner

from shim.app.bootstrap import Heddle
from shim.cli.front import ExitCode
from shim.cli.main import app
from shim.config.loader import parse
from shim.telemetry import configure_logs

FIRST = '[[queue]]\nname = "root.prod"\nweight = 1\n'
SECOND = '[[queue]]\nname = "root.prod"\nweight = 3\n\n[[queue]]\nname = "root.dev"\nweight = 1\n'

Verb = Callable[..., Awaitable[Any]]


@pytest.fixture(autouse=True)
def _logs(tmp_path: Path) -> Iterator[None]:
    """What a verb prints shall be all that a test reads."""
    with (tmp_path / "heddle.log").open("w") as log:
        configure_logs(level="info", style="auto", stream=log)
        yield
    structlog.reset_defaults()


def configuration(folder: Path, admin: str = "ada", security: str = "") -> str:
    return f"""
        [server]
        rest = "127.0.0.1:0"
        client_rpc = ""
        scheduler_rpc = ""
        admin_rpc = ""
        [store]
        url = "sqlite:///{folder}/heddle.db"
        [security]
        admins = ["{admin}"]
        {security}
        [[subcluster]]
        id = "east"
        web = "http://127.0.0.1:9"
        {FIRST}
        """


def a_heddle(folder: Path, admin: str = "ada", security: str = "") -> Heddle:
    return Heddle(parse(configuration(folder, admin, security), source="heddle.toml", environment={}))


def verbs_of(heddle: Heddle) -> Verb:
    """Run a verb beside the loop that serves it; returns what it printed."""

    async def run(*words: str, code: int = 0, user: str = "ada") -> str:
        arguments = [*words, "--server", heddle.url, "--user", user]
        result = await asyncio.to_thread(CliRunner().invoke, app, arguments)
        assert result.exit_code == code, f"{words}: {result.output}"
        return result.stdout if "json" in words else result.output

    return run


async def test_a_policy_is_compared_applied_and_rolled_back_without_a_restart(tmp_path: Path) -> None:
    (tmp_path / "new.toml").write_text(SECOND)
    new = str(tmp_path / "new.toml")
    async with a_heddle(tmp_path) as heddle:
        verb = verbs_of(heddle)
        assert "root.prod" in await verb("policy", "show")
        assert "root.dev" in await verb("policy", "validate", new)
        changes = await verb("policy", "diff", new, code=ExitCode.FAILED)
        assert "-weight = 1.0" in changes
        assert "+weight = 3" in changes
        await verb("policy", "apply", new, "--dry-run")
        assert [row["queue"] for row in json.loads(await verb("queue", "list", "-o", "json"))] == ["root.prod"]
        await verb("policy", "apply", new, "-m", "quarter end", "--expect", "0")
        rows = {row["queue"]: row for row in json.loads(await verb("queue", "list", "-o", "json"))}
        assert {queue: row["weight"] for queue, row in rows.items()} == {"root.prod": 3, "root.dev": 1}
        assert await verb("policy", "diff", new) == ""
        assert "SHARE" in (await verb("queue", "list")).splitlines()[0]
        assert "quarter end" in await verb("policy", "history")
        await verb("policy", "rollback", "0")
        assert len(json.loads(await verb("policy", "history", "-o", "json"))) == 3
        told = json.loads(await verb("queue", "whatif", new, "-o", "json"))
        assert [row["queue"] for row in told] == ["root.dev", "root.prod"]
        assert "weight" in await verb("queue", "status", "prod")


async def test_an_applied_policy_outlives_heddle_and_goes_before_the_file(tmp_path: Path) -> None:
    (tmp_path / "new.toml").write_text(SECOND)
    async with a_heddle(tmp_path) as heddle:
        await verbs_of(heddle)("policy", "apply", str(tmp_path / "new.toml"))
    async with a_heddle(tmp_path) as heddle:
        rows = json.loads(await verbs_of(heddle)("queue", "list", "-o", "json"))
        assert [row["queue"] for row in rows] == ["root.prod", "root.dev"]


async def test_a_policy_over_the_file_is_told_by_the_check_the_start_and_the_doctor(tmp_path: Path) -> None:
    file, new = tmp_path / "heddle.toml", tmp_path / "new.toml"
    file.write_text(configuration(tmp_path))
    new.write_text(SECOND)

    def checked() -> str:
        result = CliRunner().invoke(app, ["serve", "--check", "-c", str(file)])
        assert result.exit_code == 0, result.output
        return " ".join(result.output.split())

    async def findings(heddle: Heddle) -> list[Any]:
        told = json.loads(await verbs_of(heddle)("doctor", "-o", "json", code=ExitCode.FAILED))
        return [found for found in told if found["check"] == "policy"]

    assert "note:" not in await asyncio.to_thread(checked)
    assert not (tmp_path / "heddle.db").exists(), "a check makes no store"
    async with a_heddle(tmp_path) as heddle:
        assert await findings(heddle) == []
        await verbs_of(heddle)("policy", "apply", str(new))
        (found,) = await findings(heddle)
        assert found["level"] == "warning"
        assert "version 1 of the policy holds, applied by ada" in found["message"]
    assert "note: version 1 of the policy holds, applied by ada" in await asyncio.to_thread(checked)
    with structlog.testing.capture_logs() as lines:
        async with a_heddle(tmp_path) as heddle:
            (line,) = [each for each in lines if each["event"].startswith("the policy in force is not")]
            assert "root.dev, root.prod" in line["reason"]
            verb = verbs_of(heddle)
            await verb("policy", "release", "--dry-run")
            assert len(await findings(heddle)) == 1
            await verb("policy", "release", user="eve", code=ExitCode.NOT_ALLOWED)
            await verb("policy", "release")
            assert await findings(heddle) == []
            assert "root.dev" not in await verb("policy", "show")
    assert "note:" not in await asyncio.to_thread(checked)


async def test_strict_validation_fails_on_what_no_cluster_has(tmp_path: Path) -> None:
    (tmp_path / "new.toml").write_text(SECOND)
    async with a_heddle(tmp_path) as heddle:  # whose only cluster is away: nothing can be checked
        verb = verbs_of(heddle)
        await verb("policy", "validate", str(tmp_path / "new.toml"))
        printed = await verb("policy", "validate", "--strict", str(tmp_path / "new.toml"), code=ExitCode.UNAVAILABLE)
        assert "nothing was checked" in " ".join(printed.split())


WRONG = {
    "a key": (SECOND.replace("weight = 3", "heaviness = 3"), "wrong.toml:3: queue[0].heaviness"),
    "a value": (SECOND.replace("weight = 3", "weight = -3"), "wrong.toml:3: queue[0].weight"),
    "no TOML": (SECOND.replace("weight = 3", "weight"), "wrong.toml:3"),
}


@pytest.mark.parametrize(("text", "told"), WRONG.values(), ids=WRONG.keys())
async def test_what_is_wrong_is_told_with_its_line_and_nothing_is_applied(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "wrong.toml").write_text(text)
    async with a_heddle(tmp_path) as heddle:
        verb = verbs_of(heddle)
        for words in (("validate",), ("diff",), ("apply",)):
            printed = await verb("policy", *words, str(tmp_path / "wrong.toml"), code=ExitCode.FAILED)
            assert told in " ".join(printed.split())
        assert len(json.loads(await verb("policy", "history", "-o", "json"))) == 1


async def test_spanning_is_a_policys_too_and_needs_a_secret_that_outlives_the_process(tmp_path: Path) -> None:
    spans = tmp_path / "spans.toml"
    spans.write_text(f"{SECOND}span = true\nprefers.east = 2\n")
    async with a_heddle(tmp_path) as heddle:
        printed = await verbs_of(heddle)("policy", "apply", str(spans), code=ExitCode.FAILED)
        assert "queue.span" in printed
        assert "security.secret_file is not set" in " ".join(printed.split())
    secret = tmp_path / "secret"
    secret.write_text("0" * 64)
    secret.chmod(0o600)
    async with a_heddle(tmp_path, security=f'secret_file = "{secret}"') as heddle:
        verb = verbs_of(heddle)
        for words in (("--dry-run",), ()):
            assert "span of root.dev counts for ApplicationMasters that log in from now on" in await verb(
                "policy", "apply", str(spans), *words
            )
        assert "span of root.dev" not in await verb("policy", "apply", str(spans)), "it did not change"
        assert "span of root.dev" in await verb("policy", "rollback", "0")


async def test_who_is_no_operator_may_look_and_not_change(tmp_path: Path) -> None:
    (tmp_path / "new.toml").write_text(SECOND)
    async with a_heddle(tmp_path) as heddle:
        verb = verbs_of(heddle)
        await verb("policy", "show", user="mallory")
        await verb("policy", "apply", str(tmp_path / "new.toml"), user="mallory", code=ExitCode.NOT_ALLOWED)
        await verb("policy", "rollback", "0", user="mallory", code=ExitCode.NOT_ALLOWED)
        await verb("policy", "rollback", "9", code=ExitCode.NOT_FOUND)
        await verb("policy", "apply", str(tmp_path / "none.toml"), code=ExitCode.USAGE)
