"""Hadoop's own `yarn` command with a ticket of a real KDC, unmodified, at Heddle's doors."""

import pytest

from tests.e2e.conftest import HeddleThread
from tests.support.kdc import OTHER_REALM, REALM
from tests.support.stock_client import StockClient

pytestmark = pytest.mark.lab

RM = f"rm/localhost@{REALM}"
ADA, BOB = f"ada@{REALM}", f"bob@{OTHER_REALM}"


@pytest.fixture(scope="module")
def keytabs(kdc):
    return {principal: kdc.keytab(principal) for principal in (RM, ADA, BOB)}


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
        principal = "{RM}"
        keytab = "{keytabs[RM]}"
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

    def make(principal=ADA, *, authentication="kerberos", protection="authentication"):
        cache = kdc.folder / "none" if principal is None else kdc.ticket(principal, keytabs[principal])
        made = StockClient(
            lab,
            tmp_path_factory.mktemp("client"),
            secured,
            admin_address=secured.admin_rpc,
            options=[f"-Djava.security.krb5.conf={kdc.krb5_conf}"],
            environment={"KRB5CCNAME": str(cache)},
            more={"yarn.resourcemanager.principal": RM, "yarn.client.failover-max-attempts": "1"},
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
