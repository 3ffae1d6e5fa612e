"""Whole masters whose sub-clusters are away: they start, find each other, tell so, and end without a trace."""

import asyncio
import json
import socket
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from cryptography.x509 import UniformResourceIdentifier

from shim.app.bootstrap import Heddle
from shim.app.peers import LocalMasterProcess, default_name
from shim.config.loader import parse
from shim.errors import AddressTakenError, ConfigError
from tests.support.certificates import TestAuthority

ROOT = Path(__file__).resolve().parents[2]
SECRET = "a secret of at least sixteen bytes"
ANOTHER = "another one of more than sixteen bytes"


def configuration(folder, *, secret=SECRET, masters="", more=""):
    file = folder / "masters.secret"
    if secret:
        file.write_text(secret)
        file.chmod(0o600)
    secret_line = f'secret_file = "{file}"' if secret else ""
    text = f"""
        [server]
        rest = "127.0.0.1:0"
        client_rpc = ""
        scheduler_rpc = ""
        admin_rpc = ""
        [store]
        url = "sqlite:///{folder}/heddle.db"
        [masters]
        {secret_line}
        {masters}
        {more}
        [[subcluster]]
        id = "east"
        web = "http://127.0.0.1:9"
        """
    return parse(text, source="heddle.toml", environment={})


async def get(url, path):
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.get(f"{url}{path}")


async def until(holds, within_s=120.0):
    async with asyncio.timeout(within_s):
        while not await holds():  # noqa: ASYNC110 - what is waited for happens in other tasks, that tell nobody
            await asyncio.sleep(0.05)


async def heddle_top(*arguments):
    command = (sys.executable, "-m", "shim", "top", *arguments)
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    told, _ = await process.communicate()
    assert process.returncode == 0
    return told.decode()


async def top(url):
    """What `heddle top` tells programs, and people."""
    told, shown = await asyncio.gather(heddle_top("-o", "json", "--server", url), heddle_top("--once", "--server", url))
    return json.loads(told), shown


@asynccontextmanager
async def local_master(config):
    listens = asyncio.Event()
    running = asyncio.create_task(LocalMasterProcess(config, "east").run(announce=lambda _: listens.set()))
    try:
        await asyncio.wait_for(listens.wait(), 30)
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_global_master_without_a_local_one_serves_and_says_what_it_lacks(tmp_path):
    async with Heddle(configuration(tmp_path), global_master="gm-1") as heddle:
        told, shown = await top(heddle.url)
        (cluster,) = told["clusters"]
        assert cluster["state"] == "NEW"
        assert "no Local Master of east" in cluster["link"]
        (master,) = told["masters"]
        assert (master["master"], master["is_live"], told["name"]) == ("gm/gm-1", True, "gm-1")
        assert "gm/gm-1" in shown
        metrics = (await get(heddle.url, "/metrics")).text
        assert 'heddle_link_up{subcluster="east"} 0.0' in metrics
        assert 'heddle_lease_seconds{master="gm/gm-1"}' in metrics
    async with Heddle(configuration(tmp_path), global_master="gm-2") as heddle:
        told, _ = await top(heddle.url)
        assert [master["master"] for master in told["masters"]] == ["gm/gm-2"]  # the first gave its lease back


async def test_a_global_master_hears_what_troubles_its_local_master(tmp_path):
    config = configuration(tmp_path)
    async with local_master(config), Heddle(config, global_master="gm-1") as heddle:

        async def hears():
            (cluster,) = (await get(heddle.url, "/heddle/v1/clusters")).json()["clusters"]
            return "east" in cluster["failure"]

        await until(hears)
        (link,) = (await get(heddle.url, "/heddle/v1/masters")).json()["links"]
        assert (link["is_linked"], link["trouble"]) == (True, "")


async def test_a_local_master_with_another_secret_is_not_heard(tmp_path):
    config = configuration(tmp_path)
    (tmp_path / "other").mkdir()
    other = replace(configuration(tmp_path / "other", secret=ANOTHER), store=config.store)
    async with local_master(other), Heddle(config, global_master="gm-1") as heddle:

        async def is_refused():
            (link,) = (await get(heddle.url, "/heddle/v1/masters")).json()["links"]
            return "does not have the secret" in link["trouble"]

        await until(is_refused)


def with_certificate(folder, authority, name):
    """A configuration without a secret, for a master with a certificate of its name."""
    certificate, key = authority.issue(name.replace("/", "-"), names=[UniformResourceIdentifier(f"heddle:{name}")])
    tls = f'[masters.tls]\ncertificate = "{certificate}"\nkey = "{key}"\nca = "{authority.file}"'
    return configuration(folder, secret="", more=tls)


async def test_masters_with_certificates_need_no_secret(tmp_path):
    authority = TestAuthority(tmp_path)
    lm, gm = (with_certificate(tmp_path, authority, name) for name in ("lm/east", "gm/gm-1"))
    async with local_master(lm), Heddle(gm, global_master="gm-1") as heddle:

        async def is_linked():
            (link,) = (await get(heddle.url, "/heddle/v1/masters")).json()["links"]
            return link["is_linked"]

        await until(is_linked)


@pytest.mark.parametrize("has_tls", ["gm", "lm"])
async def test_a_master_with_a_certificate_speaks_to_none_without(tmp_path, has_tls):
    authority = TestAuthority(tmp_path)
    names = {"lm": "lm/east", "gm": "gm/gm-1"}
    lm, gm = (
        with_certificate(tmp_path, authority, names[role]) if role == has_tls else configuration(tmp_path)
        for role in ("lm", "gm")
    )
    async with local_master(lm), Heddle(gm, global_master="gm-1") as heddle:

        async def is_refused():
            (link,) = (await get(heddle.url, "/heddle/v1/masters")).json()["links"]
            assert not link["is_linked"]
            return "cannot be reached" in link["trouble"]

        await until(is_refused)


async def test_a_certificate_of_another_master_is_told_at_the_start(tmp_path):
    config = with_certificate(tmp_path, TestAuthority(tmp_path), "lm/west")
    with pytest.raises(ConfigError, match="has to name this one: URI:heddle:lm/east"):
        await LocalMasterProcess(config, "east").run(announce=print)


async def test_a_heddle_alone_has_its_masters_inside(tmp_path):
    async with Heddle(configuration(tmp_path, secret="")) as heddle:
        told, shown = await top(heddle.url)
        assert (told["masters"], told["name"], told["clusters"][0]["link"]) == ([], "", "inside")
        assert "MASTER " not in shown


async def test_masters_need_a_secret(tmp_path):
    config = configuration(tmp_path, secret="")
    with pytest.raises(ConfigError, match=r"masters\.secret_file"):
        async with Heddle(config, global_master="gm-1"):
            pass
    with pytest.raises(ConfigError, match=r"masters\.secret_file"):
        await LocalMasterProcess(config, "east").run(announce=print)


async def test_an_address_that_is_taken_is_told_by_its_key(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        config = configuration(tmp_path, masters=f'listen = "{address}"')
        with pytest.raises(AddressTakenError, match=r"masters\.listen"):
            async with Heddle(config, global_master="gm-1"):
                pass


def test_an_address_that_others_reach_is_a_decision(tmp_path):
    with pytest.raises(ConfigError, match=r"masters\.listen.*allow_remote"):
        configuration(tmp_path, masters='listen = "0.0.0.0:8700"')


def test_a_local_master_is_of_a_subcluster_that_there_is(tmp_path):
    with pytest.raises(ConfigError, match=r"no 'west'; there are: east"):
        LocalMasterProcess(configuration(tmp_path), "west")


def test_a_global_master_without_a_name_gets_one_by_where_it_serves(tmp_path):
    config = configuration(tmp_path)
    assert default_name(config) == default_name(config)
    assert default_name(config) != ""
