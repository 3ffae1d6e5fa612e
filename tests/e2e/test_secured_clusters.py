"""Whole secured clusters behind Heddle: unmodified clients submit by ticket, jobs run to their end, each protection."""

import re
from collections import Counter

import httpx
import pytest

from shim.lab.spec import LAB_REALM, PROTECTIONS
from shim.lab.word_count import find_texts
from tests.support.client_jars import compile_program, spark_jars
from tests.support.engines import Spark, Tez, output_lines
from tests.support.heddle_process import until
from tests.support.secured_lab import by_ticket, secured_client, secured_heddle, secured_lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

CLUSTERS = dict(zip(PROTECTIONS, ("east", "west", "north"), strict=True))
"""The cluster of each protection."""

IN_PRIVATE = pytest.mark.parametrize("protection", ["privacy"], indirect=True, scope="module")
"""What takes long is run with the protection that asks most."""

RUN_JAR = "org.apache.hadoop.util.RunJar"
SHELL = "org.apache.hadoop.yarn.applications.distributedshell.Client"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    written = ",".join(f"{id_}={protection}" for protection, id_ in CLUSTERS.items())
    with secured_lab(tmp_path_factory.mktemp("secured-lab"), clusters=3, protection=written) as running:
        yield running


@pytest.fixture(autouse=True, scope="module")
def _left_as_found():
    """The lab ends with its module: nothing in it needs tidying."""


@pytest.fixture(scope="module", params=PROTECTIONS)
def protection(request):
    return request.param


@pytest.fixture(scope="module")
def heddle(lab, protection, tmp_path_factory):
    folder = tmp_path_factory.mktemp(f"before-{protection}")
    with secured_heddle(lab, folder, clusters=[CLUSTERS[protection]]) as running:
        yield running


@pytest.fixture
def client(lab, heddle, tmp_path):
    def make(user):
        return secured_client(lab, tmp_path / user, heddle, by_ticket(lab, f"{user}@{LAB_REALM}"))

    return make


@pytest.fixture(scope="module")
def spark_program(tmp_path_factory):
    return compile_program("SparkWordCount", [spark_jars()], tmp_path_factory.mktemp("program"))


def of_cluster(lab, protection, printed):
    """What the cluster's own ResourceManager says of the application that a client has printed."""
    (id_,) = set(re.findall(r"application_\d+_\d+", printed))
    answer = httpx.get(f"{lab.cluster(CLUSTERS[protection]).url}/ws/v1/cluster/apps/{id_}", trust_env=False, timeout=30)
    return answer.json()["app"]


def test_a_distributed_shell_runs_its_commands(lab, protection, client):
    ada = client("ada")
    jar = ada.jar("hadoop-yarn-applications-distributedshell")

    printed = ada.run(SHELL, "-jar", jar, "-shell_command", "hostname", "-num_containers", "2")

    assert "Application completed successfully" in printed
    app = of_cluster(lab, protection, printed)
    assert (app["user"], app["finalStatus"]) == ("ada", "SUCCEEDED")


def test_map_reduce_counts_words(lab, protection, client, tmp_path):
    """Its user is who runs the nodes: without LinuxContainerExecutor these hand shuffle files to nobody else."""
    weaver = client(lab.administrator)
    text = find_texts(1)[0]
    jar = weaver.jar("hadoop-mapreduce-examples")

    # a client that asks after its master has gone needs a history server: the output tells how the job ended
    printed = weaver.try_run(RUN_JAR, jar, "wordcount", text.as_uri(), (tmp_path / "out").as_uri()).stdout

    lines = [line for part in tmp_path.glob("out/part-r-*") for line in part.read_text().split("\n") if line]
    counted = {word: int(count) for word, _, count in (line.rpartition("\t") for line in lines)}
    assert counted == Counter(word for word in re.split(r"[ \t\n\r\f]+", text.read_text()) if word)
    (id_,) = set(re.findall(r"application_\d+_\d+", printed))
    app = of_cluster(lab, protection, id_)
    assert (app["user"], app["finalStatus"]) == (lab.administrator, "SUCCEEDED")


@IN_PRIVATE
def test_spark_counts_words(lab, protection, heddle, spark_program, tmp_path):
    (text,) = find_texts(1)
    spark = Spark(lab, tmp_path / "spark", heddle, by_ticket(lab, f"ada@{LAB_REALM}"))

    printed = spark.submit("cluster", spark_program, text.as_uri(), (tmp_path / "out").as_uri(), "4", staging=tmp_path)

    assert spark.counted(tmp_path / "out") == spark.words(text), printed
    (id_,) = set(re.findall(r"application_\d+_\d+", printed))
    assert of_cluster(lab, protection, id_)["user"] == "ada"


@IN_PRIVATE
def test_tez_counts_words_and_sorts_them(lab, heddle, tmp_path):
    """Its user is who runs the nodes, as of MapReduce."""
    (text,) = find_texts(1)
    tez = Tez(lab, tmp_path / "tez", heddle, login=by_ticket(lab, f"{lab.administrator}@{LAB_REALM}"))

    printed = tez.run("orderedwordcount", text, tmp_path / "out", 2)

    told = [(word, int(count)) for word, _, count in (line.rpartition("\t") for line in output_lines(tmp_path / "out"))]
    assert dict(told) == tez.words(text), printed


_LATE = "no answer to"


def proxy_rights(heddle):
    """What the doctor finds of Heddle's right to act for others, once it has heard of the cluster."""
    found = []

    def is_told():
        findings = httpx.get(f"{heddle.url}/heddle/v1/doctor", trust_env=False, timeout=60).json()["findings"]
        # no answer in time is none to the question
        found[:] = [each for each in findings if each["check"] == "proxy rights" and _LATE not in each["message"]]
        return bool(found)

    until(is_told, "the doctor tells of the right to act for others")
    (finding,) = found
    return finding


def test_the_doctor_asks_the_cluster_whether_heddle_may_act_there(heddle):
    assert proxy_rights(heddle)["level"] == "ok"


def test_the_doctor_names_a_cluster_that_lets_heddle_act_for_nobody(lab, tmp_path):
    principal = f"stranger/front@{LAB_REALM}"
    keytab = lab.kdc.keytab(principal)
    with secured_heddle(lab, tmp_path, clusters=["east"], principal=principal, keytab=keytab) as without_rights:
        finding = proxy_rights(without_rights)
    assert (finding["level"], finding["cluster"]) == ("error", "east")
    assert finding["message"].endswith("is not allowed to impersonate heddle-doctor")
    assert "hadoop.proxyuser.stranger.hosts" in finding["advice"]
