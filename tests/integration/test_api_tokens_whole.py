"""API tokens at whole Heddles over one store: by sockets, in logs and audit files, and beside tickets of a real KDC."""

import base64
import json
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest
import structlog

from adapters.kerberos import WebInitiator
from shim.app.bootstrap import Heddle
from shim.config.loader import parse
from shim.telemetry import configure_logs
from tests.integration.test_kerberos_servers import written
from tests.support.kdc import LOCALHOST, REALM

RM, HTTP, ADA = f"rm/{LOCALHOST}@{REALM}", f"HTTP/{LOCALHOST}@{REALM}", f"ada@{REALM}"
TOKENS, NEW = "/heddle/v1/tokens", "/ws/v1/cluster/apps/new-application"


def plain(folder, more=""):
    return f"""
        [server]
        rest = "127.0.0.1:0"
        client_rpc = ""
        scheduler_rpc = ""
        admin_rpc = ""
        answer_within_s = 0.2
        [store]
        url = "sqlite:///{folder}/heddle.db"
        {more}
        [[subcluster]]
        id = "east"
        web = "http://127.0.0.1:9"
        """


@asynccontextmanager
async def serving(text):
    async with AsyncExitStack() as stack:
        heddle = await stack.enter_async_context(Heddle(parse(text, source="heddle.toml", environment={})))
        yield await stack.enter_async_context(httpx.AsyncClient(base_url=heddle.url, trust_env=False))


async def created(web, headers=None, **wanted):
    answer = await web.post(
        f"{TOKENS}?user.name=ada", json={"name": "ci", "scopes": ["submit"], **wanted}, headers=headers
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def bearer(text):
    return {"Authorization": f"Bearer {text}"}


@pytest.fixture
def log(tmp_path):
    """The file that everything is logged to, as the verb that serves sets it up."""
    file = tmp_path / "heddle.log"
    with file.open("w") as stream:
        configure_logs(level="debug", style="auto", stream=stream)
        yield file
    structlog.reset_defaults()


async def test_a_token_stands_in_no_log_no_audit_line_and_no_database(tmp_path, log):
    audit = tmp_path / "audit.log"
    text = plain(tmp_path, f'[log]\naudit_file = "{audit}"')
    async with serving(text) as web:
        token = (await created(web))["token"]
        secret = token.split("_", 2)[2]
        for shown in (token, token[:-1], token + "A", f"{token} {token}"):
            await web.post(NEW, headers=bearer(shown))
            await web.post(f"/heddle/v1/clusters/{token}/cordon", headers=bearer(shown))
            await web.put(f"/ws/v1/cluster/apps/{token}/state?user.name=ada", json={"state": token})
            await web.post(f"{NEW}?user.name={token}")
            await web.post(f"{NEW}?user.name=ada&doAs={token}")
            await web.get(f"/{token}?{token}={token}")
    lines, logged = audit.read_text(), log.read_text()
    assert '"operation":"token.create"' in lines
    assert "The valid ApplicationId should start with" in logged
    assert secret not in lines + logged
    for file in tmp_path.glob("heddle.db*"):
        assert secret.encode() not in file.read_bytes()


async def test_what_one_heddle_makes_and_ends_another_of_its_store_takes_and_refuses(tmp_path):
    async with serving(plain(tmp_path)) as one:
        made = await created(one)
        async with serving(plain(tmp_path)) as other:
            assert (await other.post(NEW, headers=bearer(made["token"]))).status_code == 200
            assert (await one.delete(f"{TOKENS}/{made['id']}?user.name=ada")).status_code == 200
            assert (await one.post(NEW, headers=bearer(made["token"]))).status_code == 401
        async with serving(plain(tmp_path)) as later:
            refused = await later.post(f"{NEW}?user.name=ada", headers=bearer(made["token"]))
            assert refused.status_code == 401
            assert "revoked" in refused.json()["RemoteException"]["message"]


async def test_tokens_go_beside_tickets_and_those_from_before_them_do_not_count(kerberos, kdc, tmp_path):
    keytabs = {principal: kdc.keytab(principal) for principal in (RM, HTTP, ADA)}
    async with serving(plain(tmp_path)) as believing:
        believed = await created(believing)
    text = written(tmp_path, keytabs[RM], f'web_principal = "{HTTP}"\nweb_keytab = "{keytabs[HTTP]}"')
    async with serving(text) as web:
        refused = await web.post(NEW, headers=bearer(believed["token"]))
        assert refused.status_code == 401
        assert "by a name that was only believed" in refused.json()["RemoteException"]["message"]
        assert refused.headers["www-authenticate"].startswith("Bearer ")
        ticket = base64.b64encode(WebInitiator(ADA, keytabs[ADA]).token_for(LOCALHOST)).decode()
        token = (await created(web, headers={"Authorization": f"Negotiate {ticket}"}))["token"]
        web.cookies.clear()
        assert (await web.post(f"{NEW}?user.name=ada")).status_code == 401
        shown = await web.post(NEW, headers=bearer(token))
        assert shown.status_code == 200
        assert "set-cookie" not in shown.headers
        for query in ("op=GETDELEGATIONTOKEN", "doAs=bob"):
            assert (await web.get(f"/?{query}", headers=bearer(token))).status_code in (401, 403)
        assert (await web.post(NEW, headers=bearer(token[:-1]))).status_code == 401
        cordon = await web.post("/heddle/v1/clusters/east/cordon", headers=bearer(token))
        assert (cordon.status_code, "lacks the scope" in json.dumps(cordon.json())) == (403, True)
