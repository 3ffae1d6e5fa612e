import pytest

from adapters.yarn.configuration import read_folder, read_properties
from shim.errors import ConfigError


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


def test_nothing_at_all_is_this_machine(tmp_path):
    assert read_folder(write(tmp_path, {})).web == ("http://127.0.0.1:8088",)


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


def test_variables_are_put_in_from_properties_and_environment(tmp_path):
    properties = {f"{RM}.hostname": "${env.RM_HOST}.${domain}", "domain": "${zone}.net", "zone": "z"}
    properties |= {"with.default": "${env.NONE:-there}", "unknown": "${nobody}", "loop": "${loop}"}
    found = read_properties(write(tmp_path, properties), environment={"RM_HOST": "rm1"})
    assert found[f"{RM}.hostname"] == "rm1.z.net"
    assert (found["with.default"], found["unknown"], found["loop"]) == ("there", "${nobody}", "${loop}")


def test_yarn_site_goes_before_core_site_unless_that_is_final(tmp_path):
    write(tmp_path, {"a": "core", "b": "core"}, "core-site.xml", final={"a"})
    found = read_properties(write(tmp_path, {"a": "yarn", "b": "yarn"}))
    assert (found["a"], found["b"]) == ("core", "yarn")


def test_epoch_recovery_and_access_lists_are_read(tmp_path):
    properties = {f"{RM}.epoch": "1000", "yarn.acl.enable": "TRUE", f"{RM}.recovery.enabled": "true"}
    found = read_folder(write(tmp_path, properties))
    assert (found.epoch, found.has_acls, found.recovers) == (1000, True, True)
    assert read_folder(write(tmp_path, {"yarn.webapp.filter-entity-list-by-user": "true"})).has_acls


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({f"{RM}.webapp.address": "http://x:1/y"}, "is not an address"),
        ({f"{RM}.webapp.address": "${nobody}:1"}, "is not an address"),
        ({f"{RM}.epoch": "x"}, "is not a whole number"),
        ({"yarn.acl.enable": "maybe"}, "is neither true nor false"),
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
        '<!DOCTYPE c [<!ENTITY e "x">]><configuration><property><name>&e;</name></property></configuration>',
        '<!DOCTYPE c SYSTEM "http://127.0.0.1:1/x.dtd"><configuration/>',
    ],
)
def test_a_file_that_is_no_plain_xml_is_refused(tmp_path, text):
    (tmp_path / "yarn-site.xml").write_text(text)
    with pytest.raises(ConfigError, match=r"is not XML|document type"):
        read_folder(tmp_path)
