"""A whole Heddle whose web services ask for tickets of a real KDC; its sub-cluster is away."""

import asyncio
import base64
import http.cookiejar
import json
import os
import shutil

import httpx
import pytest
from requests_gssapi import HTTPSPNEGOAuth
from typer.testing import CliRunner
from yarn_api_client import ResourceManager
from yarn_api_client.auth import SimpleAuth

from adapters.kerberos import WebInitiator
from heddle.client import AsyncClient, Client, CredentialsError, Ticket
from shim.app.bootstrap import Heddle
from shim.app.host_limits import SystemClock
from shim.cli.main import app
from shim.config.loader import parse
from shim.errors import ConfigError
from shim.identity.cookies import Cookies
from shim.protocol.proto.messages import GetNewApplicationResponseProto
from shim.protocol.rest.token_strings import decode_token, encode_token
from tests.integration.test_kerberos_servers import written
from tests.support.kdc import LOCALHOST, OTHER_REALM, REALM
from tests.support.ticket_calls import by_token, calling

RM, HTTP = f"rm/{LOCALHOST}@{REALM}", f"HTTP/{LOCALHOST}@{REALM}"
ADA, BOB, OOZIE = f"ada@{REALM}", f"bob@{OTHER_REALM}", f"oozie/{LOCALHOST}@{REALM}"
WHO, NEW = "/ws/v1/cluster/userinfo", "/ws/v1/cluster/apps/new-application"


@pytest.fixture(scope="module")
def keytabs(kdc):
    return {principal: kdc.keytab(principal) for principal in (RM, HTTP, ADA, BOB, OOZIE)}


@pytest.fixture
async def heddle(kerberos, keytabs, tmp_path):
    more = f'web_principal = "{HTTP}"\nweb_keytab = "{keytabs[HTTP]}"'
    text = written(tmp_path, keytabs[RM], more)
    async with Heddle(parse(text, source="heddle.toml", environment={})) as running:
        yield running


@pytest.fixture
async def web(heddle):
    async with httpx.AsyncClient(base_url=heddle.url, trust_env=False) as client:
        client.cookies.jar.set_policy(NoCookies())
        yield client


class NoCookies(http.cookiejar.DefaultCookiePolicy):
    """Keeps none: each test says what it sends."""

    def set_ok(self, _cookie, _request):
        return False


def negotiating(principal, keytabs):
    token = WebInitiator(principal, keytabs[principal]).token_for(LOCALHOST)
    return {"Authorization": f"Negotiate {base64.b64encode(token).decode()}"}


def cookie_of(answer):
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


@pytest.mark.parametrize(
    "path", [WHO, "/ws/v1/cluster/apps", "/cluster", "/jmx", "/conf", "/metrics", "/heddle/v1/clusters", "/nothing"]
)
@pytest.mark.parametrize("claim", ["", "?user.name=ada", "?user.name=ada&doAs=bob"])
async def test_nobody_comes_in_by_name(web, path, claim):
    refused = await web.get(path + claim)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Negotiate"
    assert refused.headers["set-cookie"].startswith("hadoop.auth=;")


@pytest.mark.parametrize("path", ["/healthz", "/ready"])
async def test_balancers_need_no_ticket(web, path):
    assert (await web.get(path)).status_code in (200, 503)


@pytest.mark.parametrize("path", ["/healthz/../cluster", "/healthz;/cluster", "/ready/x", "//healthz"])
async def test_only_these_paths_need_none(heddle, path):
    reader, writer = await asyncio.open_connection(*heddle.url.removeprefix("http://").split(":"))
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert (await reader.read()).split(b" ", 2)[1] in (b"400", b"401", b"404")
    writer.close()


@pytest.mark.parametrize(("principal", "user"), [(ADA, "ada"), (OOZIE, "oozie")])
async def test_a_ticket_names_its_user_and_its_cookie_does_after_it(web, keytabs, principal, user):
    shown = await web.post(NEW, headers=negotiating(principal, keytabs))
    assert shown.status_code == 200
    assert shown.headers["www-authenticate"].startswith("Negotiate ")
    assert f"u={user}&p={user}&t=kerberos-dt" in shown.headers["set-cookie"]
    again = await web.post(NEW, headers=cookie_of(shown))
    assert again.status_code == 200
    assert "www-authenticate" not in again.headers


async def test_a_ticket_is_good_for_one_request(web, keytabs):
    headers = negotiating(ADA, keytabs)
    assert (await web.get("/cluster", headers=headers)).status_code == 200
    assert (await web.get("/cluster", headers=headers)).status_code == 403


async def test_options_log_in_too_as_java_does(web, keytabs):
    """`KerberosAuthenticator` logs in with OPTIONS and takes the cookie of the answer."""
    shown = await web.options(WHO, headers=negotiating(ADA, keytabs))
    assert shown.status_code == 200
    assert "hadoop.auth=" in shown.headers["set-cookie"]


async def test_principals_of_foreign_realms_are_nobody(web, keytabs):
    refused = await web.get("/cluster", headers=negotiating(BOB, keytabs))
    assert refused.status_code == 403
    assert "No rules applied to bob@" in refused.json()["RemoteException"]["message"]


async def test_cookies_that_named_believed_users_are_not_good(heddle, web):
    for kind in ("simple-dt", "kerberos"):
        forged = Cookies(b"x" * 32, SystemClock(), validity_s=1000, kind=kind).issue("ada")
        assert (await web.get("/cluster", headers={"Cookie": forged.partition(";")[0]})).status_code == 401


async def test_a_proxy_user_acts_for_whom_it_may(web, keytabs):
    shown = await web.post(f"{NEW}?doAs=ada", headers=negotiating(OOZIE, keytabs))
    assert shown.status_code == 200
    refused = await web.post(f"{NEW}?doAs=carl", headers=negotiating(OOZIE, keytabs))
    assert refused.status_code == 403
    assert refused.json()["RemoteException"]["message"] == "User: oozie is not allowed to impersonate carl"


@pytest.mark.parametrize(
    "shown", ["Negotiate", "Negotiate !", "Negotiate YII=", "negotiate TlRMTVNTUAAB", "Basic YTpi"]
)
async def test_what_is_no_ticket_is_refused(web, shown):
    assert (await web.get("/cluster", headers={"Authorization": shown})).status_code in (401, 403)


async def issued(web, keytabs, principal=ADA, more=""):
    answer = await web.get(f"/?op=GETDELEGATIONTOKEN{more}", headers=negotiating(principal, keytabs))
    return answer.json()["Token"]["urlString"]


async def test_a_delegation_token_of_the_web_counts_over_the_web_and_over_rpc(heddle, web, keytabs):
    token = await issued(web, keytabs)
    for shown in ({"headers": {"X-Hadoop-Delegation-Token": token}}, {"params": {"delegation": token}}):
        answer = await web.post(NEW, **shown)
        assert answer.status_code == 200
        assert "set-cookie" not in answer.headers
    async with calling(heddle.client_rpc, by_token(decode_token(token))) as ask:
        assert isinstance(await ask("getNewApplication"), GetNewApplicationResponseProto)


async def test_tokens_are_renewed_and_cancelled_over_the_web(web, keytabs):
    token = await issued(web, keytabs, more="&renewer=oozie")
    renew = {"op": "RENEWDELEGATIONTOKEN", "token": token}
    refused = await web.put("/", params=renew, headers=negotiating(ADA, keytabs))
    assert refused.status_code == 403
    assert (await web.put("/", params=renew, headers=negotiating(OOZIE, keytabs))).json()["long"] > 0
    by_itself = await web.put("/", params=renew, headers={"X-Hadoop-Delegation-Token": token})
    assert by_itself.status_code == 401
    cancel = {"op": "CANCELDELEGATIONTOKEN", "token": token}
    assert (await web.put("/", params=cancel, headers=negotiating(ADA, keytabs))).status_code == 200
    over = await web.post(NEW, headers={"X-Hadoop-Delegation-Token": token})
    assert over.status_code == 403
    assert "cancelled" in over.json()["RemoteException"]["message"]


async def test_a_changed_token_is_refused(web, keytabs):
    token = decode_token(await issued(web, keytabs))
    for part in ("identifier", "password"):
        changed = type(token).FromString(token.SerializeToString())
        setattr(changed, part, bytes([getattr(token, part)[0] ^ 1]) + getattr(token, part)[1:])
        answer = await web.post(NEW, headers={"X-Hadoop-Delegation-Token": encode_token(changed)})
        assert answer.status_code == 403


@pytest.mark.parametrize(
    ("method", "query", "why"),
    [
        ("PUT", "op=GETDELEGATIONTOKEN", "Wrong HTTP method [PUT]"),
        ("GET", "op=RENEWDELEGATIONTOKEN", "Wrong HTTP method [GET]"),
        ("PUT", "op=RENEWDELEGATIONTOKEN", "requires the parameter [token]"),
        ("PUT", "op=CANCELDELEGATIONTOKEN", "requires the parameter [token]"),
    ],
)
async def test_operations_say_what_they_want(web, keytabs, method, query, why):
    answer = await web.request(method, f"/?{query}", headers=negotiating(ADA, keytabs))
    assert answer.status_code == 400
    assert why in answer.text


async def test_curl_negotiates(heddle, kdc, keytabs):
    curl = shutil.which("curl")
    assert curl is not None, "apt-get install curl"
    cache = kdc.ticket(ADA, keytabs[ADA])
    url = heddle.url.replace("127.0.0.1", LOCALHOST)
    command = [curl, "-sS", "--noproxy", "*", "--negotiate", "-u", ":", "-X", "POST", f"{url}{NEW}"]
    run = await asyncio.create_subprocess_exec(
        *command, stdout=-1, stderr=-1, env={**os.environ, **kdc.environment, "KRB5CCNAME": f"FILE:{cache}"}
    )
    out, trouble = await run.communicate()
    assert run.returncode == 0, trouble
    assert "application-id" in json.loads(out)


async def test_yarn_api_client_comes_in_by_ticket(heddle, kdc, keytabs, monkeypatch):
    surroundings = {**kdc.environment, "KRB5CCNAME": f"FILE:{kdc.ticket(ADA, keytabs[ADA])}", "NO_PROXY": "*"}
    for name, value in surroundings.items():
        monkeypatch.setenv(name, value)

    def new_application(auth):
        client = ResourceManager([heddle.url.replace("127.0.0.1", LOCALHOST)], auth=auth)
        return client.request(NEW, "POST").data

    told = await asyncio.to_thread(new_application, HTTPSPNEGOAuth())
    assert told["application-id"].startswith("application_")
    with pytest.raises(Exception, match=r"401|No active RMs"):  # a name alone: the library raises no class of its own
        await asyncio.to_thread(new_application, SimpleAuth("ada"))


async def test_a_keytab_without_its_key_is_told_at_the_start(kerberos, keytabs, tmp_path):
    text = written(tmp_path, keytabs[RM], f'web_principal = "{HTTP}"')
    with pytest.raises(ConfigError, match="web_keytab"):
        async with Heddle(parse(text, source="heddle.toml", environment={})):
            pass


def test_tickets_for_the_web_alone_are_no_configuration(keytabs, tmp_path):
    text = written(tmp_path, keytabs[RM], f'web_principal = "{HTTP}"').replace(f'principal = "{RM}"', "", 1)
    with pytest.raises(ConfigError, match=r"security\.kerberos\.principal: is missing"):
        parse(text, source="heddle.toml", environment={})


async def told(command):
    return await asyncio.to_thread(CliRunner().invoke, app, command)


async def test_verbs_show_the_ticket_of_who_runs_them(heddle, kdc, keytabs, monkeypatch):
    monkeypatch.setenv("KRB5CCNAME", str(kdc.ticket(ADA, keytabs[ADA])))
    server = heddle.url.replace("127.0.0.1", LOCALHOST)
    shown = await told(["cluster", "list", "--server", server])
    assert shown.exit_code == 0, shown.output
    assert "east" in shown.output
    refused = await told(["cluster", "cordon", "east", "--server", server, "--user", "root"])
    assert (refused.exit_code, "ada may not operate" in refused.output) == (6, True)


async def test_programs_show_the_ticket_of_who_runs_them_now_or_awaited(heddle, kdc, keytabs, monkeypatch, tmp_path):
    server = heddle.url.replace("127.0.0.1", LOCALHOST)

    def who():
        with Client(server, auth=Ticket("root")) as client:
            return [client.caller().user, client.caller().user]  # the second time by the cookie

    monkeypatch.setenv("KRB5CCNAME", str(kdc.ticket(ADA, keytabs[ADA])))
    assert await asyncio.to_thread(who) == ["ada", "ada"]
    async with AsyncClient(server, auth=Ticket()) as client:
        assert (await client.caller()).user == "ada"
        assert (await client.rm.new_application())["application-id"].startswith("application_")
    monkeypatch.setenv("KRB5CCNAME", str(tmp_path / "none"))
    with pytest.raises(CredentialsError, match=r"asks for a Kerberos ticket.*kinit"):
        await asyncio.to_thread(who)


async def test_verbs_without_a_ticket_say_how_to_get_one(heddle, monkeypatch, tmp_path):
    monkeypatch.setenv("KRB5CCNAME", str(tmp_path / "none"))
    refused = await told(["cluster", "list", "--server", heddle.url.replace("127.0.0.1", LOCALHOST)])
    assert refused.exit_code == 6
    assert "kinit" in refused.output
