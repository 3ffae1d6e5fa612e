import pytest

from adapters.yarn.configuration import HadoopProperties, read_folder
from shim.errors import ConfigError
from tests.support.hadoop_folders import ENVIRONMENT, FOLDERS, recorded, write_folder


def write(folder, properties, name="yarn-site.xml", *, final=()):
    rows = "".join(
        f"<property><name>{key}</name><value>{value}</value>{'<final>true</final>' if key in final else ''}</property>"
        for key, value in properties.items()
    )
    (folder / name).write_text(f'<?xml version="1.0"?><configuration>{rows}</configuration>')
    return folder


RM = "yarn.resourcemanager"


def test_a_host_name_is_enough(tmp_path):
    found = read_folder(write(tmp_path, {f"{RM}.hostname": "rm1"}))
    assert found.web == ("http://rm1:8088",)
    assert (found.client_rpc, found.scheduler_rpc, found.admin_rpc) == (("rm1:8032",), ("rm1:8030",), ("rm1:8033",))
    assert (found.rm_ids, found.epoch, found.has_acls, found.recovers) == ((), 0, False, False)


@pytest.mark.parametrize(
    ("properties", "lacks"),
    [
        ({}, f"{RM}.hostname"),
        ({"x": "1"}, f"{RM}.hostname"),
        ({f"{RM}.address": "rm1:8032"}, f"{RM}.webapp.address"),
        ({f"{RM}.hostname": "rm1", f"{RM}.ha.enabled": "true", f"{RM}.ha.rm-ids": "a,b"}, f"{RM}.hostname.a"),
    ],
)
def test_a_folder_that_names_no_address_is_refused(tmp_path, properties, lacks):
    with pytest.raises(ConfigError, match="is not named by") as caught:
        read_folder(write(tmp_path, properties))
    assert lacks in str(caught.value)


def test_this_machine_is_meant_by_who_names_it(tmp_path):
    assert read_folder(write(tmp_path, {f"{RM}.hostname": "0.0.0.0"})).web == ("http://127.0.0.1:8088",)  # noqa: S104 - Hadoop's word for it


def test_addresses_go_before_host_names_and_need_no_port(tmp_path):
    found = read_folder(
        write(tmp_path, {f"{RM}.hostname": "rm1", f"{RM}.webapp.address": "web", f"{RM}.address": "c:1"})
    )
    assert (found.web, found.client_rpc) == (("http://web:8088",), ("c:1",))


def test_https_has_addresses_of_its_own(tmp_path):
    properties = {"yarn.http.policy": "HTTPS_ONLY", f"{RM}.hostname": "rm1", f"{RM}.webapp.address": "rm1:1"}
    assert read_folder(write(tmp_path, properties)).web == ("https://rm1:8090",)
    properties[f"{RM}.webapp.https.address"] = "rm1:2"
    assert read_folder(write(tmp_path, properties)).web == ("https://rm1:2",)


def test_under_ha_there_is_one_address_for_each_id_in_their_order(tmp_path):
    properties = {f"{RM}.ha.enabled": "true", f"{RM}.ha.rm-ids": "b, a,", f"{RM}.hostname.a": "rma"}
    properties |= {f"{RM}.hostname.b": "rmb", f"{RM}.webapp.address.b": "rmb:99"}
    found = read_folder(write(tmp_path, properties))
    assert found.rm_ids == ("b", "a")
    assert found.web == ("http://rmb:99", "http://rma:8088")
    assert found.scheduler_rpc == ("rmb:8030", "rma:8030")
    assert found.admin_rpc == ("rmb:8033", "rma:8033")


NAMED_NOWHERE = "0.0.0.0:"


@pytest.mark.parametrize("form", FOLDERS)
def test_a_folder_is_read_as_hadoop_reads_it(tmp_path, form):
    """What Hadoop's classes fail on is refused; so is an address of this machine that nobody has named."""
    told = recorded()[form]
    folder = write_folder(tmp_path / "conf", FOLDERS[form])
    if told["is_read"] == "!":
        with pytest.raises(ConfigError):
            HadoopProperties(folder, ENVIRONMENT)
        return
    properties = HadoopProperties(folder, ENVIRONMENT)
    for field, name in (("x", "x"), ("hostname", f"{RM}.hostname")):
        if told[field] == "!":
            with pytest.raises(ConfigError):
                properties.get(name)
        else:
            assert properties.get(name) == told[field]
    service = "web_tls" if told["is_https"] == "true" else "web"
    services = (told["client_rpc"], told["scheduler_rpc"], told[service], told["epoch"])
    if any(each == "!" or (each or "").startswith(NAMED_NOWHERE) for each in services) or told["has_ha"] == "true":
        with pytest.raises(ConfigError):
            read_folder(folder, environment=ENVIRONMENT)
        return
    found = read_folder(folder, environment=ENVIRONMENT)
    assert found.web == (f"https://{told['web_tls']}" if service == "web_tls" else f"http://{_as_given(told['web'])}",)
    assert (found.client_rpc, found.scheduler_rpc) == ((told["client_rpc"],), (told["scheduler_rpc"],))
    assert (str(found.has_acls).lower(), str(found.epoch)) == (told["has_acls"], told["epoch"])


def _as_given(address):
    """Java writes out an address of IP version 6."""
    return address.replace("0:0:0:0:0:0:0:1:", "[::1]:")


def test_includes_are_of_this_machine_and_not_endless(tmp_path):
    for href, message in (("http://rm.corp/x.xml", "on another machine"), ("yarn-site.xml", "include each other")):
        text = f'<configuration><include href="{href}"/></configuration>'
        (tmp_path / "yarn-site.xml").write_text(text)
        with pytest.raises(ConfigError, match=message):
            read_folder(tmp_path)


def test_entities_do_not_grow_without_end(tmp_path):
    grown = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    text = f'<!DOCTYPE c [<!ENTITY e0 "x">{grown}]><configuration><name>&e11;</name></configuration>'
    (tmp_path / "yarn-site.xml").write_text(text)
    with pytest.raises(ConfigError, match="is not XML"):
        read_folder(tmp_path)


def test_nothing_is_fetched_for_a_document_type(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("rm.secret")
    text = (
        f'<!DOCTYPE c [<!ENTITY e SYSTEM "{secret}">]><configuration><property><name>{RM}.hostname</name>'
        "<value>a&e;</value></property></configuration>"
    )
    (tmp_path / "yarn-site.xml").write_text(text)
    with pytest.raises(ConfigError, match="is not XML") as refused:
        read_folder(tmp_path)
    assert "rm.secret" not in str(refused.value)


def test_epoch_recovery_and_access_lists_are_read(tmp_path):
    host = {f"{RM}.hostname": "rm1"}
    properties = {f"{RM}.epoch": "1000", "yarn.acl.enable": "TRUE", f"{RM}.recovery.enabled": "true"} | host
    found = read_folder(write(tmp_path, properties))
    assert (found.epoch, found.has_acls, found.recovers) == (1000, True, True)
    assert read_folder(write(tmp_path, {"yarn.webapp.filter-entity-list-by-user": "true"} | host)).has_acls


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({f"{RM}.webapp.address": "http://x:1/y"}, "is not an address"),
        ({f"{RM}.webapp.address": "${nobody}:1"}, "is not an address"),
        ({f"{RM}.hostname": "rm1", f"{RM}.epoch": "x"}, "is not a whole number"),
        ({f"{RM}.ha.enabled": "true"}, "name the ResourceManagers"),
    ],
)
def test_a_value_of_another_form_is_refused_by_file_and_key(tmp_path, properties, message):
    with pytest.raises(ConfigError, match=message) as caught:
        read_folder(write(tmp_path, properties))
    assert caught.value.source.endswith("yarn-site.xml")


def test_a_folder_without_yarn_site_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"has no yarn-site\.xml"):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "not xml",
        "<configuration>",
    ],
)
def test_a_file_that_is_no_plain_xml_is_refused(tmp_path, text):
    (tmp_path / "yarn-site.xml").write_text(text)
    with pytest.raises(ConfigError, match="is not XML"):
        read_folder(tmp_path)
