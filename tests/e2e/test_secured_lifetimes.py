"""Jobs of a secured cluster that outlive tickets, tokens and the ResourceManager; life times are short for the test."""

import re
from pathlib import Path

import httpx
import pytest

from shim.lab.spec import LAB_REALM
from tests.support.client_jars import compile_program
from tests.support.heddle_process import until
from tests.support.secured_lab import by_ticket, by_tokens, secured_client, secured_heddle, secured_lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

TOKEN_FILE = str(Path(__file__).parent / "programs" / "TokenFile.java")
TICKET_S, RENEWAL_S = 60, 60
ROLLED = "The AMRMToken has been rolled-over. Send new AMRMToken back to application: "
# the least that a ResourceManager takes: thrice the time in which it gives up a silent ApplicationMaster or node. An
# ApplicationMaster that starts is silent, too: on a busy machine 10 s are not enough for it
ROLLING = {
    "yarn.am.liveness-monitor.expiry-interval-ms": "30000",
    "yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs": "93",
    "yarn.nm.liveness-monitor.expiry-interval-ms": "30000",
    "yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs": "95",
    "yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs": "95",
}
# what a ResourceManager needs of the submitter's configuration to renew a token at Heddle instead of at itself
SENT = r"yarn\.resourcemanager\.(address|principal)|hadoop\.security\..*|hadoop\.rpc\.protection"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A pair of ResourceManagers and a node."""
    folder = tmp_path_factory.mktemp("short-lives")
    with secured_lab(folder, clusters=1, standby=True, overrides={"yarn-site.xml": ROLLING}) as running:
        yield running


@pytest.fixture(autouse=True, scope="module")
def _left_as_found():
    """The lab ends with its module: nothing in it needs tidying."""


@pytest.fixture(scope="module")
def heddle(lab, tmp_path_factory):
    """A Heddle whose own tickets, and the tokens that it issues, are soon over."""
    keytab = lab.kdc.keytab(lab.heddle_login.principal, name="short", most_s=TICKET_S)
    lives = f"[security.delegation_tokens]\nrenewal_s = {RENEWAL_S}\n"
    with secured_heddle(lab, tmp_path_factory.mktemp("before"), more=lives, keytab=keytab) as running:
        yield running


@pytest.fixture(scope="module")
def program(lab, tmp_path_factory):
    return compile_program("SleepingMaps", [lab.cluster("east").jars], tmp_path_factory.mktemp("program"))


def submitted(client, program, until_there, *options):
    """The id of a job whose only map sleeps until a file is there."""
    words = ("SleepingMaps", *options, f"-Dsleeping.until={until_there}", "1", "1", "3600")
    return re.findall(r"application_\d+_\d+", client.run(*words, class_path=str(program)))[0]


def at(lab, daemon, application):
    """What a ResourceManager says of an application; empty if it does not."""
    layout = next(each for each in lab.cluster("east").record.layout.resource_managers if each.name == daemon)
    try:
        answer = httpx.get(f"http://{layout.web}/ws/v1/cluster/apps/{application}", trust_env=False, timeout=30)
    except httpx.HTTPError:
        return {}
    return answer.json()["app"] if answer.status_code == 200 else {}


def until_it_runs(lab, daemon, application, containers=2):
    def runs():
        app = at(lab, daemon, application)
        assert app.get("state") not in {"FINISHED", "FAILED", "KILLED"}, app
        return app.get("runningContainers") == containers

    until(runs, f"{daemon}: {application} runs {containers} containers", within_s=240)


def active(lab):
    """The daemon that is the active ResourceManager, once it says so."""
    found = []

    def is_told():
        found[:] = [name for name, told in lab.reports("east").items() if told.ha_state == "ACTIVE"]
        return bool(found)

    until(is_told, "a ResourceManager says that it is active")
    return found[0]


def answered(heddle, method):
    """How often Heddle has answered a method of its clients well."""
    text = httpx.get(f"{heddle.url}/metrics", trust_env=False, timeout=30).text
    counted = re.search(
        rf'heddle_http_requests_total{{endpoint="{method}",method="RPC",status="200"}} ([0-9.e+]+)', text
    )
    return int(float(counted[1])) if counted else 0


def test_a_job_outlives_its_submitters_ticket_its_own_token_and_the_resource_manager(lab, heddle, program, tmp_path):
    ada = f"ada@{LAB_REALM}"
    ticket = lab.kdc.ticket(ada, lab.kdc.keytab(ada), options=["-l", f"{TICKET_S}s"])
    client = secured_client(lab, tmp_path / "ada", heddle, by_ticket(lab, ada, ticket=ticket))
    application = submitted(client, program, tmp_path / "over")
    until_it_runs(lab, "east-rm1", application)
    until(lambda: not lab.kdc.is_good(ticket), "the submitter's ticket is over")
    rolled = f"{ROLLED}{application}"
    until(lambda: rolled in lab.log("east-rm1").read_text(), "its ApplicationMaster got a new token", within_s=240)

    lab.make_active("east-rm2")
    until_it_runs(lab, "east-rm2", application)
    (tmp_path / "over").touch()

    until(lambda: at(lab, "east-rm2", application).get("state") == "FINISHED", "it has ended")
    assert at(lab, "east-rm2", application)["finalStatus"] == "SUCCEEDED"
    again = secured_client(lab, tmp_path / "again", heddle, by_ticket(lab, ada))
    assert "Final-State : SUCCEEDED" in again.yarn("application", "-status", application)


def test_a_job_without_a_ticket_lives_by_heddles_token_which_its_resource_manager_renews(
    lab, heddle, program, tmp_path
):
    """Its user is who runs the test: a client without a ticket puts files where those of its login are."""
    owner = lab.administrator
    weaver = secured_client(lab, tmp_path / "weaver", heddle, by_ticket(lab, f"{owner}@{LAB_REALM}"))
    tokens = tmp_path / "tokens"
    weaver.run(TOKEN_FILE, "rm", str(tokens))
    holder = secured_client(lab, tmp_path / "holder", heddle, by_tokens(lab, tokens))
    renewed = answered(heddle, "renewDelegationToken")

    application = submitted(holder, program, tmp_path / "over", f"-Dmapreduce.job.send-token-conf={SENT}")
    until_it_runs(lab, active(lab), application)
    until(
        lambda: answered(heddle, "renewDelegationToken") >= renewed + 3, "the token outlives two renewals", within_s=400
    )
    assert "Total number of applications" in holder.yarn("application", "-list")
    (tmp_path / "over").touch()

    until(lambda: at(lab, active(lab), application).get("state") == "FINISHED", "it has ended")
    app = at(lab, active(lab), application)
    assert (app["user"], app["finalStatus"]) == (owner, "SUCCEEDED")
    until(lambda: answered(heddle, "cancelDelegationToken") == 1, "its ResourceManager gives the token back")
    assert holder.try_yarn("application", "-list").returncode != 0


def test_a_token_whose_renewer_is_no_resource_manager_keeps_its_job_out(lab, heddle, program, tmp_path):
    """So it is with tokens of file systems, too: their renewer is whom the client takes for its ResourceManager."""
    ada = secured_client(lab, tmp_path / "ada", heddle, by_ticket(lab, f"ada@{LAB_REALM}"))
    tokens = tmp_path / "tokens"
    ada.run(TOKEN_FILE, "heddle", str(tokens))
    holder = secured_client(lab, tmp_path / "holder", heddle, by_tokens(lab, tokens))
    words = ("SleepingMaps", f"-Dmapreduce.job.send-token-conf={SENT}", "1", "1", "1")

    refused = holder.try_run(*words, class_path=str(program))

    assert refused.returncode != 0
    assert "Failed to renew token" in refused.stdout
    assert "rm tries to renew a token with non-matching renewer heddle" in lab.log(active(lab)).read_text()
