"""HDFS in a lab's configuration."""

from dataclasses import replace

import pytest

from shim.errors import LabError
from shim.lab.hdfs import file_properties, principals, server_properties, uri
from shim.lab.layout import lay_out
from shim.lab.spec import LabSpec

REALMS = ("ONE.LAB", "OTHER.LAB")
SERVERS = lay_out(LabSpec.of(hdfs=True), base_port=20_000, first_octet=10)[0].file_servers


def test_clusters_and_clients_name_it_and_stage_there():
    found = file_properties(SERVERS, REALMS)
    assert found["core-site.xml"]["fs.defaultFS"] == uri(SERVERS) == "hdfs://127.0.0.1:20020"
    assert found["hdfs-site.xml"]["dfs.namenode.kerberos.principal"] == "hdfs/namenode.one.lab@ONE.LAB"
    assert found["mapred-site.xml"]["yarn.app.mapreduce.am.staging-dir"] == "/user"


def test_without_it_files_are_the_machines():
    assert file_properties((), REALMS) == {}
    assert uri(()) == "file:///"


def test_whoever_uses_it_protects_data_as_its_servers_do(tmp_path):
    servers = server_properties(SERVERS, REALMS, tmp_path, tmp_path / "keys")["hdfs-site.xml"]
    for name, value in file_properties(SERVERS, REALMS)["hdfs-site.xml"].items():
        assert servers[name] == value
    assert servers["dfs.http.policy"] == "HTTPS_ONLY", "without privileged ports a DataNode takes nothing else"


def test_its_pages_have_a_principal_of_each_name_that_callers_know_them_by(tmp_path):
    servers = [replace(each, host=host) for each, host in zip(SERVERS, ("10.9.8.7", "10.9.8.8"), strict=True)]
    assert {"HTTP/10.9.8.7@ONE.LAB", "HTTP/10.9.8.8@ONE.LAB"} <= set(principals("ONE.LAB", servers))
    tables = server_properties(servers, REALMS, tmp_path, tmp_path / "keys")
    site = tables["hdfs-site.xml"]
    assert site["dfs.web.authentication.kerberos.principal"] == "*"
    assert tables["core-site.xml"]["hadoop.http.authentication.type"] == "kerberos", "else they believe names there"
    assert site["dfs.datanode.hostname"] == "10.9.8.8", "where readers are sent"


def test_what_heddle_is_named_for_resource_managers_renew(tmp_path):
    rules = server_properties(SERVERS, REALMS, tmp_path, tmp_path / "keys")["core-site.xml"]
    assert rules["hadoop.security.auth_to_local"].startswith(r"RULE:[2:$1@$0](heddle@ONE\.LAB)s/.*/rm/")


def test_where_names_are_believed_it_asks_for_no_tickets(tmp_path):
    found = server_properties(SERVERS, (), tmp_path, tmp_path / "keys")
    assert "ssl-server.xml" not in found
    assert not any("kerberos" in name or "keytab" in name for table in found.values() for name in table)


def test_all_clusters_are_secured_with_it_or_none():
    assert LabSpec.of(hdfs=True, realm="ONE.LAB").daemons == LabSpec.of(realm="ONE.LAB").daemons + 2
    with pytest.raises(LabError, match="of no use to west"):
        LabSpec.of(hdfs=True, realm="east=ONE.LAB")
