"""A whole Heddle whose clients and operators log in by tickets of a real KDC; its sub-cluster is away."""

from contextlib import asynccontextmanager

import httpx
import pytest
from typer.testing import CliRunner

from adapters.kerberos import KerberosLogin, host_of_this_machine
from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC, addresses_of
from shim.app.bootstrap import Heddle
from shim.app.kerberos import trouble_with
from shim.cli.main import app
from shim.config.loader import parse
from shim.domain.ids import SubClusterId
from shim.errors import ConfigError, NeverReachedError
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.hrpc import JavaClass, QualityOfProtection
from shim.protocol.proto import ADMINISTRATION, APPLICATION_CLIENT, HA_SERVICE
from shim.protocol.proto.messages import (
    CancelDelegationTokenRequestProto,
    GetDelegationTokenRequestProto,
    GetDelegationTokenResponseProto,
    GetNewApplicationResponseProto,
    GetServiceStatusResponseProto,
    RenewDelegationTokenRequestProto,
    RenewDelegationTokenResponseProto,
    YARNDelegationTokenIdentifierProto,
)
from tests.doubles.settings import usual
from tests.support.kdc import LOCALHOST, OTHER_REALM, REALM
from tests.support.ticket_calls import by_ticket, by_token, calling

RM = f"rm/{LOCALHOST}@{REALM}"
ADA, BOB, OOZIE = f"ada@{REALM}", f"bob@{OTHER_REALM}", f"oozie/{LOCALHOST}@{REALM}"
ISSUED = GetDelegationTokenRequestProto(renewer=ADA)
WISH = ISSUED.SerializeToString()


@pytest.fixture(scope="module")
def keytabs(kdc):
    return {principal: kdc.keytab(principal) for principal in (RM, ADA, BOB, OOZIE)}


def written(folder, keytab, more="", principal=RM):
    return f"""
        [server]
        rest = "127.0.0.1:0"
        client_rpc = "127.0.0.1:0"
        scheduler_rpc = ""
        admin_rpc = "127.0.0.1:0"
        answer_within_s = 0.2
        [store]
        url = "sqlite:///{folder}/heddle.db"
        [security.proxyuser.oozie]
        hosts = ["127.0.0.1"]
        users = ["ada"]
        [security.kerberos]
        principal = "{principal}"
        keytab = "{keytab}"
        {more}
        [[subcluster]]
        id = "east"
        web = "http://127.0.0.1:9"
        client_rpc = "127.0.0.1:9"
        admin_rpc = "127.0.0.1:9"
        """


@pytest.fixture
def heddle(kerberos, keytabs, tmp_path):
    """Makes one; `more` is of its section about Kerberos."""
    return lambda more="": Heddle(parse(written(tmp_path, keytabs[RM], more), source="heddle.toml", environment={}))


@pytest.mark.parametrize("protection", ["authentication", "integrity", "privacy"])
async def test_clients_log_in_by_ticket_and_then_by_the_token_that_they_got(heddle, keytabs, protection):
    async with heddle(f'protection = ["{protection}"]') as running:
        async with calling(running.client_rpc, by_ticket(ADA, keytabs[ADA])) as ask:
            assert isinstance(await ask("getNewApplication"), GetNewApplicationResponseProto)
            issued = await ask("getDelegationToken", ISSUED)
            assert isinstance(issued, GetDelegationTokenResponseProto)
            renewed = await ask("renewDelegationToken", RenewDelegationTokenRequestProto(token=issued.token))
            assert isinstance(renewed, RenewDelegationTokenResponseProto)
        async with calling(running.client_rpc, by_token(issued.token)) as ask:
            assert isinstance(await ask("getNewApplication"), GetNewApplicationResponseProto)
            for method, message in (
                ("getDelegationToken", ISSUED),
                ("renewDelegationToken", RenewDelegationTokenRequestProto(token=issued.token)),
                ("cancelDelegationToken", CancelDelegationTokenRequestProto(token=issued.token)),
            ):
                assert "only with kerberos authentication" in (await ask(method, message)).message


async def test_operators_log_in_by_ticket(heddle, keytabs):
    async with heddle() as running, calling(running.admin_rpc, by_ticket(ADA, keytabs[ADA])) as ask:
        status = await ask("getServiceStatus", HA_SERVICE.methods["getServiceStatus"].request(), protocol=HA_SERVICE)
        assert isinstance(status, GetServiceStatusResponseProto)


async def test_a_proxy_user_with_a_ticket_acts_for_whom_it_may(heddle, keytabs):
    async with heddle() as running, calling(running.client_rpc, by_ticket(OOZIE, keytabs[OOZIE])) as ask:
        assert isinstance(await ask("getDelegationToken", ISSUED), GetDelegationTokenResponseProto)
        refused = await ask("getDelegationToken", ISSUED, user="carl")
        assert (refused.java_class, refused.message) == (
            JavaClass.AUTHORIZATION,
            "User: oozie is not allowed to impersonate carl",
        )


@asynccontextmanager
async def logging_in(address, keytab, service=RM):
    """Calls as Heddle itself does towards ResourceManagers: with its own ticket, for others."""
    login = KerberosLogin(OOZIE, keytab)
    rpc = YarnRPC(
        RPCTarget(SubClusterId("heddle"), addresses_of([address])),
        usual(RPCSettings, connect_timeout_s=20.0),
        log_in=login.at(service),
    )
    try:
        yield lambda: rpc.call(RPCCall(APPLICATION_CLIENT.name, "getDelegationToken", WISH, "ada"), timeout_s=60)
    finally:
        await rpc.close()
        login.close()


@pytest.mark.parametrize("service", [RM, f"rm/_HOST@{REALM}"])
async def test_heddles_own_logins_act_for_their_callers(heddle, keytabs, service):
    async with heddle() as running, logging_in(running.client_rpc, keytabs[OOZIE], service) as ask:
        told = await ask()
        token = GetDelegationTokenResponseProto.FromString(told.payload).token
        identifier = YARNDelegationTokenIdentifierProto.FromString(token.identifier)
        assert (identifier.owner, identifier.realUser, identifier.renewer) == ("ada", "oozie", "ada")


async def test_heddle_logs_in_at_none_but_the_service_that_it_knows(kerberos, heddle, keytabs):
    other = f"nn/{LOCALHOST}@{REALM}"
    kerberos.keytab(other)
    async with heddle() as running, logging_in(running.client_rpc, keytabs[OOZIE], other) as ask:
        with pytest.raises(NeverReachedError, match="refuses Heddle's login by ticket: GSS initiate failed"):
            await ask()


async def test_without_a_ticket_nothing_is_sent(heddle, keytabs):
    async with heddle() as running, logging_in(running.client_rpc, keytabs[ADA]) as ask:
        with pytest.raises(NeverReachedError, match=f"to log in as {OOZIE} with .*: write the key anew"):
            await ask()


@pytest.mark.parametrize("server", ["client_rpc", "admin_rpc"])
async def test_a_name_alone_is_not_believed(heddle, server):
    protocol, method = (
        (APPLICATION_CLIENT, "getNewApplication") if server == "client_rpc" else (ADMINISTRATION, "refreshQueues")
    )
    async with heddle() as running, calling(getattr(running, server), None) as ask:
        refused = await ask(method, protocol=protocol)
        assert refused.java_class == JavaClass.ACCESS_CONTROL
        assert "SIMPLE authentication is not enabled.  Available:[" in refused.message


async def test_a_name_is_believed_where_that_is_configured_but_gets_no_token(heddle, keytabs):
    async with heddle("allow_simple = true") as running:
        async with calling(running.client_rpc, None) as ask:
            assert isinstance(await ask("getNewApplication"), GetNewApplicationResponseProto)
            assert "only with kerberos" in (await ask("getDelegationToken", ISSUED)).message
        async with calling(running.client_rpc, by_ticket(ADA, keytabs[ADA])) as ask:
            assert isinstance(await ask("getDelegationToken", ISSUED), GetDelegationTokenResponseProto)


async def test_another_realm_is_let_in_where_that_is_configured(heddle, keytabs):
    async with heddle() as running, calling(running.client_rpc, by_ticket(BOB, keytabs[BOB])) as ask:
        refused = await ask("getNewApplication", user="bob")
        assert refused.java_class == JavaClass.AUTHORIZATION
        assert refused.message.startswith(f"No rules applied to {BOB}")
    async with (
        heddle(f'realms = ["{OTHER_REALM}"]') as running,
        calling(running.client_rpc, by_ticket(BOB, keytabs[BOB])) as ask,
    ):
        assert isinstance(await ask("getNewApplication", user="bob"), GetNewApplicationResponseProto)


async def test_a_client_that_wants_less_protection_is_not_served(heddle, keytabs):
    only_a_login = by_ticket(ADA, keytabs[ADA], (QualityOfProtection.AUTH,))
    async with heddle('protection = ["privacy"]') as running, calling(running.client_rpc, only_a_login) as ask:
        with pytest.raises(Exception, match="no common protection level"):
            await ask("getNewApplication")


async def test_the_doctor_tells_of_a_keytab_that_was_spoilt_since_the_start(kerberos, tmp_path):
    principal = f"sick/{LOCALHOST}@{REALM}"
    keytab = kerberos.keytab(principal, name="sick")
    text = written(tmp_path, keytab, principal=principal)
    async with Heddle(parse(text, source="heddle.toml", environment={})) as running:
        assert await found(running.url) == {"ok"}
        keytab.unlink()
        assert await found(running.url) == {"error"}


async def found(url, check="kerberos"):
    async with httpx.AsyncClient(trust_env=False) as client:
        findings = (await client.get(f"{url}/heddle/v1/doctor")).json()["findings"]
    return {finding["level"] for finding in findings if finding["check"] == check}


async def test_the_doctor_tells_of_a_keytab_that_others_may_read(kerberos, tmp_path):
    principal = f"open/{LOCALHOST}@{REALM}"
    keytab = kerberos.keytab(principal)
    text = written(tmp_path, keytab, principal=principal)
    async with Heddle(parse(text, source="heddle.toml", environment={})) as running:
        keytab.chmod(0o640)
        assert await found(running.url) == {"error"}


async def test_the_doctor_asks_the_kdc_for_a_ticket(kerberos, tmp_path):
    principal = f"rekeyed/{LOCALHOST}@{REALM}"
    keytab = kerberos.keytab(principal)
    text = written(tmp_path, keytab, principal=principal)
    async with Heddle(parse(text, source="heddle.toml", environment={})) as running:
        assert await found(running.url, "kdc") == {"ok"}
        kerberos.keytab(principal)
        assert await found(running.url) == {"ok"}, "there is a key of the principal, and it is an old one"
        assert await found(running.url, "kdc") == {"error"}


def test_what_host_stands_for_is_told_beside_the_names_that_the_keytab_has(kerberos, tmp_path):
    keytab = kerberos.keytab(f"rm/elsewhere@{REALM}")
    kerberos_section = parse(
        written(tmp_path, keytab, principal=f"rm/_HOST@{REALM}"), source="heddle.toml", environment={}
    ).security.kerberos
    told = trouble_with(kerberos_section)
    assert f"as rm/{host_of_this_machine()}@{REALM}" in told
    assert told.endswith(f"it has keys of rm/elsewhere@{REALM}")


async def test_it_does_not_start_with_a_keytab_that_it_cannot_use(kerberos, keytabs, tmp_path):
    broken = Heddle(parse(written(tmp_path, keytabs[ADA]), source="heddle.toml", environment={}))
    with pytest.raises(ConfigError, match=f"No key table entry found for {RM}"):
        await broken.__aenter__()


@pytest.mark.parametrize(
    ("of", "code", "told"), [(RM, 0, "in order"), (ADA, 2, f"No key table entry found for {RM}")], ids=["good", "bad"]
)
def test_the_keytab_is_looked_at_by_serve_check(kerberos, keytabs, tmp_path, of, code, told):
    file = tmp_path / "heddle.toml"
    file.write_text(written(tmp_path, keytabs[of]))
    result = CliRunner().invoke(app, ["serve", "--check", "-c", str(file)])

    assert (result.exit_code, told in result.output.replace("\n", " ")) == (code, True), result.output
