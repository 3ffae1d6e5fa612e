"""Hadoop's own programs and tickets of a real KDC: the `yarn` command at Heddle, Heddle at a ResourceManager."""

from collections.abc import Callable
from contextlib import contextmanager

import httpx
import pytest

from shim.lab.processes import wait_until
from shim.protocol.proto.messages import (
    ApplicationSubmissionContextProto,
    ContainerLaunchContextProto,
    GetApplicationsRequestProto,
    GetClusterMetricsRequestProto,
    KillApplicationRequestProto,
    KillApplicationResponseProto,
    ResourceProto,
    SubmitApplicationRequestProto,
    SubmitApplicationResponseProto,
)
from tests.e2e.conftest import HeddleThread
from tests.support.kdc import LOCALHOST, OTHER_REALM, REALM
from tests.support.secure_rm import SecureResourceManager
from tests.support.stock_client import StockClient
from tests.support.ticket_calls import by_ticket, calling

pytestmark = pytest.mark.lab

RM, HEDDLE = f"rm/{LOCALHOST}@{REALM}", f"heddle/{LOCALHOST}@{REALM}"
HTTP = f"HTTP/{LOCALHOST}@{REALM}"
ADA, BOB = f"ada@{REALM}", f"bob@{OTHER_REALM}"


@pytest.fixture(scope="module")
def keytabs(kdc):
    return {principal: kdc.keytab(principal) for principal in (RM, HEDDLE, HTTP, ADA, BOB)}


@pytest.fixture(scope="module")
def secured(lab, kdc, keytabs, tmp_path_factory):
    """A Heddle in front of the shared lab that believes no names, with every protection on offer."""
    folder = tmp_path_factory.mktemp("secured")
    text = f"""
        [server]
        rest = "127.0.0.1:0"
        client_rpc = "127.0.0.1:0"
        scheduler_rpc = ""
        admin_rpc = "127.0.0.1:0"
        [store]
        url = "sqlite:///{folder}/heddle.db"
        [security.kerberos]
        principal = "{HEDDLE}"
        keytab = "{keytabs[HEDDLE]}"
        protection = ["authentication", "integrity", "privacy"]
        """ + "".join(f'[[subcluster]]\nid = "{id_}"\nconf = "{each.conf_dir}"\n' for id_, each in lab.clusters.items())
    with pytest.MonkeyPatch.context() as patch:
        for name, value in kdc.environment.items():
            patch.setenv(name, value)
        with HeddleThread(text) as running:
            yield running


@pytest.fixture(scope="module")
def client(lab, kdc, keytabs, secured, tmp_path_factory):
    """Makes one: as whom (None has no ticket), with which protection."""

    def make(principal=ADA, *, authentication="kerberos", protection="authentication", server=secured):
        cache = kdc.folder / "none" if principal is None else kdc.ticket(principal, keytabs[principal])
        made = StockClient(
            lab,
            tmp_path_factory.mktemp("client"),
            server,
            admin_address=server.admin_rpc,
            options=[f"-Djava.security.krb5.conf={kdc.krb5_conf}"],
            environment={"KRB5CCNAME": str(cache)},
            more={"yarn.resourcemanager.principal": HEDDLE, "yarn.resourcemanager.connect.max-wait.ms": "1000"},
        )
        made.set(
            "core-site.xml",
            {"hadoop.security.authentication": authentication, "hadoop.rpc.protection": protection},
        )
        return made

    return make


@pytest.mark.parametrize("protection", ["authentication", "integrity", "privacy"])
def test_the_nodes_of_both_clusters_are_listed(client, protection):
    assert "Total Nodes:4" in client(protection=protection).yarn("node", "-list", "-all")


def test_applications_are_listed_and_queues_are_reloaded(client):
    with_ticket = client()

    assert "Total number of applications" in with_ticket.yarn("application", "-list")
    with_ticket.yarn("rmadmin", "-refreshQueues")


@pytest.mark.parametrize(
    ("principal", "authentication", "told"),
    [
        (None, "kerberos", "Client cannot authenticate via:[TOKEN, KERBEROS]"),
        (None, "simple", "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]"),
        (BOB, "kerberos", f"No rules applied to {BOB}"),
    ],
    ids=["no ticket", "a name", "another realm"],
)
def test_nobody_else_is_let_in(client, principal, authentication, told):
    done = client(principal, authentication=authentication).try_yarn("node", "-list")

    assert done.returncode != 0
    assert told in done.stdout


@contextmanager
def in_front_of_a_secure_cluster(lab, kdc, keytabs, folder, web=None):
    """A Heddle in front of a ResourceManager that believes no names either."""
    with (
        pytest.MonkeyPatch.context() as patch,
        SecureResourceManager(lab, folder, kdc, RM, keytabs[RM], "heddle", web=web) as manager,
    ):
        for name, value in kdc.environment.items():
            patch.setenv(name, value)
        text = f"""
            [server]
            rest = "127.0.0.1:0"
            client_rpc = "127.0.0.1:0"
            scheduler_rpc = "127.0.0.1:0"
            admin_rpc = "127.0.0.1:0"
            [store]
            url = "sqlite:///{folder}/heddle.db"
            [security.kerberos]
            principal = "{HEDDLE}"
            keytab = "{keytabs[HEDDLE]}"
            [[subcluster]]
            id = "secure"
            conf = "{manager.conf_dir}"
            principal = "rm/_HOST@{REALM}"
            """
        with HeddleThread(text) as running:
            yield running, manager


@pytest.fixture(scope="module")
def before_a_secure_cluster(lab, kdc, keytabs, tmp_path_factory):
    with in_front_of_a_secure_cluster(lab, kdc, keytabs, tmp_path_factory.mktemp("secure-cluster")) as (running, _):
        yield running


async def test_a_secure_cluster_does_what_who_came_by_ticket_asks(keytabs, before_a_secure_cluster):
    """Its ResourceManager is told by Heddle's ticket, and knows whom Heddle acts for."""
    async with calling(before_a_secure_cluster.client_rpc, by_ticket(ADA, keytabs[ADA])) as ask:
        metrics = await ask("getClusterMetrics", GetClusterMetricsRequestProto())
        assert metrics.cluster_metrics.num_node_managers == 0
        new = await ask("getNewApplication")
        context = ApplicationSubmissionContextProto(
            application_id=new.application_id,
            application_name="by ticket",
            unmanaged_am=True,
            am_container_spec=ContainerLaunchContextProto(),
            resource=ResourceProto(memory=128, virtual_cores=1),
        )
        submitted = await ask(
            "submitApplication", SubmitApplicationRequestProto(application_submission_context=context)
        )
        assert isinstance(submitted, SubmitApplicationResponseProto), submitted
        listed = await ask("getApplications", GetApplicationsRequestProto())
        (report,) = listed.applications
        assert (report.user, report.name) == ("ada", "by ticket")
        killed = await ask("forceKillApplication", KillApplicationRequestProto(application_id=new.application_id))
        assert isinstance(killed, KillApplicationResponseProto), killed


def test_the_yarn_command_and_a_secure_cluster_meet_through_heddle(client, before_a_secure_cluster):
    ada = client(server=before_a_secure_cluster)

    assert "Total number of applications" in ada.yarn("application", "-list", "-appStates", "ALL")
    ada.yarn("rmadmin", "-refreshQueues")


def until_ok(ask: Callable[[], httpx.Response], *, within_s: float) -> httpx.Response:
    """The first answer of 200; the last one's text if none came in time."""
    answers: list[httpx.Response] = []

    def is_ok() -> bool:
        answers.append(ask())
        return answers[-1].status_code == 200

    assert wait_until(is_ok, timeout_s=within_s), answers[-1].text
    return answers[-1]


def test_web_services_of_a_cluster_that_ask_for_tickets_are_a_full_members(lab, kdc, keytabs, tmp_path):
    """Polls, a submission, its page, a kill: by Heddle's ticket, in the name of who asked."""
    apps = "/ws/v1/cluster/apps"
    with (
        in_front_of_a_secure_cluster(lab, kdc, keytabs, tmp_path, (HTTP, keytabs[HTTP])) as (running, manager),
        httpx.Client(base_url=running.url, params={"user.name": "ada"}, trust_env=False, timeout=60) as web,
    ):
        assert httpx.get(f"{manager.url}{apps}?user.name=ada", trust_env=False, timeout=30).status_code == 401
        assert wait_until(lambda: web.get("/ws/v1/cluster/metrics").status_code == 200, timeout_s=60)
        new = web.post(f"{apps}/new-application").json()["application-id"]
        context = {
            "application-id": new,
            "application-name": "by ticket",
            "unmanaged-AM": True,
            "am-container-spec": {"commands": {"command": "sleep 1"}},
            "resource": {"memory": 128, "vCores": 1},
        }
        taken = web.post(apps, json=context)
        assert taken.status_code == 202, taken.text
        # 202 is Heddle's word; where its home was slow to answer, it has the application a moment later
        at_home = until_ok(lambda: web.get(f"{apps}/{new}", params={"cluster": "secure"}), within_s=240).json()["app"]
        assert (at_home["user"], at_home["name"]) == ("ada", "by ticket")
        assert web.put(f"{apps}/{new}/state", json={"state": "KILLED"}).status_code in (200, 202)
