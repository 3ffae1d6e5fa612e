"""Applications with containers in several secured clusters: of one realm, and of two that trust each other."""

import pytest

from tests.support.secured_lab import by_ticket, secured_client, secured_heddle, secured_lab
from tests.support.spanning import PATIENT, SpanningApplication, spanning_secret

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

ONE, OTHER = "ONE.LAB", "OTHER.LAB"
RUN_JAR = "org.apache.hadoop.util.RunJar"
SHELL = "org.apache.hadoop.yarn.applications.distributedshell.Client"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    realms = f"east={ONE},west={ONE},north={OTHER}"
    with secured_lab(tmp_path_factory.mktemp("two-realms"), clusters=3, realm=realms) as running:
        yield running


@pytest.fixture(autouse=True, scope="module")
def _left_as_found():
    """The lab ends with its module: nothing in it needs tidying."""


@pytest.fixture(scope="module", params=[("east", "west"), ("east", "north")], ids=["one realm", "two realms"])
def clusters(request):
    return request.param


@pytest.fixture(scope="module")
def heddle(lab, clusters, tmp_path_factory):
    """A Heddle of the first realm over two clusters; its default queue spans."""
    folder = tmp_path_factory.mktemp("-".join(clusters))
    with spanning_secret(folder), secured_heddle(lab, folder, clusters=clusters, more=PATIENT) as running:
        yield running


def test_a_distributed_shell_runs_its_commands_in_both(lab, clusters, heddle, tmp_path):
    """Heddle registers in the second cluster as the application's user, by its proxy rights there."""
    ada = secured_client(lab, tmp_path / "ada", heddle, by_ticket(lab, f"ada@{ONE}"))
    site = ada.folder / "yarn-site.xml"
    site.write_text(site.read_text().replace("<value>$HADOOP_CONF_DIR,", f"<value>{ada.folder},"))
    jar = ada.jar("hadoop-yarn-applications-distributedshell")

    printed = ada.run(SHELL, "-jar", jar, "-shell_command", "sleep", "-shell_args", "3", "-num_containers", "6")

    assert "Application completed successfully" in printed
    spanned = SpanningApplication.printed(lab, heddle, printed)
    places = spanned.places()
    assert places.keys() == set(clusters), printed
    assert sum(places.values()) == 7, "six commands and their master, no container more"
    assert {spanned.at(cluster)["user"] for cluster in clusters} == {"ada"}
    spanned.has_ended_everywhere()


def test_map_reduce_of_a_user_of_either_realm_shuffles_across_both(lab, clusters, heddle, tmp_path):
    """Its user is who runs the nodes, which hand shuffle files to nobody else (see `shim.lab.secured_conf`)."""
    realm = lab.cluster(clusters[1]).record.spec.realm
    weaver = secured_client(lab, tmp_path / "weaver", heddle, by_ticket(lab, f"{lab.administrator}@{realm}"))

    printed = weaver.try_run(RUN_JAR, weaver.jar("hadoop-mapreduce-examples"), "pi", "8", "10").stdout

    # a client that asks after its master has gone needs a history server
    assert "Estimated value of Pi is 3" in printed or "ClientServiceDelegate" in printed, printed
    spanned = SpanningApplication.printed(lab, heddle, printed)
    spanned.has_succeeded()
    assert spanned.places().keys() == set(clusters), printed
    spanned.has_ended_everywhere()
