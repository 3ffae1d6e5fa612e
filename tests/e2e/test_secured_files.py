"""HDFS that asks for tickets, behind Heddle: what jobs read and write there, by tokens that ResourceManagers renew."""

import re
import ssl
from collections import Counter
from contextlib import closing
from dataclasses import replace

import httpx
import pytest

from adapters.hdfs import WebAccess, folder_at
from shim.app.kerberos import open_login
from shim.config.kerberos import KerberosConfig
from shim.lab.daemons import FS_SHELL
from shim.lab.hdfs import HDFS, certificate
from shim.lab.spec import LAB_REALM
from shim.lab.word_count import find_texts
from tests.support.client_jars import compile_program, spark_jars
from tests.support.engines import Spark, Tez
from tests.support.heddle_process import until
from tests.support.secured_lab import by_ticket, secured_client, secured_heddle, secured_lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

RUN_JAR = "org.apache.hadoop.util.RunJar"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with secured_lab(tmp_path_factory.mktemp("secured-files"), clusters=2, protection="privacy", hdfs=True) as running:
        yield running


@pytest.fixture(autouse=True, scope="module")
def _left_as_found():
    """The lab ends with its module: nothing in it needs tidying."""


@pytest.fixture(scope="module")
def heddle(lab, tmp_path_factory):
    with secured_heddle(lab, tmp_path_factory.mktemp("heddle")) as running:
        yield running


@pytest.fixture(scope="module")
def files(lab, heddle, tmp_path_factory):
    """Runs a command of the file system's shell, as a user with a ticket."""

    def run(user, *words):
        login = by_ticket(lab, f"{user}@{LAB_REALM}")
        return secured_client(lab, tmp_path_factory.mktemp("files"), heddle, login).run(FS_SHELL, *words)

    return run


@pytest.fixture(scope="module")
def text(files):
    """What is read: a file of ada's that others may read, in a folder of hers."""
    (local,) = find_texts(1)
    files("ada", "-mkdir", "-p", "/user/ada/in")
    files("ada", "-put", str(local), "/user/ada/in/text")
    return local


@pytest.mark.parametrize("user", ["heddle", "somebody"])
def test_its_web_gateway_gives_files_to_heddle_s_ticket_whatever_its_name(lab, text, user, monkeypatch):
    """The NameNode sends on to its DataNode, with a token; both have https with a CA of their own."""
    for variable, value in lab.kdc.environment.items():
        monkeypatch.setenv(variable, value)
    asked = lab.heddle_login
    login = open_login(KerberosConfig(principal=asked.principal, keytab=asked.keytab))
    name_node, data_node = lab.cluster("east").record.layout.file_servers
    trusted = ssl.create_default_context(cafile=certificate(lab.folder / HDFS))
    access = WebAccess(user, (data_node.host,), 5.0, 60.0, tls=lambda: trusted, prove=login.web_proof)
    with closing(login), folder_at(f"swebhdfs://{name_node.web}/user/ada", access).opened() as folder:
        assert folder.names(("in",)) == ["text"]
        assert folder.read(("in", "text"), 10, 90) == text.read_bytes()[10:100]
        assert folder.read(("in", "nothing"), 0, 10) is None
    without = replace(access, prove=None)
    refused = pytest.raises(OSError, match="answers 401")
    with refused, folder_at(f"swebhdfs://{name_node.web}/user/ada", without).opened() as folder:
        folder.names(("in",))


def ended(heddle, printed):
    """Who has run the application that a client has printed, and how it ended."""
    (id_,) = set(re.findall(r"application_\d+_\d+", printed))

    def app():
        return httpx.get(f"{heddle.url}/heddle/v1/apps/{id_}", trust_env=False, timeout=30).json()["app"]

    until(lambda: app()["state"] in {"FINISHED", "FAILED", "KILLED"}, f"{id_} ends: {printed}")
    return app()["user"], app()["finalStatus"]


def counted(printed):
    """Words and their numbers out of what the shell has printed of an output."""
    return {word: int(count) for word, count in re.findall(r"^(\S+)\t(\d+)$", printed, re.MULTILINE)}


def test_map_reduce_reads_and_writes_there(lab, heddle, files, text, tmp_path):
    """Its user is who runs the nodes: without LinuxContainerExecutor these hand shuffle files to nobody else."""
    weaver = secured_client(lab, tmp_path, heddle, by_ticket(lab, f"{lab.administrator}@{LAB_REALM}"))
    jar, out = weaver.jar("hadoop-mapreduce-examples"), f"/user/{lab.administrator}/counted"
    # a client that asks after its master has gone needs a history server: the output tells how the job ended
    printed = weaver.try_run(RUN_JAR, jar, "wordcount", "/user/ada/in", out).stdout
    assert ended(heddle, printed) == (lab.administrator, "SUCCEEDED"), printed
    told = counted(files(lab.administrator, "-cat", f"{out}/part-*"))
    assert told == Counter(word for word in re.split(r"[ \t\n\r\f]+", text.read_text("utf-8")) if word)


@pytest.mark.parametrize("mode", ["cluster", "client"])
def test_spark_reads_and_writes_there(lab, heddle, files, text, mode, tmp_path):
    program = compile_program("SparkWordCount", [spark_jars()], tmp_path)
    spark = Spark(lab, tmp_path / "spark", heddle, by_ticket(lab, f"ada@{LAB_REALM}"))
    more = {"spark.yarn.stagingDir": f"{lab.file_system}/user/ada"}
    out = f"{lab.file_system}/user/ada/out-{mode}"
    printed = spark.submit(mode, program, "/user/ada/in", out, "4", staging=tmp_path, more=more)
    assert ended(heddle, printed) == ("ada", "SUCCEEDED"), printed
    assert counted(files("ada", "-cat", f"{out}/part-*")) == spark.words(text)


def test_tez_reads_and_writes_there(lab, heddle, files, text, tmp_path):
    """Its user is who runs the nodes, as of MapReduce."""
    home = f"/user/{lab.administrator}"
    login = by_ticket(lab, f"{lab.administrator}@{LAB_REALM}")
    tez = Tez(lab, tmp_path, heddle, {"tez.staging-dir": f"{home}/tez"}, login)
    printed = tez.run("orderedwordcount", "/user/ada/in", f"{home}/ordered", 2)
    assert ended(heddle, printed) == (lab.administrator, "SUCCEEDED"), printed
    assert counted(files(lab.administrator, "-cat", f"{home}/ordered/part-*")) == tez.words(text)
